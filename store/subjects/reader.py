"""The export of one subject: a manifest, all stored rows in a stated order, an end with counts and a hash.

manifest ─▶ rows of each table, in log order ─▶ links of the record, with proofs to a signed checkpoint ─▶ end

Lines are ``{"table", "row"}``, with the names and forms of the interface. All rows are of one state of the database:
those up to the manifest's offset. Only keys are held in memory; rows and the bank's objects are read in batches, and
between two batches nothing is open or locked, so a slow reader delays no one.

Unit    instants as texts of ``format_instant``; cents and log offsets as digits, for readers with 53-bit numbers
Errors  InconsistentChainError when the record cannot be signed; ConnectionError while the log cannot be read
"""

import base64
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import duckdb
import msgspec

from clearhold.features.bank.masking import masked_raw
from clearhold.features.catalogue.vector import NAME_OF, FeatureVector, TransferFeaturesRow
from clearhold.features.core.canonical import Chain, digest_of
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.principal import Principal
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.record.chain_file import RecordChainRow, RecordCheckpointRow
from clearhold.store.record.checkpoints import RecordCheckpoints
from clearhold.store.record.reading import Policies
from clearhold.store.redis_log.reader import log_time_of
from clearhold.store.subjects.check import END, FORMAT, MANIFEST
from clearhold.store.subjects.things import (
    BANK_OBJECTS,
    COVERED,
    LEFT_OUT,
    LINKS,
    ORDER,
    POLICIES,
    RECORD_CHECKPOINTS,
    ROWID,
    WITHIN,
    CoveredTable,
    ExportSubject,
    SubjectFacts,
    look_up,
)
from clearhold.store.tables import NUMBERS, TEXTS, Column, camel_case, columns_of, listed, row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

FEATURES: Final = "features"
"""The field with a scoring's vector, by the names of docs/features.md."""

_JSON: Final = frozenset(
    {"body", "bank_response", "change", "draft", "evidence", "expected_payment_rails", "inputs", "reasons"}
    | {"review_reasons"}
)
_ENCODER: Final = msgspec.json.Encoder()

Form = Callable[[Any], object]


def line_of(table: str, row: Mapping[str, object]) -> bytes:
    """A line without its end."""
    return _ENCODER.encode({"table": table, "row": row})


class RowLines:
    """Makes lines of the stored rows of one table."""

    def __init__(self, table: str, row_type: type[msgspec.Struct]) -> None:
        columns = columns_of(row_type)
        vector = len(columns_of(FeatureVector)) if row_type is TransferFeaturesRow else 0
        own = columns[: len(columns) - vector]
        self._table = table
        self._own = [(camel_case(column.name), _form(column)) for column in own]
        self._features = [NAME_OF[column.name] for column in columns[len(own) :]]

    def row_of(self, values: Sequence[Any]) -> dict[str, object]:
        """The row from the values of ``select_list``."""
        row = {
            name: value if value is None or form is None else form(value)
            for (name, form), value in zip(self._own, values, strict=False)
        }
        if self._features:
            row[FEATURES] = dict(zip(self._features, values[len(self._own) :], strict=True))
        return row

    def line(self, values: Sequence[Any]) -> bytes:
        return line_of(self._table, self.row_of(values))


def _form(column: Column) -> Form | None:
    """The conversion of a column's value; None for no conversion."""
    name = column.name
    if column.sql_type == "TIMESTAMP":
        return format_instant
    if name == "offset" or name.endswith(("_offset", "_cents")):
        return str
    if name == "raw":
        return _masked
    if name == "paths":
        return _paths
    return _raw_json if name in _JSON else None


def _raw_json(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def _masked(text: str) -> dict[str, Any]:
    return masked_raw(text.encode())


def _paths(text: str) -> dict[str, list[str]]:
    offsets: dict[str, list[int]] = msgspec.json.decode(text)
    return {name: [*map(str, path)] for name, path in offsets.items()}


_PLACES: Final = "SELECT rowid FROM {table} WHERE {within} AND ({condition}) ORDER BY rowid"
_TEXTS: Final = "SELECT DISTINCT {key} FROM {table} WHERE {within} AND ({condition}) ORDER BY {key}"
_OF_PLACES: Final = f"""
    SELECT {{columns}} FROM {{table}} WHERE tenant_id = ? AND rowid BETWEEN ? AND ? AND rowid IN {NUMBERS}
    ORDER BY rowid"""
_OF_TEXTS: Final = (
    f"SELECT {{columns}} FROM {{table}} WHERE tenant_id = ? AND {{key}} IN {TEXTS} ORDER BY {{key}}, rowid"
)
_OBJECTS: Final = f"""
    SELECT "offset" FROM bank_events
    WHERE {WITHIN} AND (subject_type, subject_id) IN (SELECT type, id FROM subject_things)
    UNION SELECT raw_offset FROM transfers WHERE {WITHIN} AND id IN (SELECT id FROM subject_transfers) ORDER BY 1"""
_LINK: Final = row_builder(RecordChainRow)
_CHECKPOINT_LINES: Final = RowLines(RECORD_CHECKPOINTS, RecordCheckpointRow)


class _Delivered(msgspec.Struct, frozen=True):
    """The bank's object in an event."""

    data: msgspec.Raw = msgspec.Raw(b"{}")


_DELIVERED: Final = msgspec.json.Decoder(_Delivered)

Lines = Iterator[list[bytes]]


class SubjectReader:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        checkpoints: RecordCheckpoints,
        policies: Policies,
        events: RawEvents,
    ) -> None:
        self._connection, self._checkpoints = connection, checkpoints
        self._policies, self._events = policies, events

    def export(
        self, principal: Principal, subject: ExportSubject, *, now: int, batch: int
    ) -> Generator[list[bytes], None, None]:
        """Lines without their ends, ``batch`` at a time, of the rows committed before the first batch."""
        principal.require_tenant_wide()
        with self._connection.cursor() as cursor:
            facts = look_up(cursor, subject)
            # After the lookup, so that each checkpoint covers all links found there.
            signed = {chain: self._checkpoints.sign(principal, Chain(chain)) for chain in facts.chains}
            reading = _Reading(cursor, principal, subject, facts, batch)
            ending = _Ending()
            yield ending.counted(MANIFEST, [line_of(MANIFEST, _manifest(principal, subject, facts, now=now))])
            for table in COVERED:
                for lines in reading.rows(table):
                    yield ending.counted(table.name, lines)
                if table.name == "bank_events":
                    for lines in self._objects(reading):
                        yield ending.counted(BANK_OBJECTS, lines)
            yield ending.counted(POLICIES, self._cited_policies(principal, facts))
            rows = map(msgspec.structs.astuple, signed.values())
            yield ending.counted(RECORD_CHECKPOINTS, [*map(_CHECKPOINT_LINES.line, rows)])
            for lines in self._links(reading, signed):
                yield ending.counted(LINKS.name, lines)
            yield [ending.line()]

    def _objects(self, reading: "_Reading") -> Lines:
        for offsets in reading.object_offsets():
            entries = self._events.entries(reading.subject.shard, offsets)
            yield [_object_line(offset, entries.get(offset)) for offset in offsets]

    def _cited_policies(self, principal: Principal, facts: SubjectFacts) -> list[bytes]:
        digests = {digest_of(body): body for body in self._policies(principal.tenant_id)}
        return [
            line_of(POLICIES, {"sha256": digest, "body": msgspec.Raw(digests[digest])})
            for digest in sorted(facts.cited_policies & digests.keys())
        ]

    def _links(self, reading: "_Reading", signed: dict[str, RecordCheckpointRow]) -> Lines:
        forms = RowLines(LINKS.name, RecordChainRow)
        for tuples in reading.tuples(LINKS):
            links = [_LINK(values) for values in tuples]
            proofs: dict[tuple[str, int], tuple[bytes, ...]] = {}
            for chain in sorted({link.chain for link in links}):
                seqs = [link.seq for link in links if link.chain == chain]
                paths = self._checkpoints.paths(reading.principal, signed[chain], seqs)
                proofs |= {(chain, seq): path for seq, path in zip(seqs, paths, strict=True)}
            yield [
                line_of(
                    LINKS.name,
                    forms.row_of(values)
                    | {"proof": [base64.b64encode(each).decode() for each in proofs[link.chain, link.seq]]},
                )
                for values, link in zip(tuples, links, strict=True)
            ]


class _Reading:
    """The rows of one export, batch by batch."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        principal: Principal,
        subject: ExportSubject,
        facts: SubjectFacts,
        batch: int,
    ) -> None:
        self.principal, self.subject = principal, subject
        self._cursor, self._batch = cursor, batch
        self._place: list[object] = [subject.tenant_id, subject.program_id, facts.upto]

    def rows(self, table: CoveredTable) -> Lines:
        lines = RowLines(table.name, table.row_type)
        for tuples in self.tuples(table):
            yield [lines.line(values) for values in tuples]

    def tuples(self, table: CoveredTable) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of ``select_list``, in log order."""
        place = self._place if table.has_offset else self._place[:1]
        within = WITHIN if table.has_offset else "tenant_id = ?"
        words = {"table": table.name, "key": table.key, "columns": select_list(table.row_type)}
        is_placed = table.key == ROWID
        keys_of = _PLACES if is_placed else _TEXTS
        for keys in self._keys(keys_of.format(within=within, condition=table.condition, **words), place):
            if is_placed:
                values = [self.subject.tenant_id, keys[0], keys[-1], listed(keys)]
                yield self._cursor.execute(_OF_PLACES.format(**words), values).fetchall()
            else:
                values = [self.subject.tenant_id, listed(keys)]
                yield self._cursor.execute(_OF_TEXTS.format(**words), values).fetchall()

    def object_offsets(self) -> Iterator[list[int]]:
        return self._keys(_OBJECTS, [*self._place, *self._place])

    def _keys(self, sql: str, values: Sequence[object]) -> Iterator[list[Any]]:
        """All keys are read at once, as numbers where they are numbers."""
        (keys,) = self._cursor.execute(sql, values).fetchnumpy().values()
        for first in range(0, len(keys), self._batch):
            yield keys[first : first + self._batch].tolist()


class _Ending:
    """Counts and digests the lines, for the last one."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(ORDER, 0)
        self._lines, self._digest = 0, sha256()

    def counted(self, table: str, lines: list[bytes]) -> list[bytes]:
        if table != MANIFEST:
            self._counts[table] += len(lines)
        self._lines += len(lines)
        for line in lines:
            self._digest.update(line + b"\n")
        return lines

    def line(self) -> bytes:
        return line_of(END, {"counts": self._counts, "lines": self._lines, "sha256": self._digest.hexdigest()})


def _manifest(principal: Principal, subject: ExportSubject, facts: SubjectFacts, *, now: int) -> dict[str, object]:
    return {
        "format": FORMAT,
        "subject": {"type": subject.kind, "id": subject.id, "accountIds": facts.accounts},
        "tenantId": subject.tenant_id,
        "tenant": principal.tenant,
        "programId": subject.program_id,
        "createdAt": format_instant(now),
        "asOf": {"at": format_instant(log_time_of(facts.upto)), "shard": subject.shard, "offset": str(facts.upto)},
        "versions": {
            "features": facts.feature_versions,
            "scores": facts.score_versions,
            "policies": facts.policies,
        },
        "tables": ORDER,
        "leftOut": LEFT_OUT,
    }


def _object_line(offset: int, entry: LogEntry | None) -> bytes:
    """The object of one delivery; null when its part of the log is lost."""
    row: dict[str, object] = {"offset": str(offset), "kind": None, "appendedAt": None, "object": None}
    if entry is not None:
        body = bytes(_DELIVERED.decode(entry.body).data) if entry.kind == EntryKind.BANK else entry.body
        row |= {"kind": entry.kind, "appendedAt": format_instant(entry.appended_at), "object": masked_raw(body)}
    return line_of(BANK_OBJECTS, row)
