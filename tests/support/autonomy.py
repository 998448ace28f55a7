"""A program whose transfers go where it did not declare to, the labels and reviews of their alerts, and its tier."""

from functools import cache
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import ActionEntry, ActionType, ApprovalEntry
from clearhold.features.core.entries.commands import LabelEntry, OperatorKind
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import ActionRow, AlertRow, EntryResultRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue
from clearhold.features.policy.program_autonomy import DetectorEligibility, ProgramAutonomy
from clearhold.features.shard.questions import ReadAutonomy
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision
from tests.support.clock import T0
from tests.support.programs import NOON, warmed_program
from tests.support.stories import PROGRAM, ShardStory

CANDIDATE: Final = "country_outside_declared"
"""A detector that the seeded policy does not close."""
LISTED: Final = "amount_spike"
"""One that it closes."""
EVERY: Final = 9 * HOUR_US
STRANGERS_EVERY: Final = 8
AT_HOME: Final = "US"
ABROAD: Final = "FR"


class AutonomyStory:
    """Times are microseconds after T0; ``now`` is that of the newest entry."""

    def __init__(self) -> None:
        self.story: ShardStory = warmed_program()
        self.now = NOON
        self._requests, self._wires, self._large_cents = 0, 1, 900_00

    def open_alerts(self, count: int, detector: str = CANDIDATE) -> list[AlertRow]:
        """Alerts of one transfer each, hours apart, that nothing but the detector keeps from being closed."""
        return [self._open_alert(detector) for _ in range(count)]

    def label(self, alerts: list[AlertRow], label: str = "ok", *, at: int | None = None) -> None:
        self._pass(at)
        for alert in alerts:
            assert alert.transfer_id is not None
            self.story.submit(
                LabelEntry(
                    id=f"lbl_{len(self.story.entries)}",
                    transfer_id=alert.transfer_id,
                    label=LabelValue(label),
                    reason="It was looked into.",
                    source=LabelSource.PERSON,
                    recorded_by="j.lee",
                    at=T0 + self.now,
                )
            )

    def review(self, alerts: list[AlertRow], decision: str = "close", *, at: int | None = None, **over: Any) -> None:
        self._pass(at)
        for alert in alerts:
            self.story.submit(a_decision(alert, decision, self.now, **over))

    def tick(self, at: int) -> list[msgspec.Struct]:
        self._pass(at)
        return self.story.tick(at)

    def request(self, tier: str, *, at: int | None = None, by: str = "ann") -> tuple[str, str]:
        """Request a tier; the action's id, and the result."""
        self._pass(at)
        self._requests += 1
        entry = ActionEntry(
            id=f"act_{self._requests}",
            tenant_id="ten_1",
            alert_id=None,
            alert_sha256=None,
            type=ActionType.SET_AUTONOMY,
            target_type="program",
            target_id=PROGRAM,
            operator=by,
            operator_kind=OperatorKind.PERSON,
            principal_id="op_1",
            change={"tier": tier, "note": f"We ask for {tier}."},
            at=T0 + self.now,
        )
        self.story.submit(entry)
        return entry.id, self.story.one(EntryResultRow).result

    def approve(self, action_id: str, *, at: int | None = None, by: str = "bob") -> ActionRow:
        self._pass(at)
        self.story.submit(
            ApprovalEntry(
                id=f"apr_{len(self.story.entries)}",
                action_id=action_id,
                approver=by,
                operator=by,
                principal_id="op_1",
                at=T0 + self.now,
            )
        )
        return self.story.one(ActionRow)

    def copied(self) -> "AutonomyStory":
        """Another story that goes on from here, in a state that was dumped and loaded."""
        copy = AutonomyStory.__new__(AutonomyStory)
        copy.__dict__ |= self.__dict__
        copy.story = ShardStory.__new__(ShardStory)
        copy.story.__dict__ |= self.story.__dict__
        copy.story.state = ShardState.loaded(self.story.state.dump())
        copy.story.entries, copy.story.rows = list(self.story.entries), list(self.story.rows)
        return copy

    @property
    def autonomy(self) -> ProgramAutonomy:
        return ReadAutonomy(T0 + self.now).answer(self.story.program)

    def evidence(self, detector: str = CANDIDATE) -> DetectorEligibility:
        (eligibility,) = (each for each in self.autonomy.eligibility if each.detector == detector)
        return eligibility

    def idle(self, days: int) -> None:
        """Ordinary wires alone, some between two that are new, so that the program keeps its baseline; then a tick."""
        until = self.now + days * DAY_US
        while self.now + EVERY < until:
            if self._wires % STRANGERS_EVERY:
                self._wire(AT_HOME)
            else:
                self._first_wire()
        self.tick(until)

    def earn(self, alerts: int = 150, reviewed: int = 50, detector: str = CANDIDATE) -> list[AlertRow]:
        """Evidence that just holds, matured."""
        opened = self.open_alerts(alerts, detector)
        self.review(opened[:reviewed])
        self.label(opened)
        self.idle(60)
        return opened

    def _open_alert(self, detector: str) -> AlertRow:
        if detector == CANDIDATE:
            self._wire(ABROAD)
        else:
            self._wire(AT_HOME)
            self._large_cents += self._large_cents // 50  # must stay far above the usual amount
            self._wire(AT_HOME, self._large_cents)
        (alert,) = (
            row for row in self.story.last(AlertRow) if row.detector == detector and row.subject_type == "transfer"
        )
        return alert

    def _wire(self, country: str, cents: int | None = None) -> None:
        """A wire, a quiet one of an amount that is none of its neighbours' where no other is stated."""
        self.now += EVERY
        self._wires += 1
        amount = cents or 100_00 + self._wires % 20 * 20_00
        self.story.wire("enti_1", "cpty_1", amount, self.now, beneficiary_address={"country_code": country})

    def _first_wire(self) -> None:
        """The only wire between two sides."""
        self.now += EVERY
        self._wires += 1
        self.story.introduce(f"enti_{self._wires}", last_screened_at=bank.rfc3339(T0 + self.now))
        address = {"country_code": AT_HOME}
        self.story.wire(f"enti_{self._wires}", f"cpty_{self._wires}", 200_00, self.now, beneficiary_address=address)

    def _pass(self, at: int | None) -> None:
        if at is not None:
            assert at >= self.now
            self.now = at


@cache
def _earned() -> AutonomyStory:
    story = AutonomyStory()
    story.earn()
    return story


@cache
def _trusted() -> AutonomyStory:
    story = earned()
    action_id, _ = story.request("trusted")
    story.approve(action_id)
    return story


def earned() -> AutonomyStory:
    """A program that earned the candidate, and is still on ``standard``."""
    return _earned().copied()


def trusted() -> AutonomyStory:
    return _trusted().copied()


def status_of_next(story: AutonomyStory, detector: str = CANDIDATE) -> str:
    """How the next alert of the detector opens."""
    return story.open_alerts(1, detector)[0].status
