"""Points end when a person clears the transfers that they rest on, and come back when that is contradicted."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.commands import (
    AppealEntry,
    LabelEntry,
    OperatorKind,
)
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import AlertStatus, LabelSource, LabelValue
from clearhold.features.measurement.actor_evaluation import evaluate_actor, evaluate_counterparty
from clearhold.features.scorers.ers_v1 import decayed
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import a_decision
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.rescored import a_rescoring_step
from tests.support.stories import ShardStory

ENTITY: Final = "enti_1"
DAY: Final = DAY_US


def usual_story() -> ShardStory:
    """An entity that pays the same counterparty each day; the last time five days before T0."""
    story = ShardStory(a_program())
    for day in range(40, 4, -1):
        story.wire(ENTITY, "cpty_usual", 10_000 + day, -day * DAY)
    return story


def hot_wire(story: ShardStory, number: int, at: int) -> str:
    """A wire to a stranger abroad of far more than usual."""
    story.wire(ENTITY, f"cpty_new_{number}", 4_985_000 + number, at, beneficiary_address={"country_code": "DE"})
    return story.one(TransferRow).id


def points(story: ShardStory, at: int) -> int:
    """The points of the entity's score that rest on its transfers."""
    actor = story.program.entity(ENTITY)
    assert actor is not None
    evaluation = evaluate_actor(story.program, actor, T0 + at)
    assert evaluation is not None
    return decayed(evaluation.inputs.transfer_score, evaluation.inputs.transfer_score_days)


def alerts_on(story: ShardStory, transfer_id: str) -> list[AlertRow]:
    """The newest versions of the alerts whose findings are on the transfer."""
    newest = {row.id: row for row in story.all(AlertRow)}
    held = {each: story.program.alerts.get(each) for each in newest}
    return [
        newest[each]
        for each, alert in held.items()
        if alert is not None and (alert.transfer_id == transfer_id or transfer_id in alert.newest_transfers)
    ]


def decide_all(story: ShardStory, transfer_id: str, decision: str, at: int, **over: Any) -> None:
    for alert in alerts_on(story, transfer_id):
        if alert.status != AlertStatus.CLOSED.value:
            word = decision if decision != "release" or alert.status == "held" else "close"
            story.submit(a_decision(alert, word, at, **over))


def label(story: ShardStory, transfer_id: str, value: LabelValue, at: int) -> None:
    story.submit(
        LabelEntry(
            id=f"label_{len(story.entries)}",
            transfer_id=transfer_id,
            label=value,
            reason="known",
            source=LabelSource.PERSON,
            recorded_by="ann",
            at=T0 + at,
        )
    )


@pytest.mark.parametrize("decision", ["release", "close", "no_action"])
def test_given_a_hot_wire_when_a_person_closes_its_alerts_then_its_points_end(decision: str) -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    before, waiting = points(story, 0), alerts_on(story, wire)
    assert waiting
    assert before >= 30

    for alert in waiting[:-1]:
        story.submit(a_decision(alert, "close" if alert.status != "held" else decision, 1))
    assert len(waiting) > 1
    assert points(story, 1) == before  # another alert on it still waits
    last = waiting[-1]
    story.submit(a_decision(last, "close" if last.status != "held" and decision == "release" else decision, 2))

    assert points(story, 2) == 0
    (row,) = story.scores()
    assert (row.score, row.former_band) == (0, "review" if before < 70 else "hold")


def test_given_a_hot_wire_when_it_is_labelled_ok_then_its_points_end_until_it_is_labelled_bad() -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    before = points(story, 0)

    label(story, wire, LabelValue.OK, 1)
    cleared = points(story, 1)
    label(story, wire, LabelValue.BAD, 2)

    assert (cleared, points(story, 2)) == (0, before)
    assert [row.score for row in story.scores()] == [before]


@pytest.mark.parametrize("decision", ["hold", "escalate"])
def test_given_a_label_ok_when_a_person_then_holds_an_alert_on_it_then_the_points_are_back(decision: str) -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    before = points(story, 0)
    label(story, wire, LabelValue.OK, 1)
    assert points(story, 1) == 0

    decide_all(story, wire, decision, 2)

    assert points(story, 2) == before


def test_given_a_released_wire_when_the_decision_is_appealed_then_the_points_are_back_until_that_is_decided() -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    before = points(story, 0)
    decide_all(story, wire, "close", 1)
    closed = [row for row in story.all(AlertRow) if row.status == "closed"]
    assert points(story, 1) == 0

    story.submit(AppealEntry(id="appeal_1", alert_id=closed[0].id, reason="new facts", operator="ben", at=T0 + 2))
    appealed = points(story, 2)
    story.submit(a_decision(story.one(AlertRow), "close", 3))

    assert (appealed, points(story, 3)) == (before, 0)


def test_given_an_alert_that_the_policy_closed_then_no_points_end() -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    before = points(story, 0)
    for alert in alerts_on(story, wire):
        story.submit(a_decision(alert, "close", 1, operator="key:abc", operator_kind=OperatorKind.KEY))

    assert points(story, 1) == before


def test_given_a_cleared_transfer_when_it_is_scored_again_then_it_stays_cleared() -> None:
    story = usual_story()
    wire = hot_wire(story, 1, 0)
    label(story, wire, LabelValue.OK, 1)

    data = msgspec.json.decode(story.entries[-2].body)["data"]
    story.deliver("wire.outgoing_transfer.completed", data | {"amount": 6_000_000, "updated_at": None}, at=T0 + 2)

    assert story.one(TransferRow).score is not None
    assert points(story, 2) == 0


def test_given_five_hot_wires_when_the_four_strongest_are_cleared_then_the_fifth_still_counts() -> None:
    story = usual_story()
    wires = [hot_wire(story, number, number * HOUR_US) for number in range(5)]
    scores = {row.id: row.score or 0 for row in story.all(TransferRow)}
    by_strength = sorted(wires, key=lambda each: -scores[each])

    for number, wire in enumerate(by_strength[:4]):
        label(story, wire, LabelValue.OK, 6 * HOUR_US + number)

    assert points(story, 7 * HOUR_US) == scores[by_strength[4]] > 0


acts = st.tuples(
    st.sampled_from(
        ("wire", "wire", "ok", "bad", "close", "close", "hold", "escalate", "appeal", "tick", "usual", "reload")
    ),
    st.integers(0, 7),
    st.sampled_from((1, HOUR_US, DAY, 3 * DAY, 20 * DAY)),
)


class Life:
    """A random history, and which of its transfers are cleared, computed from all facts."""

    def __init__(self) -> None:
        self.story, self.now = usual_story(), 0
        self.wires: list[str] = []
        self.label_of: dict[str, bool] = {}
        self.transfers_of: dict[str, set[str]] = {}

    def alerts(self) -> dict[str, AlertRow]:
        newest = {row.id: row for row in self.story.all(AlertRow) if row.subject_type != "program"}
        for alert_id, row in newest.items():
            alert = self.story.program.alerts.get(alert_id)
            if alert is not None and row.status != "closed":
                named = {alert.transfer_id, *alert.newest_transfers}
                self.transfers_of.setdefault(alert_id, set()).update(filter(None, named))
        return newest

    def act(self, act: str, which: int, wait: int) -> None:
        self.now += wait
        self.alerts()
        if act == "wire" or not self.wires:
            self.wires.append(hot_wire(self.story, len(self.wires), self.now))
        elif act in ("ok", "bad"):
            wire = self.wires[which % len(self.wires)]
            label(self.story, wire, LabelValue(act), self.now)
            self.label_of[wire] = act == "ok"
        elif act in ("usual", "tick", "reload"):
            self.pass_on(act)
        else:
            self.judge(act, which)
        self.alerts()

    def pass_on(self, act: str) -> None:
        if act == "usual":
            self.story.wire(ENTITY, "cpty_usual", 10_000, self.now)
        elif act == "tick":
            self.story.tick(self.now)
        else:
            self.story.state = ShardState.loaded(iter(list(self.story.state.dump())))

    def judge(self, act: str, which: int) -> None:
        """Decide a waiting alert, or appeal a closed one."""
        alerts = [row for row in self.alerts().values() if (row.status == "closed") == (act == "appeal")]
        if not alerts:
            return
        alert, at = alerts[which % len(alerts)], self.now
        if act == "appeal":
            self.story.submit(
                AppealEntry(id=f"ap_{at}", alert_id=alert.id, reason="new facts", operator="ben", at=T0 + at)
            )
            for row in self.story.last(AlertRow):
                self.transfers_of[row.id] = set(self.transfers_of[alert.id])
            return
        self.story.submit(a_decision(alert, act, at))
        if self.story.last(AlertRow) and act in ("hold", "escalate"):
            for transfer in self.transfers_of[alert.id]:
                if self.label_of.get(transfer):
                    del self.label_of[transfer]

    def cleared(self, transfer: str) -> bool:
        if transfer in self.label_of:
            return self.label_of[transfer]
        newest = self.alerts()
        states = {newest[each].status for each, its in self.transfers_of.items() if transfer in its}
        return "closed" in states and not states & {"open", "held", "escalated"}

    def expected_points(self) -> int:
        today = (T0 + self.now) // DAY
        newest = {row.id: row for row in self.story.all(TransferRow)}
        return max(
            decayed(row.score or 0, today - row.bank_created_at // DAY)
            for row in newest.values()
            if not self.cleared(row.id)
        )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(planned=st.lists(acts, min_size=3, max_size=25))
def test_given_any_order_of_wires_labels_decisions_and_ticks_then_the_points_are_those_of_all_facts(
    planned: list[tuple[str, int, int]],
) -> None:
    life = Life()
    for act, which, wait in planned:
        life.act(act, which, wait)
        assert points(life.story, life.now) == life.expected_points(), act


def returned_debits(code: str) -> tuple[ShardStory, list[str]]:
    """Twelve debits of two counterparties, of which the last two came back."""
    story = ShardStory(a_program())
    debits = [story.debit(ENTITY, f"cpty_{number % 2}", 5_000, -(20 - number) * DAY) for number in range(12)]
    for debit in debits[-2:]:
        story.return_debit(debit, code, -DAY)
    return story, [debit["id"] for debit in debits[-2:]]


def return_reasons(story: ShardStory, at: int) -> list[str]:
    """The reasons from returns in the scores of the entity and of a counterparty."""
    actor, party = story.program.entity(ENTITY), story.program.counterparties.get("cpty_1")
    assert actor is not None
    assert party is not None
    evaluations = evaluate_actor(story.program, actor, T0 + at), evaluate_counterparty(story.program, party, T0 + at)
    reasons = (reason.id for each in evaluations if each is not None for reason in each.score().reasons)
    return [each for each in reasons if each.startswith(("ERS-RET", "CRS-RET"))]


@pytest.mark.parametrize(
    ("code", "of_both", "of_one"),
    [
        ("R10", ["ERS-RET-02", "CRS-RET-01"], ["ERS-RET-01", "CRS-RET-01"]),
        ("R01", [], []),
        ("R03", ["ERS-RET-04"], []),
    ],
)
def test_given_returned_debits_when_a_person_labels_them_ok_then_the_points_of_their_returns_end(
    code: str, of_both: list[str], of_one: list[str]
) -> None:
    story, (first, second) = returned_debits(code)
    assert return_reasons(story, 0) == of_both

    label(story, first, LabelValue.OK, 1)
    assert return_reasons(story, 1) == of_one
    label(story, second, LabelValue.OK, 2)
    assert return_reasons(story, 2) == []
    story.state = ShardState.loaded(iter(list(story.state.dump())))
    label(story, second, LabelValue.BAD, 3)

    assert len(return_reasons(story, 3)) == len(of_one)
    label(story, first, LabelValue.BAD, 4)
    assert return_reasons(story, 4) == of_both


def test_given_a_debit_labelled_ok_when_it_comes_back_as_unauthorized_later_then_the_return_counts() -> None:
    story = ShardStory(a_program())
    debits = [story.debit(ENTITY, "cpty_1", 5_000, -(20 - number) * DAY) for number in range(12)]
    label(story, debits[-1]["id"], LabelValue.OK, 0)

    story.return_debit(debits[-1], "R10", DAY)

    assert return_reasons(story, DAY) == ["ERS-RET-01", "CRS-RET-01"]


def test_given_a_debit_labelled_ok_when_it_comes_back_for_lack_of_money_later_then_that_gives_no_points() -> None:
    story = ShardStory(a_program())
    debits = [story.debit(ENTITY, "cpty_1", 5_000, -(20 - number) * DAY) for number in range(6)]
    for debit in debits[-2:]:
        label(story, debit["id"], LabelValue.OK, 0)
        story.return_debit(debit, "R01", DAY)
    assert return_reasons(story, DAY) == []

    story.return_debit(debits[0], "R01", DAY)
    story.return_debit(debits[1], "R01", DAY)

    assert return_reasons(story, DAY) == ["ERS-RET-03", "CRS-RET-03"]


def test_given_a_cleared_wire_when_a_rescoring_opens_an_alert_on_it_then_its_points_are_back_with_that_entry() -> None:
    story = usual_story()
    story.wire(ENTITY, "cpty_usual", 10_005, 0, beneficiary_address={"country_code": "DE"})
    wire, vector = story.one(TransferRow).id, story.vector
    decide_all(story, wire, "close", 1)
    assert points(story, 1) == 0

    story.append(EntryKind.BACKFILL, a_rescoring_step(wire, vector, value=90, n=40), at=T0 + 2)

    assert story.last(AlertRow)
    assert points(story, 2) == 90


def test_given_returns_of_cleared_debits_that_changed_then_the_dump_is_the_one_after_a_load() -> None:
    story, (first, second) = returned_debits("R10")
    for at, (debit, value) in enumerate(
        ((first, LabelValue.OK), (second, LabelValue.OK), (first, LabelValue.BAD), (second, LabelValue.BAD))
    ):
        label(story, debit, value, at)
    loaded = ShardState.loaded(iter(list(story.state.dump())))

    label(story, second, LabelValue.OK, 5)
    label(story, first, LabelValue.OK, 6)
    for entry in story.entries[-2:]:
        loaded.apply(entry, lambda _row: None)

    assert list(loaded.dump()) == list(story.state.dump())
