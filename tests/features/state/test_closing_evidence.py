"""The evidence on closed alerts, held against counts made anew over everything that was ever recorded."""

from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.actions import DetectorTally
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.state.closing_evidence import ClosingEvidence

DETECTORS = ("amount_spike", "round_amount")
BAD, OK = LabelValue.BAD, LabelValue.OK


class Step(NamedTuple):
    """What is done, so many days after the step before."""

    what: str
    alert: int
    row: int
    flag: bool
    days: int


class Everything:
    """All that was recorded, and no counts."""

    def __init__(self) -> None:
        self.now = 0
        self.alerts: dict[int, bool] = {}  # whether the policy closed it
        self.transfers: dict[int, set[int]] = {}
        self.reviews: dict[int, tuple[int, bool]] = {}
        self.labels: dict[int, LabelValue] = {}

    def tally(self, detector: str) -> DetectorTally:
        alerts = [alert for alert in self.alerts if detector_of(alert) == detector]
        states = [self.state(alert) for alert in alerts]
        reviews = [self.reviews[alert] for alert in alerts if alert in self.reviews]
        recent = [overturned for at, overturned in reviews if self.now - 30 * DAY_US < at <= self.now]
        return DetectorTally(
            alerts=len(alerts),
            labelled=len(states) - states.count(None),
            bad=states.count(BAD),
            reviewed=len(reviews),
            overturned=sum(overturned for _, overturned in reviews),
            recent_reviewed=len(recent),
            recent_overturned=sum(recent),
        )

    def state(self, alert: int) -> LabelValue | None:
        labels = {row: self.labels[row] for row in self.transfers[alert] if row in self.labels}
        if BAD in labels.values():
            return BAD
        return OK if any(self.now >= created_at(row) + 60 * DAY_US for row in labels) else None

    def closed_and_bad(self) -> set[int]:
        return {alert for alert, closed in self.alerts.items() if closed and self.state(alert) is BAD}


def detector_of(alert: int) -> str:
    return DETECTORS[alert % 2]


def created_at(row: int) -> int:
    return row * DAY_US


def reloaded(evidence: ClosingEvidence) -> ClosingEvidence:
    loaded = ClosingEvidence()
    for part in evidence.dump():
        loaded.load(msgspec.msgpack.decode(msgspec.msgpack.encode(part)))
    return loaded


def take(step: Step, evidence: ClosingEvidence, everything: Everything) -> None:
    everything.now += step.days * DAY_US
    now, alert, row = everything.now, step.alert, step.row
    evidence.pass_time(now)
    if step.what == "alert" and alert not in everything.alerts:
        everything.alerts[alert] = step.flag
        everything.transfers[alert] = {row}
        evidence.add_alert(str(alert), detector_of(alert), closed_by_policy=step.flag)
        evidence.add_transfer(str(alert), row)
    elif step.what == "join":
        everything.transfers.get(alert, set()).add(row)
        evidence.add_transfer(str(alert), row)
    elif step.what == "review":
        if alert in everything.alerts:
            everything.reviews.setdefault(alert, (now, step.flag))
        evidence.review(str(alert), now, overturned=step.flag)
    elif step.what == "label":
        label = BAD if step.flag else OK
        everything.labels[row] = label
        evidence.set_label(row, label, transfer_at=created_at(row), now=now)


STEPS = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(["alert", "alert", "join", "review", "label", "label", "reload"]),
        alert=st.integers(0, 7),
        row=st.integers(0, 9),
        flag=st.booleans(),
        days=st.sampled_from([0, 0, 1, 5, 30]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_given_any_course_then_the_running_counts_are_those_of_counting_everything_anew(steps: list[Step]) -> None:
    evidence, everything = ClosingEvidence(), Everything()
    known_bad: set[int] = set()
    for step in steps:
        take(step, evidence, everything)
        if step.what == "reload":
            evidence = reloaded(evidence)
        assert {name: evidence.tallies.get(name, DetectorTally()) for name in DETECTORS} == {
            name: everything.tally(name) for name in DETECTORS
        }
        turned_bad = everything.closed_and_bad() - known_bad
        known_bad = everything.closed_and_bad()
        assert evidence.take_turned_bad() == {detector_of(alert) for alert in turned_bad}


def an_alert(**over: Any) -> ClosingEvidence:
    evidence = ClosingEvidence()
    evidence.add_alert("alr_1", "amount_spike", **{"closed_by_policy": True} | over)
    evidence.add_transfer("alr_1", 0)
    return evidence


def test_given_a_label_ok_then_it_counts_from_60_days_after_the_transfer_and_a_bad_one_at_once() -> None:
    evidence = an_alert()
    tally = evidence.tallies["amount_spike"]

    evidence.set_label(0, OK, transfer_at=0, now=DAY_US)
    evidence.pass_time(60 * DAY_US - 1)
    assert tally.labelled == 0
    evidence.pass_time(60 * DAY_US)
    assert (tally.labelled, tally.bad) == (1, 0)
    evidence.set_label(0, OK, transfer_at=0, now=60 * DAY_US)
    assert (tally.labelled, tally.bad) == (1, 0)
    evidence.set_label(0, BAD, transfer_at=0, now=61 * DAY_US)
    assert (tally.labelled, tally.bad) == (1, 1)
    assert evidence.take_turned_bad() == {"amount_spike"}


def test_given_a_label_ok_on_a_transfer_of_60_days_ago_then_it_counts_at_once() -> None:
    evidence = an_alert()

    evidence.set_label(0, OK, transfer_at=0, now=60 * DAY_US)

    assert evidence.tallies["amount_spike"].labelled == 1


def test_given_a_review_then_it_is_recent_for_30_days() -> None:
    evidence = an_alert()
    tally = evidence.tallies["amount_spike"]

    evidence.review("alr_1", DAY_US, overturned=True)
    evidence.pass_time(31 * DAY_US - 1)
    assert (tally.recent_reviewed, tally.recent_overturned) == (1, 1)
    evidence.pass_time(31 * DAY_US)
    assert (tally.recent_reviewed, tally.recent_overturned) == (0, 0)
    assert (tally.reviewed, tally.overturned) == (1, 1)
