"""The record read: as lines for export, in bounded memory, and checked against itself and its last checkpoints.

Export  cited lines first, then the links. Policies and alerts are exported only if an exported link cites their digest,
        so every line of a whole export is bound by a hash. A range of time is a run of links without holes: from the
        first link of the range to the last, by seq
Check   every hash is computed from the stored bodies; stored hashes are only compared. The first break ends the check
        of a chain, because later links prove nothing
"""

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.canonical import KIND_OF_CHAIN, Chain, LineKind, digest_of, link_hash, record_line
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.keys import KeyPurpose, SigningKeys
from clearhold.store.record.chain import WHOLE, BareLink, ChainKey, Holes, bare_links_of
from clearhold.store.record.checkpoints import CheckpointLog
from clearhold.store.record.signed_trees import Checkpoint, MerkleTree, NoteError, opened_note
from clearhold.store.tables import TEXTS, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

Policies = Callable[[str], Iterable[bytes]]
"""The canonical bodies of all policies of a tenant, by its id."""

_SPAN: Final = """
    SELECT min(seq), max(seq) FROM record_chain
    WHERE (? IS NULL OR created_at >= make_timestamp(?)) AND (? IS NULL OR created_at < make_timestamp(?))
        AND tenant_id = ? AND chain = ?
"""
_IN_SPANS: Final = """
    tenant_id = ?
    AND ((chain = 'dispositions' AND seq >= ? AND seq < ?) OR (chain = 'actions' AND seq >= ? AND seq < ?))
"""
_CITED_POLICIES: Final = f"""
    SELECT DISTINCT unnest([
        json_extract_string(body, '$.policySha256'), json_extract_string(body, '$.bodySha256'),
        json_extract_string(body, '$.change.bodySha256')
    ]) FROM record_chain WHERE {_IN_SPANS}
"""
_CITED_ALERTS: Final = f"""
    SELECT "offset", sha256 FROM alert_bodies WHERE tenant_id = ? AND sha256 IN (
        SELECT json_extract_string(body, '$.alertSha256') FROM record_chain WHERE {_IN_SPANS}
    ) ORDER BY "offset", sha256
"""
_BODIES: Final = f"""
    SELECT sha256, body FROM alert_bodies
    WHERE tenant_id = ? AND "offset" BETWEEN ? AND ? AND sha256 IN {TEXTS}
"""

_Span = tuple[int, int]


class RecordFilter(msgspec.Struct, frozen=True, kw_only=True):
    """``kinds`` None is all; instants are half-open, microseconds."""

    kinds: frozenset[LineKind] | None = None
    created_from: int | None = None
    created_to: int | None = None

    def wants(self, kind: LineKind) -> bool:
        return self.kinds is None or kind in self.kinds


class RecordReader:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, policies: Policies, *, holes: Holes = WHOLE) -> None:
        """Links behind one of ``holes`` are not exported."""
        self._connection, self._policies, self._holes = connection, policies, holes

    def export(self, principal: Principal, wanted: RecordFilter, batch: int) -> Iterator[list[bytes]]:
        """Lines without their ends, ``batch`` at a time, of the chains' state at the first batch."""
        principal.require_tenant_wide()
        tenant_id = principal.tenant_id
        with self._connection.cursor() as cursor:
            spans = {chain: self._span(cursor, tenant_id, chain, wanted) for chain in Chain}
            where = [tenant_id, *spans[Chain.DISPOSITIONS], *spans[Chain.ACTIONS]]
            if wanted.wants(LineKind.POLICY):
                yield self._cited_policies(cursor, tenant_id, where)
            if wanted.wants(LineKind.ALERT):
                yield from self._cited_alerts(cursor, tenant_id, where, batch)
            for chain, (first, end) in spans.items():
                kind = KIND_OF_CHAIN[chain]
                if wanted.wants(kind):
                    for links in bare_links_of(cursor, (tenant_id, chain.value), first, end, at_once=batch):
                        yield [
                            record_line(kind, body.encode(), (chain.value, seq, prev_hash, hash_))
                            for seq, body, prev_hash, hash_ in links
                        ]

    def _span(self, cursor: duckdb.DuckDBPyConnection, tenant_id: str, chain: Chain, wanted: RecordFilter) -> _Span:
        """The first seq in the range and the one after the last; (0, 0) for an empty range."""
        since, until = wanted.created_from, wanted.created_to
        first, last = cursor.execute(_SPAN, [since, since, until, until, tenant_id, chain.value]).fetchall()[0]
        end = 0 if last is None else self._holes.whole_size((tenant_id, chain.value), last + 1)
        return (first, end) if first is not None and first < end else (0, 0)

    def _cited_policies(self, cursor: duckdb.DuckDBPyConnection, tenant_id: str, where: list[object]) -> list[bytes]:
        cited = {digest for (digest,) in cursor.execute(_CITED_POLICIES, where).fetchall()}
        bodies = sorted(body for body in self._policies(tenant_id) if digest_of(body) in cited)
        return [record_line(LineKind.POLICY, body) for body in bodies]

    def _cited_alerts(
        self, cursor: duckdb.DuckDBPyConnection, tenant_id: str, where: list[object], batch: int
    ) -> Iterator[list[bytes]]:
        """Sort only keys; the bodies, which never change, are read batch by batch."""
        with self._connection.cursor() as keys:
            keys.execute(_CITED_ALERTS, [tenant_id, *where])
            while page := keys.fetchmany(batch):
                digests = [digest for _, digest in page]
                parameters = [tenant_id, page[0][0], page[-1][0], listed(digests)]
                bodies = dict(cursor.execute(_BODIES, parameters).fetchall())
                yield [record_line(LineKind.ALERT, bodies[digest].encode()) for digest in digests]


AT_ONCE: Final = 1_000

_LINK: Final = """
    SELECT id, epoch_us(created_at) FROM record_chain WHERE tenant_id = ? AND chain = ? AND seq = ? AND hash = ?
"""
_SIZE: Final = "SELECT max(seq) + 1 FROM record_chain WHERE tenant_id = ? AND chain = ?"


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault of a chain.

    ``expected`` is the correct hash, or a checkpoint's root in base64, and ``found`` the stored one; None for a missing
    one. ``id`` and ``created_at`` are those of the stored link.
    """

    chain: str
    seq: int
    id: str | None = None
    expected: str | None = None
    found: str | None = None
    created_at: int | None = None


class ChainCheck(msgspec.Struct, frozen=True, kw_only=True):
    """``checked`` links hold."""

    chain: str
    checked: int
    broken_at: Break | None


class LastVerification(NamedTuple):
    at: int
    ok: bool


class LastVerifications:
    """The result of the newest verification of each tenant's whole record since the start, by the tenant's slug."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.by_tenant: dict[str, LastVerification] = {}

    def note(self, tenant: str, *, ok: bool) -> None:
        self.by_tenant[tenant] = LastVerification(self._clock.now(), ok)


OnLinks = Callable[[int, int], None]
"""Called now and then during a check: with the links that are checked, and with all links of the chain."""


def nothing_noted(checked: int, links: int) -> None: ...


class Verification:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        checkpoints: CheckpointLog,
        signing_keys: SigningKeys,
        *,
        holes: Holes = WHOLE,
    ) -> None:
        """A chain is checked up to the first of ``holes``."""
        self._connection, self._checkpoints, self._keys = connection, checkpoints, signing_keys
        self._holes = holes

    def check(self, principal: Principal, chain: Chain, on_links: OnLinks = nothing_noted) -> ChainCheck:
        """The whole chain of the principal's tenant."""
        principal.require_tenant_wide()
        return self.check_of_tenant(principal.tenant_id, chain, on_links)

    def check_of_tenant(self, tenant_id: str, chain: Chain, on_links: OnLinks = nothing_noted) -> ChainCheck:
        """As ``check``, for the service's own use."""
        key = (tenant_id, chain.value)
        latest = self._checkpoints.latest(*key)
        walk = _Walk(chain.value, None if latest is None else latest.size)
        with self._connection.cursor() as cursor:
            (links_stored,) = cursor.execute(_SIZE, key).fetchall()[0]
            size = self._holes.whole_size(key, links_stored or 0)
            for links in bare_links_of(cursor, key, 0, size, at_once=AT_ONCE):
                broken_at = walk.broken_in(links)
                on_links(walk.size, size)
                if broken_at is not None:
                    broken_at = _with_its_link(cursor, key, broken_at)
                    return ChainCheck(chain=chain.value, checked=walk.size, broken_at=broken_at)
        broken_at = None if latest is None else self._against(walk, latest.note, latest.size)
        return ChainCheck(chain=chain.value, checked=walk.size, broken_at=broken_at)

    def _against(self, walk: "_Walk", note: str, size: int) -> Break | None:
        try:
            checkpoint: Checkpoint | None = opened_note(note, self._keys.public_keys(KeyPurpose.CHECKPOINT))
        except NoteError:
            checkpoint = None
        expected = None if checkpoint is None else checkpoint.root
        if checkpoint is not None and (checkpoint.size, expected) == (size, walk.root):
            return None
        at = min(walk.size, size - 1)
        return Break(chain=walk.chain, seq=at, expected=_base64(expected), found=_base64(walk.root))


class _Walk:
    """A chain walked from its first link; computes the root over the first ``root_size`` links."""

    def __init__(self, chain: str, root_size: int | None) -> None:
        self.chain = chain
        self.size = 0
        self.root: bytes | None = None
        self._head: str | None = None
        self._root_size = root_size
        self._tree = MerkleTree()
        self._note_root()

    def broken_in(self, links: list[BareLink]) -> Break | None:
        """Walk over the next links, at least one; returns the first break, if any."""
        if not links:
            return self._hole(None)
        head, hashes = self._head, []
        for at, (seq, body, prev_hash, hash_) in enumerate(links, self.size):
            expected = link_hash(head, body.encode())
            if hash_ != expected or prev_hash != head or seq != at:
                self.size, self._head = at, head
                return self._break((seq, body, prev_hash, hash_), expected)
            head = expected
            hashes.append(bytes.fromhex(expected))
        self._grow(hashes)
        self._head = head
        return None

    def _grow(self, hashes: list[bytes]) -> None:
        if self._root_size is not None and self.size < self._root_size:
            self._tree.extend(hashes[: self._root_size - self.size])
        self.size += len(hashes)
        self._note_root()

    def _note_root(self) -> None:
        if self._root_size is not None and self.root is None and self.size >= self._root_size:
            self.root = self._tree.root()

    def _break(self, link: BareLink, expected: str) -> Break:
        seq, _, prev_hash, hash_ = link
        if seq > self.size:
            return self._hole(link)
        if seq < self.size:
            return self._broken(link, self._head, hash_)
        return self._broken(link, expected, hash_) if hash_ != expected else self._broken(link, self._head, prev_hash)

    def _hole(self, link: BareLink | None) -> Break:
        """A link is missing; the next one, if there is one, has its hash."""
        expected = link[2] if link is not None and link[0] == self.size + 1 else None
        return Break(chain=self.chain, seq=self.size, expected=expected)

    def _broken(self, link: BareLink, expected: str | None, found: str | None) -> Break:
        """``id`` is the link's hash at first; ``_with_its_link`` replaces it."""
        return Break(chain=self.chain, seq=link[0], id=link[3], expected=expected, found=found)


def _with_its_link(cursor: duckdb.DuckDBPyConnection, key: ChainKey, broken_at: Break) -> Break:
    if broken_at.id is None:
        return broken_at
    id_, created_at = cursor.execute(_LINK, [*key, broken_at.seq, broken_at.id]).fetchall()[0]
    return msgspec.structs.replace(broken_at, id=id_, created_at=created_at)


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()
