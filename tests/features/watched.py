"""Stories told to a shard that watches: the alerts that they open, and every version of each."""

from typing import Any, Final, TypeVar

import msgspec

from features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from features.core.backfill import ActorRange, BackfillStep, Progress, Subjects
from features.core.commands import AppealEntry, DecisionEntry, LabelEntry, OperatorKind
from features.core.instants import DAY_US, HOUR_US
from features.core.log_entry import EntryKind, LogEntry
from features.core.rows import AlertRow, TransferRow
from features.core.vocabulary import AlertDecision, Severity
from features.state.program import ProgramState
from tests.features.told import Told
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0

Row = TypeVar("Row", bound=msgspec.Struct)

PROGRAM: Final = "prg_1"
HOUR: Final = HOUR_US
DAY: Final = DAY_US
_KIND_OF: Final = {
    DecisionEntry: EntryKind.DECISION,
    AppealEntry: EntryKind.APPEAL,
    LabelEntry: EntryKind.LABEL,
}


class Watched(Told):
    """A story that is told to the state alone; its program declares ACH, wires and cards in the United States."""

    def __init__(self, **declared: Any) -> None:
        super().__init__()
        self.entries: list[LogEntry] = []
        self.rows: list[msgspec.Struct] = []
        usual = {"id": PROGRAM, "tenant_id": "ten_1"}
        self.put(EntryKind.PROGRAM, msgspec.json.encode(a_program(**usual | declared)), 0)

    def put(self, kind: EntryKind, body: bytes, at: int) -> list[msgspec.Struct]:
        """Append one entry and apply it."""
        return self.apply(LogEntry(0, (len(self.entries) + 1) << 20, kind, PROGRAM, T0 + at, body))

    def apply(self, entry: LogEntry) -> list[msgspec.Struct]:
        before = len(self.rows)
        self.entries.append(entry)
        self.state.apply(entry, self.rows.append)
        return self.rows[before:]

    def say(self, kind: str, data: bank.Data, at: int) -> FeatureVector | None:
        self.made += 1
        offset = (len(self.entries) + 1) << 20
        found = self.apply(bank.a_bank_entry(kind, data, offset=offset, created_at=T0 + at, program_id=PROGRAM))
        vectors = [row.vector for row in found if isinstance(row, TransferFeaturesRow)]
        return vectors[-1] if vectors else None

    def ask(self, entry: DecisionEntry | AppealEntry | LabelEntry) -> list[msgspec.Struct]:
        """Let somebody decide, appeal or label."""
        return self.put(_KIND_OF[type(entry)], msgspec.json.encode(entry), entry.at - T0)

    def tick(self, at: int) -> list[msgspec.Struct]:
        return self.put(EntryKind.TICK, b"", at)

    def know(self, *entities: str, **over: Any) -> "Watched":
        """Let the bank introduce entities."""
        for entity in entities:
            self.say("identity.created", bank.an_entity(id=entity, created_at=None, **over), 0)
        return self

    def debit(self, actor: str, party: str, cents: int, at: int) -> bank.Data:
        """An ACH debit of a counterparty, as its object."""
        data = bank.an_ach_transfer(
            id=f"acht_{self.made}",
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
        self.say("ach.outgoing_transfer.settled", data, at)
        return data

    def come_back(self, data: bank.Data, code: str, at: int) -> None:
        """Deliver a return of it."""
        news = {
            "status": "RETURNED",
            "return_details": [bank.a_return(code, T0 + at)],
            "updated_at": bank.rfc3339(T0 + at),
        }
        self.say("ach.outgoing_transfer.returned", data | news, at)

    @property
    def program(self) -> ProgramState:
        return self.state.program(PROGRAM)

    def rescore_actors(self) -> list[msgspec.Struct]:
        """Let all actors and counterparties be evaluated, and each one's newest transfer be looked at again."""
        by_time = sorted(self.all(TransferRow), key=lambda row: row.bank_created_at)
        newest = {party: row.id for row in by_time for party in (row.entity_id, row.counterparty_id) if party}
        program = self.program
        everyone = ActorRange(
            actors=(0, len(program.actors)),
            counterparties=(0, len(program.counterparties.all)),
            newest=tuple(sorted(set(newest.values()))),
        )
        progress = Progress(
            id="backfill_1",
            subjects=Subjects.ACTORS,
            score_version="-",
            feature_version=FEATURE_VERSION,
            started_offset=2**62,
        )
        step = BackfillStep(progress=progress, evaluate=everyone)
        last = max(entry.appended_at for entry in self.entries) - T0
        return self.put(EntryKind.BACKFILL, msgspec.json.encode(step), last)

    def all(self, kind: type[Row]) -> list[Row]:
        return [row for row in self.rows if isinstance(row, kind)]

    def versions(self, detector: str) -> list[AlertRow]:
        """Every version of the detector's alerts, in the order in which they were written."""
        return [row for row in self.all(AlertRow) if row.detector == detector]

    def alerts(self, detector: str) -> list[AlertRow]:
        """The newest version of each alert of the detector, in the order in which they were opened."""
        return list({row.id: row for row in self.versions(detector)}.values())

    def alert(self, detector: str) -> AlertRow:
        (alert,) = self.alerts(detector)
        return alert


def evidence_of(alert: AlertRow) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(alert.evidence)
    return found


def grade_of(alert: AlertRow) -> tuple[str, bool]:
    return Severity(alert.severity).value, alert.hard_signal


def a_decision(alert: AlertRow, decision: str, at: int, **over: Any) -> DecisionEntry:
    usual: dict[str, Any] = {
        "id": f"dsp_{alert.id[:8]}_{decision}_{at}",
        "alert_id": alert.id,
        "decision": AlertDecision(decision),
        "narrative": "Looked at and decided.",
        "operator": "j.lee",
        "operator_kind": OperatorKind.PERSON,
        "at": T0 + at,
    }
    return DecisionEntry(**usual | over)
