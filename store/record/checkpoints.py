"""Signs checkpoints over the chains: every five minutes and on request, and never one that contradicts an earlier one.

A hash chain alone does not show a cut tail, or a history rewritten by the owner of the database. A checkpoint stored
elsewhere does. Checkpoints are in a table for reading, and in a file a tenant for rebuilding the table. They are
written to the file first. At the start each of the two gets the checkpoints that only the other has.

Errors  ``InconsistentChainError`` when a chain contradicts an earlier checkpoint over it; ``OSError`` when the disk
        refuses; ``StartupError`` for a line that is no checkpoint
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote, unquote

import duckdb
import msgspec
import structlog

from clearhold.features.core.canonical import Chain
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError
from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, SigningKeys
from clearhold.store.record.chain import WHOLE, ChainKey, Holes
from clearhold.store.record.chain_file import RecordCheckpointRow, append_durably, cut_torn_line
from clearhold.store.record.signed_trees import TILE_LEAVES, Checkpoint, MerkleTree, NoteError, opened_note, signed_note
from clearhold.store.tables import row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

FILE: Final = "checkpoints.ndjson"

_ROW: Final = row_builder(RecordCheckpointRow)
_ALL: Final = f"SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints ORDER BY created_at, tenant_id, chain"
_INSERT: Final = "INSERT INTO record_checkpoints VALUES (?, ?, ?, ?, ?, make_timestamp(?))"
_IS_HERE: Final = """
    SELECT count(*) > 0 FROM record_checkpoints WHERE tenant_id = ? AND chain = ? AND size = ? AND note = ?
"""
_LATEST: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND chain = ? ORDER BY size DESC, created_at DESC LIMIT 1
"""
_OF_SIZE: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND chain = ? AND size = ? ORDER BY created_at DESC LIMIT 1
"""
_PAGE: Final = f"""
    SELECT {select_list(RecordCheckpointRow)} FROM record_checkpoints
    WHERE tenant_id = ? AND (? IS NULL OR chain = ?)
      AND (? IS NULL OR (created_at, chain, size) < (make_timestamp(?), ?, ?))
    ORDER BY created_at DESC, chain DESC, size DESC LIMIT ?
"""

CheckpointPlace = tuple[int, str, int]
"""Where a page ended: created_at, chain and size of its last checkpoint."""


class CheckpointLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    chain: str
    created_at_us: int
    note: str
    root: str
    size: int


class CheckpointLog:
    """Appends and reads. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder
        self._appending = Lock()
        self.newest: dict[str, int] = {}  # the time of the newest checkpoint of any tenant, by chain

    def open(self) -> None:
        """Give the table and the files the same checkpoints."""
        with self._connection.cursor() as cursor:
            in_table = set(map(_ROW, cursor.execute(_ALL).fetchall()))
            in_files = set(_rows_in_files(self._folder))
            for row in sorted(in_files - in_table, key=attrgetter("created_at")):
                _insert(cursor, row)
            for row in sorted(in_table - in_files, key=attrgetter("created_at")):
                self._append_line(row)
            for row in in_table | in_files:
                self._note(row)

    def append(self, row: RecordCheckpointRow) -> None:
        """Append it unless it is here, as one that another node has signed may be; from any thread."""
        with self._appending, self._connection.cursor() as cursor:
            if cursor.execute(_IS_HERE, [row.tenant_id, row.chain, row.size, row.note]).fetchall()[0][0]:
                return
            self._append_line(row)
            _insert(cursor, row)
            self._note(row)

    def latest(self, tenant_id: str, chain: str) -> RecordCheckpointRow | None:
        """The one over the most links."""
        return self._one(_LATEST, tenant_id, chain)

    def of_size(self, tenant_id: str, chain: str, size: int) -> RecordCheckpointRow | None:
        return self._one(_OF_SIZE, tenant_id, chain, size)

    def page(
        self, tenant_id: str, chain: str | None, after: CheckpointPlace | None, limit: int
    ) -> list[RecordCheckpointRow]:
        """Newest first, after ``after``; ``chain`` None is all of the tenant's."""
        at, of_chain, size = after or (None, None, None)
        with self._connection.cursor() as cursor:
            result = cursor.execute(_PAGE, [tenant_id, chain, chain, at, at, of_chain, size, limit]).fetchall()
        return list(map(_ROW, result))

    def _one(self, sql: str, *values: object) -> RecordCheckpointRow | None:
        with self._connection.cursor() as cursor:
            result = cursor.execute(sql, values).fetchone()
        return None if result is None else _ROW(result)

    def _note(self, row: RecordCheckpointRow) -> None:
        self.newest[row.chain] = max(row.created_at, self.newest.get(row.chain, 0))

    def _append_line(self, row: RecordCheckpointRow) -> None:
        line = CheckpointLine(
            chain=row.chain, created_at_us=row.created_at, note=row.note, root=row.root, size=row.size
        )
        append_durably(_path(self._folder, row.tenant_id), msgspec.json.encode(line) + b"\n")


def _path(folder: Path, tenant_id: str) -> Path:
    return folder / quote(tenant_id, safe="") / FILE


def _rows_in_files(folder: Path) -> Iterator[RecordCheckpointRow]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        tenant_id = unquote(path.parent.name)
        cut_torn_line(path)
        try:
            for line in msgspec.json.Decoder(CheckpointLine).decode_lines(path.read_bytes()):
                yield RecordCheckpointRow(tenant_id, line.chain, line.size, line.root, line.note, line.created_at_us)
        except msgspec.MsgspecError as error:
            raise StartupError(f"{path} is damaged: {error}.") from error


def _insert(cursor: duckdb.DuckDBPyConnection, row: RecordCheckpointRow) -> None:
    cursor.execute(_INSERT, msgspec.structs.astuple(row))


EVERY_US: Final = 5 * MINUTE_US
TOO_SHORT: Final = "The chain has fewer links than that."
INCONSISTENT: Final = "The chain does not match an earlier checkpoint over it; nothing is signed."
_PAGE_HASHES: Final = 10_000

_HASHES: Final = """
    SELECT hash FROM record_chain WHERE tenant_id = ? AND chain = ? AND seq >= ? AND seq < ? ORDER BY seq
"""
_SIZES: Final = "SELECT tenant_id, chain, count(*) FROM record_chain GROUP BY tenant_id, chain ORDER BY ALL"
_SIZE: Final = "SELECT count(*) FROM record_chain WHERE tenant_id = ? AND chain = ?"

log = structlog.get_logger()


class InconsistentChainError(ConflictError):
    """A new signature would contradict an earlier one."""


class InclusionProof(msgspec.Struct, frozen=True, kw_only=True):
    """That a link is in the tree of a checkpoint."""

    leaf_index: int
    hashes: tuple[bytes, ...]
    checkpoint: RecordCheckpointRow


class RecordCheckpoints:
    """Signs and answers, from several threads. ``origin_of`` names a chain, by tenant id and chain."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        checkpoints: CheckpointLog,
        *,
        signing_keys: SigningKeys,
        clock: Clock,
        origin_of: Callable[[str, str], str],
        holes: Holes = WHOLE,
    ) -> None:
        """``holes`` are those of chains that other nodes extend too: nothing behind one is signed."""
        self._connection, self._log, self._holes = connection, checkpoints, holes
        self._keys, self._clock, self._origin_of = signing_keys, clock, origin_of
        self._lock = Lock()
        self.publish: Callable[[RecordCheckpointRow], None] = lambda _: None
        """Tells the other nodes of a checkpoint before it is kept here; it raises when they cannot learn of it."""
        self._trees: dict[ChainKey, MerkleTree] = {}
        self._inconsistent: set[ChainKey] = set()

    @property
    def inconsistent(self) -> int:
        """The number of chains known to contradict an earlier checkpoint; they are not signed again."""
        return len(self._inconsistent)

    def sign_due(self) -> None:
        """Sign every chain that has grown and was last signed five minutes ago, or never, or by a key that was removed.

        In the first round each chain is compared with the last checkpoint over it.
        """
        with self._connection.cursor() as cursor:
            sizes = {(tenant_id, chain): size for tenant_id, chain, size in cursor.execute(_SIZES).fetchall()}
        for key, links in sizes.items():
            size = self._holes.whole_size(key, links)
            if key in self._inconsistent:
                continue
            try:
                self._sign_if_due(key, size)
            except InconsistentChainError:
                log.critical("record_inconsistent", tenant_id=key[0], chain=key[1])

    def _sign_if_due(self, key: ChainKey, size: int) -> None:
        if key not in self._trees:
            with self._lock, self._connection.cursor() as cursor:
                self._grown(cursor, key)
        latest = self._log.latest(*key)
        if (
            latest is None
            or (latest.size < size and abs(self._clock.now() - latest.created_at) >= EVERY_US)
            or self._is_by_a_removed_key(latest.note)
        ):
            self._signed(key, None)

    def _is_by_a_removed_key(self, note: str) -> bool:
        try:
            opened_note(note, self._keys.removed_public_keys(KeyPurpose.CHECKPOINT))
        except NoteError:
            return False
        return True

    def sign(self, principal: Principal, chain: Chain, size: int | None = None) -> RecordCheckpointRow:
        """The checkpoint over the whole chain at present, or over its first ``size`` links."""
        principal.require_tenant_wide()
        return self._signed((principal.tenant_id, chain.value), size)

    def page(
        self, principal: Principal, chain: Chain | None, after: CheckpointPlace | None, limit: int
    ) -> list[RecordCheckpointRow]:
        """The signed checkpoints, newest first."""
        principal.require_tenant_wide()
        return self._log.page(principal.tenant_id, None if chain is None else chain.value, after, limit)

    def proof(self, principal: Principal, chain: Chain, seq: int) -> InclusionProof:
        """The proof for link ``seq`` in the newest checkpoint, or in a new one if none covers it."""
        principal.require_tenant_wide()
        key = (principal.tenant_id, chain.value)
        latest = self._log.latest(*key)
        checkpoint = latest if latest is not None and seq < latest.size else self._signed(key, None)
        if seq >= checkpoint.size:
            raise NotFoundError(TOO_SHORT, ErrorCode.CHAIN_TOO_SHORT)
        (hashes,) = self.paths(principal, checkpoint, [seq])
        return InclusionProof(leaf_index=seq, hashes=hashes, checkpoint=checkpoint)

    def paths(
        self, principal: Principal, checkpoint: RecordCheckpointRow, seqs: Sequence[int]
    ) -> list[tuple[bytes, ...]]:
        """For each of these links, covered by the checkpoint, the hashes from it to the checkpoint's root."""
        principal.require_tenant_wide()
        key = (principal.tenant_id, checkpoint.chain)
        with self._lock, self._connection.cursor() as cursor:
            tree = self._grown(cursor, key)
            leaves = cache(lambda tile: _hashes_of_tile(cursor, key, tile))
            return [tuple(tree.path(seq, checkpoint.size, leaves)) for seq in seqs]

    def _signed(self, key: ChainKey, size: int | None) -> RecordCheckpointRow:
        with self._lock, self._connection.cursor() as cursor:
            tree = self._grown(cursor, key)
            wanted = tree.size if size is None else size
            if wanted > tree.size:
                raise NotFoundError(TOO_SHORT, ErrorCode.CHAIN_TOO_SHORT)
            root = tree.root_at(wanted, lambda tile: _hashes_of_tile(cursor, key, tile))
            private = self._keys.signing(KeyPurpose.CHECKPOINT).private
            note = signed_note(Checkpoint(origin=self._origin_of(*key), size=wanted, root=root), private)
            known = self._log.of_size(*key, wanted)
            if known is not None and known.note == note:
                return known
            row = RecordCheckpointRow(*key, wanted, base64.b64encode(root).decode(), note, self._clock.now())
            self.publish(row)
            self._log.append(row)
            log.info("checkpoint_signed", tenant_id=key[0], chain=key[1], size=wanted, root=row.root)
            return row

    def _grown(self, cursor: duckdb.DuckDBPyConnection, key: ChainKey) -> MerkleTree:
        """The chain's present tree; a new tree is compared with the last checkpoint."""
        if key in self._inconsistent:
            raise InconsistentChainError(INCONSISTENT, ErrorCode.CHAIN_INCONSISTENT)
        tree = self._trees.get(key) or MerkleTree()
        (links,) = cursor.execute(_SIZE, key).fetchall()[0]
        size = self._holes.whole_size(key, links)
        for first in range(tree.size, size, _PAGE_HASHES):
            end = min(first + _PAGE_HASHES, size)
            tree.extend(_hashes(cursor, key, first, end))
        latest = self._log.latest(*key) if key not in self._trees else None
        if latest is not None:
            root = None
            if latest.size <= tree.size:
                root = tree.root_at(latest.size, lambda tile: _hashes_of_tile(cursor, key, tile))
            if root is None or base64.b64encode(root).decode() != latest.root:
                self._inconsistent.add(key)
                raise InconsistentChainError(INCONSISTENT, ErrorCode.CHAIN_INCONSISTENT)
        self._trees[key] = tree
        return tree


def _hashes(cursor: duckdb.DuckDBPyConnection, key: ChainKey, first: int, end: int) -> list[bytes]:
    return [bytes.fromhex(hash_) for (hash_,) in cursor.execute(_HASHES, [*key, first, end]).fetchall()]


def _hashes_of_tile(cursor: duckdb.DuckDBPyConnection, key: ChainKey, tile: int) -> list[bytes]:
    return _hashes(cursor, key, tile * TILE_LEAVES, (tile + 1) * TILE_LEAVES)
