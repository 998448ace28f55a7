"""The record's rows, and a chain in a file beside the database: a line a link, appended and fsynced, never changed.

DuckDB can be rebuilt from it: it has the order in which facts of many shards came into one chain, which the log does
not have. A line is a link as ``line_of`` writes it; an incomplete last line of a crash is cut off before use.

Errors  ``OSError`` when the disk refuses; ``StartupError`` for an invalid line, naming the file and the line
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.store.durable_files import fsync_folder, make_durable_folder
from clearhold.store.errors import StartupError


class RecordChainRow(msgspec.Struct, frozen=True, gc=False):
    """One link: a fact at its place in a chain of its tenant; ``seq`` counts from 0."""

    tenant_id: str
    chain: str
    seq: int
    id: str
    program_id: str
    shard: int
    offset: int
    body: str
    prev_hash: str | None
    hash: str
    created_at: int


class RecordCheckpointRow(msgspec.Struct, frozen=True, gc=False):
    """A signed checkpoint: the root over the first ``size`` links of a chain, in base64, and the signed note."""

    tenant_id: str
    chain: str
    size: int
    root: str
    note: str
    created_at: int


SUFFIX: Final = ".ndjson"
_STEP_BYTES: Final = 64 * 1024


class ChainLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A link as a line of the file: the line of an export, and the fact's place in the log."""

    body: msgspec.Raw
    chain: str
    created_at_us: int
    hash: str
    id: str
    offset: int
    prev_hash: str | None
    program_id: str
    seq: int
    shard: int


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(ChainLine)


def line_of(row: RecordChainRow) -> bytes:
    """The line, with its end."""
    line = ChainLine(
        body=msgspec.Raw(row.body.encode()),
        chain=row.chain,
        created_at_us=row.created_at,
        hash=row.hash,
        id=row.id,
        offset=row.offset,
        prev_hash=row.prev_hash,
        program_id=row.program_id,
        seq=row.seq,
        shard=row.shard,
    )
    return _ENCODER.encode(line) + b"\n"


class ChainFile:
    """One chain of one tenant. One thread appends."""

    def __init__(self, folder: Path, tenant_id: str, chain: str) -> None:
        self.tenant_id, self.chain = tenant_id, chain
        self.path = folder / quote(tenant_id, safe="") / f"{chain}{SUFFIX}"

    def append(self, rows: Sequence[RecordChainRow]) -> None:
        """When this returns, the links survive a power cut."""
        append_durably(self.path, b"".join(map(line_of, rows)))

    def lines(self, *, last_bytes: int | None = None) -> Iterator[tuple[bytes, ChainLine]]:
        """The lines in order; with ``last_bytes`` only those within that many bytes of the end."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if last_bytes is not None and size > last_bytes:
                file.seek(size - last_bytes - 1)
                file.readline()
            for raw in file:
                if not raw.endswith(b"\n"):
                    return  # an append that a crash interrupted
                yield raw, self._decoded(raw)

    def _decoded(self, raw: bytes) -> ChainLine:
        try:
            return _DECODER.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StartupError(f"{self.path} is damaged: the line {raw[:60]!r} is no link of a chain.") from error


def chain_files(folder: Path) -> list[ChainFile]:
    """Every file of a chain below ``folder``."""
    return [
        ChainFile(folder, unquote(path.parent.name), chain.value)
        for chain in Chain
        for path in sorted(folder.glob(f"*/{chain}{SUFFIX}"))
    ]


def append_durably(path: Path, content: bytes) -> None:
    """Append and fsync; a new file is durable too."""
    is_new = not path.exists()
    make_durable_folder(path.parent)
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        fsync_folder(path.parent)


def cut_torn_line(path: Path) -> None:
    """Remove the bytes after the last line end: an append that a crash interrupted."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = _end_of_last_line(file.fileno(), file.seek(0, os.SEEK_END))
        if end < file.tell():
            file.truncate(end)
            os.fsync(file.fileno())


def _end_of_last_line(descriptor: int, size: int) -> int:
    at = size
    while at > 0:
        begin = max(0, at - _STEP_BYTES)
        newline_at = os.pread(descriptor, at - begin, begin).rfind(b"\n")
        if newline_at >= 0:
            return begin + newline_at + 1
        at = begin
    return 0
