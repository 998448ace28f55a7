"""Checks a chain against itself and against the last checkpoint over it.

Every hash is computed from the stored bodies; stored hashes are only compared. The first break ends the check of a
chain, because later links prove nothing.
"""

import base64
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.canonical import Chain, link_hash
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.keys.key_schedule import KeyPurpose
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.record.chain import BareLink, ChainKey, bare_links_of
from clearhold.store.record.checkpoint_log import CheckpointLog
from clearhold.store.record.merkle import MerkleTree
from clearhold.store.record.notes import Checkpoint, NoteError, opened_note

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
    id: str | None
    expected: str | None
    found: str | None
    created_at: int | None


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


class Verification:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, checkpoints: CheckpointLog, signing_keys: SigningKeys
    ) -> None:
        self._connection, self._checkpoints, self._keys = connection, checkpoints, signing_keys

    def check(self, principal: Principal, chain: Chain) -> ChainCheck:
        """The whole chain of the principal's tenant."""
        principal.require_tenant_wide()
        return self.check_of_tenant(principal.tenant_id, chain)

    def check_of_tenant(self, tenant_id: str, chain: Chain) -> ChainCheck:
        """As ``check``, for the service's own use."""
        key = (tenant_id, chain.value)
        latest = self._checkpoints.latest(*key)
        walk = _Walk(chain.value, None if latest is None else latest.size)
        with self._connection.cursor() as cursor:
            (size,) = cursor.execute(_SIZE, key).fetchall()[0]
            for links in bare_links_of(cursor, key, 0, size or 0, at_once=AT_ONCE):
                broken_at = walk.broken_in(links)
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
        return Break(
            chain=walk.chain,
            seq=min(walk.size, size - 1),
            id=None,
            expected=_base64(expected),
            found=_base64(walk.root),
            created_at=None,
        )


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
        return Break(chain=self.chain, seq=self.size, id=None, expected=expected, found=None, created_at=None)

    def _broken(self, link: BareLink, expected: str | None, found: str | None) -> Break:
        """``id`` is the link's hash at first; ``_with_its_link`` replaces it."""
        return Break(chain=self.chain, seq=link[0], id=link[3], expected=expected, found=found, created_at=None)


def _with_its_link(cursor: duckdb.DuckDBPyConnection, key: ChainKey, broken_at: Break) -> Break:
    if broken_at.id is None:
        return broken_at
    id_, created_at = cursor.execute(_LINK, [*key, broken_at.seq, broken_at.id]).fetchall()[0]
    return msgspec.structs.replace(broken_at, id=id_, created_at=created_at)


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()
