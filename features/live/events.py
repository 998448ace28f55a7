"""The live events of committed rows. Their order and numbers follow from the rows alone, so that the rows of a commit,
and the same rows read back from the tables, give the same events.

rows, as columns ─▶ one event a row ─▶ sorted by log entry, kind and id ─▶ numbered within program and entry

Rows  the versions of transfers that have a new score; all rows of the other types
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, islice, repeat
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.catalogue.kris import KriValue, read_kris
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Simulated
from clearhold.features.core.rows.alerts import ActionRow, AlertBodyRow, AlertRow, BackfillRow, DispositionRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.live.payloads import (
    LiveAction,
    LiveActorScore,
    LiveAlert,
    LiveBody,
    LiveCause,
    LiveData,
    LiveDisposition,
    LiveEvent,
    LiveKind,
    LiveSnapshot,
    LiveTransferScore,
)

Columns = Mapping[str, Sequence[Any]]
"""The values of a type's rows by column, instants as microseconds."""

LiveRows = Mapping[type[msgspec.Struct], Columns]
"""Rows by type, with the columns of ``LIVE_COLUMNS``; a type that is not there has no rows."""


_PLACE: Final = ("shard", "offset", "program_id", "id", "tenant_id")


class _Source(NamedTuple):
    """How rows of a type become events. ``renamed`` has the columns of fields of ``data`` with another name."""

    rows: type[msgspec.Struct]
    data: type[LiveData]
    at: str
    renamed: Mapping[str, str]
    severity: str | None = None
    band: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """One for each field of ``data``, in order."""
        return tuple(self.renamed.get(name, name) for name in self.data.__struct_fields__)

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*_PLACE, *self.columns, self.at)))


_SCORE_OF_TRANSFER: Final = {name: f"score_{name}" for name in ("band", "version", "n", "confidence")}
_SOURCES: Final = (
    _Source(
        TransferRow, LiveTransferScore, "updated_at", {"transfer_id": "id", **_SCORE_OF_TRANSFER}, band="score_band"
    ),
    _Source(ScoreRow, LiveActorScore, "scored_at", {"score_id": "id"}, band="band"),
    _Source(KriSnapshotRow, LiveSnapshot, "created_at", {"snapshot_id": "id", "as_of": "as_of_at"}, band="band"),
    _Source(AlertRow, LiveAlert, "updated_at", {"alert_id": "id"}, severity="severity", band="band_at_alert"),
    _Source(DispositionRow, LiveDisposition, "created_at", {"disposition_id": "id", "decided_by_kind": "decided_by"}),
    _Source(ActionRow, LiveAction, "updated_at", {"action_id": "id"}),
)

LIVE_KINDS: Final = tuple(source.rows for source in _SOURCES)
"""The types of rows that have events."""

LIVE_COLUMNS: Final[Mapping[type[msgspec.Struct], tuple[str, ...]]] = {
    **{source.rows: source.read for source in _SOURCES},
    AlertBodyRow: ("alert_id", "offset"),
    BackfillRow: ("shard", "offset"),
}
"""The columns that ``live_events`` reads, by row type."""


_VALUES: Final = {kind: attrgetter(*names) for kind, names in LIVE_COLUMNS.items()}


def columns_of_rows(rows: Mapping[type[msgspec.Struct], Sequence[msgspec.Struct]]) -> LiveRows:
    """The rows that have events, as columns."""
    columns: dict[type[msgspec.Struct], Columns] = {}
    for kind, names in LIVE_COLUMNS.items():
        own = rows.get(kind, ())
        if kind is TransferRow:
            own = [each for each in own if isinstance(each, TransferRow) and each.scored_offset == each.offset]
        if own:
            columns[kind] = dict(zip(names, zip(*map(_VALUES[kind], own), strict=True), strict=True))
    return columns


def nothing() -> None:
    """The default of ``between``."""


_RANK: Final = {kind: rank for rank, kind in enumerate(LiveKind)}
_ENCODE: Final = msgspec.json.Encoder().encode
_instant: Final = lru_cache(maxsize=4_096)(format_instant)  # the rows of an entry have few
_AT_ONCE: Final = 32
_CAUSE: Final = b',"cause":'


def live_events(
    rows: LiveRows, is_simulated: Callable[[str], bool], *, between: Callable[[], None] = nothing
) -> list[LiveEvent]:
    """The events of the rows, in order within each shard; of each log entry all rows are there, or none.

    ``is_simulated`` is called with ids of programs, and of tenants for their own actions; ``between`` after some events
    each.
    """
    numbers = count()  # rows that are equal in all before this stay in the order in which they were written
    unnumbered: list[tuple[Any, ...]] = []
    for source in _SOURCES:
        of_source = iter(_of_source(source, rows, numbers))
        while some := [*islice(of_source, _AT_ONCE)]:
            unnumbered += some
            between()
    unnumbered.sort()
    rescored = set(_keys(rows, BackfillRow))
    events: list[LiveEvent] = []
    entry: tuple[int, int, str] | None = None
    index, cause = 0, LiveCause.STREAM
    mark: Simulated = msgspec.UNSET
    for shard, offset, program_id, _, _, _, tenant_id, kind, at, severity, band, data in unnumbered:
        if entry == (shard, offset, program_id):
            index += 1
        else:
            entry, index = (shard, offset, program_id), 0
            cause = LiveCause.BACKFILL if (shard, offset) in rescored else LiveCause.STREAM
            mark = True if is_simulated(program_id) else msgspec.UNSET
        if len(events) % _AT_ONCE == 0:
            between()
        body = LiveBody(
            kind=kind,
            tenant_id=tenant_id,
            program_id=program_id,
            at=_instant(at),
            cause=cause,
            simulated=mark,
            severity=severity or msgspec.UNSET,
            band=band or msgspec.UNSET,
            data=data,
        )
        place = (tenant_id, program_id, shard, offset, index)
        events.append(LiveEvent(*place, kind, severity, band, data, _ENCODE(body)))
    return events


def marked_simulated(body: bytes) -> bytes:
    """The body of an event with the mark of a simulated program."""
    head, cause, rest = body.partition(_CAUSE)
    value, _, others = rest.partition(b",")
    return b'%b%b%b,"simulated":true,%b' % (head, cause, value, others)


def _of_source(source: _Source, rows: LiveRows, numbers: Iterator[int]) -> Iterable[tuple[Any, ...]]:
    """For each row: shard, offset, program, rank, id and number, by which events are sorted, and tenant, kind, instant,
    severity, band and data.
    """
    columns = rows.get(source.rows)
    if columns is None:
        return ()
    shards, offsets, program_ids, ids, tenant_ids = (columns[name] for name in _PLACE)
    kinds = _kinds(source, columns, rows)
    nothing = repeat(None)
    severities = nothing if source.severity is None else columns[source.severity]
    bands = nothing if source.band is None else columns[source.band]
    data = map(source.data, *(_in_api_words(name, columns[name]) for name in source.columns))
    order = (shards, offsets, program_ids, map(_RANK.__getitem__, kinds), ids, numbers)
    return zip(*order, tenant_ids, kinds, columns[source.at], severities, bands, data, strict=False)


def _kinds(source: _Source, columns: Columns, rows: LiveRows) -> list[LiveKind]:
    """The version of an alert that is written with its body is its opening."""
    if source.rows is ScoreRow:
        return [
            LiveKind.PROGRAM_SCORED if subject == SubjectType.PROGRAM.value else LiveKind.ACTOR_SCORED
            for subject in columns["subject_type"]
        ]
    if source.rows is AlertRow:
        opened = set(_keys(rows, AlertBodyRow))
        places = zip(columns["id"], columns["offset"], strict=True)
        return [LiveKind.ALERT_OPENED if place in opened else LiveKind.ALERT_CHANGED for place in places]
    return [_KIND_OF[source.rows]] * len(columns["id"])


_KIND_OF: Final[Mapping[type[msgspec.Struct], LiveKind]] = {
    TransferRow: LiveKind.TRANSFER_SCORED,
    KriSnapshotRow: LiveKind.KRI_SNAPSHOT,
    DispositionRow: LiveKind.DISPOSITION_CREATED,
    ActionRow: LiveKind.ACTION_CHANGED,
}


def _keys(rows: LiveRows, kind: type[msgspec.Struct]) -> Iterable[tuple[Any, ...]]:
    columns = rows.get(kind)
    return () if columns is None else zip(*(columns[name] for name in LIVE_COLUMNS[kind]), strict=True)


_KINDS_OF_DECIDERS: Final = {"key:": "key", "policy:": "policy"}
_PERSON: Final = "person"


def _in_api_words(column: str, values: Sequence[Any]) -> Iterable[Any]:
    """The values of a column in the words of the API."""
    if column.endswith("_at"):
        return (None if at is None else _instant(at) for at in values)
    convert = _WORDS.get(column)
    return values if convert is None else map(convert, values)


def _without_notes(kris: str) -> dict[str, KriValue]:
    return {name: msgspec.structs.replace(kri, note=msgspec.UNSET) for name, kri in read_kris(kris).items()}


def _kind_of_decider(decided_by: str) -> str:
    return next((kind for prefix, kind in _KINDS_OF_DECIDERS.items() if decided_by.startswith(prefix)), _PERSON)


def _float_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)  # as the table has it


_WORDS: Final[Mapping[str, Callable[[Any], object]]] = {
    "amount_cents": str,
    "confidence": _float_or_none,
    "score_confidence": _float_or_none,
    "kris": _without_notes,
    "decided_by": _kind_of_decider,
}
