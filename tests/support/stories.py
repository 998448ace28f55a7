"""One program's shard, driven by bank events and commands one at a time, and the rows that each of them led to."""

from typing import Any, Final, TypeVar

import msgspec

from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from clearhold.features.core.entries.actions import ActionEntry, ApprovalEntry, OutcomeEntry
from clearhold.features.core.entries.commands import (
    ActorRange,
    AppealEntry,
    AssignEntry,
    BackfillStep,
    DecisionEntry,
    DecisionsEntry,
    LabelEntry,
    NoteEntry,
    Progress,
    SplitEntry,
    Subjects,
)
from clearhold.features.core.log_entry import EntryKind, EntryPosition, LogEntry
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from tests.oracle.oracle import Oracle
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.oracle_agreement import differences, vector_of

Row = TypeVar("Row", bound=msgspec.Struct)

PROGRAM: Final = "prg_1"
NOBODY: Final = {"beneficiary_name": None, "beneficiary_account_number": None, "creditor_agent_routing_number": None}
STRANGER: Final = {"originator_name": None, "originator_account_number": None}
_KIND_OF: Final = {
    DecisionEntry: EntryKind.DECISION,
    DecisionsEntry: EntryKind.DECISIONS,
    SplitEntry: EntryKind.SPLIT,
    NoteEntry: EntryKind.NOTE,
    AssignEntry: EntryKind.ASSIGN,
    AppealEntry: EntryKind.APPEAL,
    LabelEntry: EntryKind.LABEL,
    ActionEntry: EntryKind.ACTION,
    ApprovalEntry: EntryKind.APPROVAL,
    OutcomeEntry: EntryKind.OUTCOME,
}
Command = (
    DecisionEntry
    | DecisionsEntry
    | SplitEntry
    | NoteEntry
    | AssignEntry
    | AppealEntry
    | LabelEntry
    | ActionEntry
    | ApprovalEntry
    | OutcomeEntry
)


class ShardStory:
    """Applies each entry as soon as it is appended.

    Objects and entries carry instants. The shorthands for transfers and ticks count microseconds from T0.
    """

    def __init__(self, program: Program | None = None, *, compare_oracle: bool = False) -> None:
        """Detectors run for a declared program only. A compared oracle must agree on every entry."""
        self.state = ShardState(0)
        self.entries: list[LogEntry] = []
        self.rows: list[msgspec.Struct] = []
        self.last_rows: list[msgspec.Struct] = []
        self._oracle = Oracle() if compare_oracle else None
        self._oracle_vector: FeatureVector | None = None
        self._events = 0
        if program is not None:
            self.declare(program)

    def declare(self, program: Program) -> "ShardStory":
        return self.append(EntryKind.PROGRAM, msgspec.json.encode(program))

    def deliver(self, kind: str, data: object, *, at: int = T0, appended_at: int | None = None) -> "ShardStory":
        """Deliver a bank event; it is appended at the instant at which it was created unless another is given."""
        self._events += 1
        return self.apply(
            bank.a_bank_entry(
                kind, data, offset=self._next_offset, created_at=at, appended_at=appended_at, program_id=PROGRAM
            )
        )

    def submit(self, entry: Command) -> list[msgspec.Struct]:
        """Append a command; the rows that it led to."""
        return self.append(_KIND_OF[type(entry)], msgspec.json.encode(entry), at=entry.at).last_rows

    def snapshot(self, at: int) -> list[msgspec.Struct]:
        """Take a snapshot of the indicators on request; the rows that it led to."""
        entry = SnapshotEntry(id=f"snp_{len(self.entries)}", at=T0 + at)
        return self.append(EntryKind.SNAPSHOT, msgspec.json.encode(entry), at=entry.at).last_rows

    def tick(self, at: int) -> list[msgspec.Struct]:
        return self.append(EntryKind.TICK, b"", at=T0 + at).last_rows

    def append(self, kind: EntryKind, body: bytes, *, at: int = T0) -> "ShardStory":
        return self.apply(LogEntry(0, self._next_offset, kind, PROGRAM, at, body))

    def apply(self, entry: LogEntry) -> "ShardStory":
        self.entries.append(entry)
        self.last_rows = []
        self.state.apply(entry, self.last_rows.append)
        self.rows += self.last_rows
        if self._oracle is not None:
            expected = self._oracle.apply(entry)
            disagreements = differences(entry, self.last_rows, expected)
            assert not disagreements, disagreements
            self._oracle_vector = None if expected is None else vector_of(expected)
        return self

    def introduce(self, *entities: str, **over: Any) -> "ShardStory":
        """Deliver the profiles of entities."""
        for entity in entities:
            self.deliver("identity.created", bank.an_entity(id=entity, created_at=None, **over))
        return self

    def transfer(self, kind: str, data: bank.Data, at: int) -> FeatureVector:
        """Deliver a transfer; its id and times are set unless the object has times of its own."""
        if data["created_at"] == bank.rfc3339(T0):
            data |= {"id": f"trf_{self._events}", "created_at": bank.rfc3339(T0 + at), "updated_at": None}
        return self.deliver(kind, data, at=T0 + at).vector

    def wire(self, source: str, target: str, cents: int, at: int, **over: Any) -> FeatureVector:
        """A wire reported by its sender, or by its receiver when the sender is a counterparty."""
        if source.startswith("cpty"):
            sides: bank.Data = {"entity_id": target, "counterparty_id": source, "is_incoming": True}
        else:
            sides = {"entity_id": source, "counterparty_id": target}
        way = "incoming" if "is_incoming" in sides else "outgoing"
        return self.transfer(
            f"wire.{way}_transfer.completed",
            bank.a_wire(**{**NOBODY, **STRANGER, "bank_account_id": None, "amount": cents} | sides | over),
            at,
        )

    def ach(self, actor: str, cents: int, at: int, **over: Any) -> FeatureVector:
        data = bank.an_ach_transfer(
            **{"entity_id": actor, "amount": cents, "type": "DEBIT", "receiver_name": None, "company_name": None} | over
        )
        return self.transfer(f"ach.{'incoming' if data['is_incoming'] else 'outgoing'}_transfer.settled", data, at)

    def card(
        self, account: str | None, cents: int, at: int, status: str = "PENDING", reason: str = "APPROVED", **over: Any
    ) -> FeatureVector:
        """An attempt on a card that the bank does not name, unless ``card_id`` is given."""
        usual = {"bank_account_id": account, "entity_id": None, "card_id": None, "amount": cents, "status": status}
        data = bank.a_card_authorization(**usual | {"decision_reason": reason} | over)
        return self.transfer("card.authorization.approved", data, at)

    def debit(self, actor: str, party: str, cents: int, at: int) -> bank.Data:
        """An ACH debit of a counterparty, as its object."""
        data = bank.an_ach_transfer(
            id=f"acht_{self._events}",
            entity_id=actor,
            bank_account_id=None,
            counterparty_id=party,
            amount=cents,
            type="DEBIT",
            receiver_name=None,
            company_name=None,
            created_at=bank.rfc3339(T0 + at),
            updated_at=bank.rfc3339(T0 + at),
        )
        self.deliver("ach.outgoing_transfer.settled", data, at=T0 + at)
        return data

    def return_debit(self, data: bank.Data, code: str, at: int) -> None:
        change = {
            "status": "RETURNED",
            "return_details": [bank.a_return(code, T0 + at)],
            "updated_at": bank.rfc3339(T0 + at),
        }
        self.deliver("ach.outgoing_transfer.returned", data | change, at=T0 + at)

    def rescore_actors(self) -> list[msgspec.Struct]:
        """Evaluate all actors and counterparties, and the newest transfer of each."""
        by_time = sorted(self.all(TransferRow), key=lambda row: row.bank_created_at)
        newest = {party: row.id for row in by_time for party in (row.entity_id, row.counterparty_id) if party}
        everyone = ActorRange(
            actors=(0, len(self.program.actors)),
            counterparties=(0, len(self.program.counterparties.all)),
            transfers=tuple(sorted(set(newest.values()))),
        )
        progress = Progress(
            id="backfill_1",
            subjects=Subjects.ACTORS,
            score_version="-",
            feature_version=FEATURE_VERSION,
            started_offset=2**62,
        )
        step = msgspec.json.encode(BackfillStep(progress=progress, evaluate=everyone))
        return self.append(EntryKind.BACKFILL, step, at=max(entry.appended_at for entry in self.entries)).last_rows

    @property
    def program(self) -> ProgramState:
        return self.state.program(PROGRAM)

    @property
    def end(self) -> EntryPosition:
        """A position after the last entry, at its instant."""
        return EntryPosition(0, 99 << 20, self.entries[-1].appended_at, self.entries[-1].appended_at)

    @property
    def scoring(self) -> TransferFeaturesRow:
        """The scored inputs of the last entry."""
        return self.one(TransferFeaturesRow)

    @property
    def vector(self) -> FeatureVector:
        """The vector of the last entry; the oracle's where it is compared, because its quantiles are exact."""
        if self._oracle is None:
            return self.scoring.vector
        assert self._oracle_vector is not None
        return self._oracle_vector

    def all(self, kind: type[Row]) -> list[Row]:
        """The rows of one kind, of all entries."""
        return [row for row in self.rows if isinstance(row, kind)]

    def last(self, kind: type[Row]) -> list[Row]:
        """The rows of one kind that the last entry led to."""
        return [row for row in self.last_rows if isinstance(row, kind)]

    def one(self, kind: type[Row]) -> Row:
        """The only row of its kind that the last entry led to."""
        (row,) = self.last(kind)
        return row

    def scores(self, subject_type: str = "entity") -> list[ScoreRow]:
        """The score records that the last entry led to."""
        return [row for row in self.last(ScoreRow) if row.subject_type == subject_type]

    def versions(self, detector: str) -> list[AlertRow]:
        """Every version of the detector's alerts, in the order in which they were written."""
        return [row for row in self.all(AlertRow) if row.detector == detector]

    def alerts(self, detector: str) -> list[AlertRow]:
        """The newest version of each alert of the detector, in the order in which they were opened."""
        return list({row.id: row for row in self.versions(detector)}.values())

    def alert(self, detector: str) -> AlertRow:
        (alert,) = self.alerts(detector)
        return alert

    @property
    def _next_offset(self) -> int:
        return (len(self.entries) + 1) << 20


def oracle_story(*entities: str) -> ShardStory:
    """A story on which the oracle must agree, with the profiles of these entities."""
    return ShardStory(compare_oracle=True).introduce(*entities)


def detector_story(**declared: Any) -> ShardStory:
    """A story whose detectors run: the program declares ACH, wires and cards in the United States."""
    return ShardStory(a_program(**{"id": PROGRAM} | declared))
