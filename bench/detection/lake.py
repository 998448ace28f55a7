"""A labelled world as a lake for analysts: ``python -m bench.detection.lake DIR --world amlsim --data FOLDER``.

Way      the rows become bank events as the world's converter says, and go through the shards' own states, one program
         after the other, each entry at its own time. What the shards emit is committed to a database, and copied from
         there as a service copies it. Only the lake stays, in DIR/lake: no service can be started on DIR
Labels   of each transfer the row's own, 30 days after it, so the newest have none yet
People   no world has any. A made-up team decides the alerts of a program that are due first, some every morning,
         and always as the labels say; its working days have no weekends, and the rest waits
Time     the lake is as of the last event
Errors   ``SystemExit`` in one sentence, when files are missing or do not belong together
"""

import argparse
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import duckdb
import msgspec
from rich.console import Console
from rich.progress import Progress

from bench.detection.benchmark import BESIDE_THE_PROJECT
from bench.detection.data import Label, cut, labels_in, row_of
from bench.detection.worlds import WORLDS, World
from bench.workbench import PREFIX, TENANT
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.commands import DecisionEntry, LabelEntry, OperatorKind
from clearhold.features.core.instants import DAY_US, HOUR_US, parse_instant
from clearhold.features.core.log_entry import ChainFactRow, EntryKind, LogEntry, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.vocabulary import WAITING, AlertDecision, LabelSource, LabelValue
from clearhold.features.shard.shard import ShardState
from clearhold.store.analysts.writer import LakeWriter
from clearhold.store.data_dir import DEFAULT_SHARDS
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.ids import new_id
from clearhold.store.redis_log.reader import SEQ_BITS
from clearhold.store.tables import row_tables

LABELLED_AFTER_US: Final = 30 * DAY_US
DECIDED_A_DAY: Final = 12
_MORNING_US: Final = 9 * HOUR_US
_ROWS_A_COMMIT: Final = 20_000
_PARTIES: Final = ("identity.", "account.")
_EPOCH_WEEKDAY: Final = 3  # the epoch's first day was a Thursday; Monday is 0
_SATURDAY: Final = 5


class _Object(msgspec.Struct):
    id: str


class _Event(msgspec.Struct):
    created_at: str
    type: str
    data: _Object


class _DataEnd(NamedTuple):
    """A clock stopped at the end of the data."""

    at: int

    def now(self) -> int:
        return self.at


_EVENT: Final = msgspec.json.Decoder(_Event)


class _Rows:
    """Rows on their way to the database. The record's facts are left out: the lake has none of them."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._writer = BatchWriter(database)
        self._rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        self._count = 0

    def __call__(self, row: msgspec.Struct) -> None:
        if isinstance(row, QuarantineRow):
            raise SystemExit(f"{row.program_id}, offset {row.offset}: {row.error}")
        if not isinstance(row, ChainFactRow):
            self._rows.setdefault(type(row), []).append(row)
            self._count += 1

    def commit(self, state: ShardState, at: int, *, least: int = 1) -> None:
        if self._count >= least:
            self._writer.commit(row_tables(self._rows), {state.shard: state.applied_offset}, at)
            self._rows, self._count = {}, 0


class _Team:
    """The people of one program, who know the labels."""

    def __init__(self, program_id: str, labels: Mapping[str, Label]) -> None:
        self._operator, self._labels = f"{program_id}@bank.example", labels
        self._waiting: dict[str, AlertRow] = {}

    def note(self, alert: AlertRow) -> None:
        if alert.status in WAITING:
            self._waiting[alert.id] = alert
        else:
            self._waiting.pop(alert.id, None)

    def decisions(self, at: int) -> list[DecisionEntry]:
        """Those of one morning; none at the weekend."""
        if (at // DAY_US + _EPOCH_WEEKDAY) % 7 >= _SATURDAY:
            return []
        first = sorted(self._waiting.values(), key=lambda alert: (alert.due_at or alert.opened_at, alert.id))
        return [self._decision(alert, at) for alert in first[:DECIDED_A_DAY]]

    def _decision(self, alert: AlertRow, at: int) -> DecisionEntry:
        is_bad = alert.transfer_id is not None and self._labels[row_of(alert.transfer_id)].bad
        return DecisionEntry(
            id=derived_id("decision", alert.id),
            alert_id=alert.id,
            decision=AlertDecision.CLOSE if is_bad else AlertDecision.NO_ACTION,
            narrative="Reported to the bank today." if is_bad else "Looked at, nothing in it.",
            operator=self._operator,
            operator_kind=OperatorKind.PERSON,
            at=at,
        )


class _Filler:
    """One program's entries, each at its own time, and the rows that they lead to."""

    def __init__(self, program_id: str, labels: Mapping[str, Label], rows: _Rows) -> None:
        self._program_id, self._labels, self._rows = program_id, labels, rows
        self._state = ShardState(shard_of(program_id, DEFAULT_SHARDS))
        self._team = _Team(program_id, labels)
        self._to_label, self._morning, self._known = deque[tuple[int, str]](), 0, set[str]()

    def fill(self, path: Path, done: Callable[[int], None]) -> int:
        """The time of the last event."""
        at = 0
        with path.open("rb") as lines:
            for line in lines:
                event = _EVENT.decode(line)
                at = parse_instant(event.created_at) or at
                if not self._morning:
                    self._begin(at)
                self._do_what_is_due(at)
                self._apply(EntryKind.BANK, at, line.rstrip())
                if not event.type.startswith(_PARTIES) and event.data.id not in self._known:
                    self._known.add(event.data.id)
                    self._to_label.append((at + LABELLED_AFTER_US, event.data.id))
                self._rows.commit(self._state, at, least=_ROWS_A_COMMIT)
                done(1)
        self._rows.commit(self._state, at)
        return at

    def _begin(self, at: int) -> None:
        program = Program(id=self._program_id, tenant_id=TENANT, slug=self._program_id, name=self._program_id)
        self._apply(EntryKind.PROGRAM, at, msgspec.json.encode(program))
        self._morning = at - at % DAY_US + DAY_US + _MORNING_US

    def _do_what_is_due(self, until: int) -> None:
        """Mornings and labels, in the order of their times."""
        while True:
            due = min(self._morning, self._to_label[0][0] if self._to_label else until)
            if due >= until:
                return
            if due == self._morning:
                self._apply(EntryKind.TICK, due, b"")
                for decision in self._team.decisions(due):
                    self._apply(EntryKind.DECISION, due, msgspec.json.encode(decision))
                self._morning += DAY_US
            else:
                self._label(*self._to_label.popleft())

    def _label(self, at: int, transfer_id: str) -> None:
        label = self._labels[row_of(transfer_id)]
        entry = LabelEntry(
            id=derived_id("label", self._program_id, transfer_id),
            transfer_id=transfer_id,
            label=LabelValue.BAD if label.bad else LabelValue.OK,
            reason=label.typology,
            source=LabelSource.PERSON,
            recorded_by="labels@bank.example",
            at=at,
        )
        self._apply(EntryKind.LABEL, at, msgspec.json.encode(entry))

    def _apply(self, kind: EntryKind, at: int, body: bytes) -> None:
        offset = max(self._state.applied_offset + 1, at // 1_000 << SEQ_BITS)
        entry = LogEntry(self._state.shard, offset, kind.value, self._program_id, at, body)
        self._state.apply(entry, self._emit)

    def _emit(self, row: msgspec.Struct) -> None:
        if isinstance(row, AlertRow):
            self._team.note(row)
        self._rows(row)


def fill_lake(target: Path, transfers: Path, labels: Path, world: World, *, rows: int, console: Console) -> None:
    """Write the lake of a world, or of its first rows, if it is missing."""
    lake = target / "lake"
    if lake.exists():
        raise SystemExit(f"{lake} is there already; name a folder without a lake.")
    with TemporaryDirectory(prefix=PREFIX) as folder, open_database(Path(folder) / "rows.duckdb") as database:
        source = cut(transfers, Path(folder), rows) if rows else transfers
        console.print("the rows as bank events")
        events = world.convert(source, Path(folder) / "events")
        known, emitted, last_at = labels_in(labels), _Rows(database), 0
        with Progress(console=console) as progress:
            task = progress.add_task("scoring", total=sum(events.events.values()))
            for path in sorted((Path(folder) / "events").glob("*.ndjson")):
                at = _Filler(path.stem, known, emitted).fill(path, lambda count: progress.advance(task, count))
                last_at = max(last_at, at)
        console.print("the lake")
        lake.mkdir(parents=True)
        with closing(LakeWriter(lake, database, clock=_DataEnd(last_at), new_id=new_id, lead_us=0)) as writer:
            count = writer.copy()
            while writer.merge():
                pass
    console.print(f"{sum(events.transfers.values()):,} transfers, {count:,} rows in {lake}", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.detection.lake", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the lake goes, into DIR/lake")
    parser.add_argument("--world", choices=tuple(WORLDS), default="amlsim", help="which labelled transfers (amlsim)")
    parser.add_argument("--data", type=Path, default=BESIDE_THE_PROJECT, metavar="FOLDER", help="where they are")
    parser.add_argument("--rows", type=int, default=0, metavar="ROWS", help="only the first ROWS rows")
    arguments = parser.parse_args()
    world = WORLDS[arguments.world]
    try:
        transfers, labels = world.found_in(arguments.data)
    except FileNotFoundError as missing:
        raise SystemExit(f"No transfers of {world.name}: {missing}. Name their folder with --data.") from missing
    fill_lake(arguments.folder, transfers, labels, world, rows=max(0, arguments.rows), console=Console(stderr=True))


if __name__ == "__main__":
    main()
