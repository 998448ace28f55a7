"""A quarter of two programs with the same transfers and other labels, against a naive reading of all rows.

The oracle keeps no sums: at each instant it goes through every alert, label and decision of the program anew, and it
knows the rules from ``risk-domain.md`` section 7 alone.
"""

import random
from fractions import Fraction
from functools import cache
from math import comb
from typing import NamedTuple

import msgspec

from clearhold.features.core.instants import DAYS_7, DAYS_30, DAYS_60
from clearhold.features.core.rows.alerts import ActionRow, AlertRow, DispositionRow, LabelRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.policy.seeds import POLICY_V1
from clearhold.features.shard.shard import ShardState
from tests.support.alert_rows import evidence_of
from tests.support.autonomy import CANDIDATE, LISTED, AutonomyStory
from tests.support.clock import T0

TIERS = ("supervised", "standard", "trusted")
NEVER = frozenset(POLICY_V1.always_reviewed)
LISTED_ONES = set(POLICY_V1.auto_closable_detectors)
WAIT_FOR_LABEL = 40  # alerts
REVIEWED = 0.6


class Evidence(NamedTuple):
    labelled: int
    bad: int
    reviewed: int
    overturned: int
    recent: tuple[bool, ...]  # of each review of 30 days, whether it overturned


class Facts:
    """Everything that the rows of a program say, read anew."""

    def __init__(self, rows: list[msgspec.Struct]) -> None:
        self.opened: dict[str, AlertRow] = {}  # as each alert opened
        self.labels: dict[str, str] = {}  # the newest of each transfer
        self.created: dict[str, int] = {}
        self.reviews: dict[str, tuple[int, bool]] = {}  # when a person first decided, and whether not to close
        for row in rows:
            match row:
                case AlertRow():
                    self.opened.setdefault(row.id, row)
                case LabelRow():
                    self.labels[row.transfer_id] = row.label
                case TransferRow():
                    self.created[row.id] = row.bank_created_at
                case DispositionRow() if row.decided_by.startswith("operator:"):
                    self.reviews.setdefault(row.alert_id, (row.created_at, row.decision in {"hold", "escalate"}))
                case _:
                    pass

    def candidates(self, detector: str) -> list[AlertRow]:
        """The alerts that the policy closed, and those that the list or the tier alone kept from it."""
        return [alert for alert in self.opened.values() if alert.detector == detector and could_be_closed(alert)]

    def outcome(self, alert: AlertRow, now: int) -> str | None:
        label = self.labels.get(alert.transfer_id or "")
        return label if label == "bad" or now >= self.created[alert.transfer_id or ""] + DAYS_60 else None

    def evidence(self, detector: str, now: int) -> Evidence:
        alerts = self.candidates(detector)
        outcomes = [self.outcome(alert, now) for alert in alerts]
        reviewed = [self.reviews[alert.id] for alert in alerts if alert.id in self.reviews]
        return Evidence(
            labelled=sum(outcome is not None for outcome in outcomes),
            bad=outcomes.count("bad"),
            reviewed=len(reviewed),
            overturned=sum(overturned for _, overturned in reviewed),
            recent=tuple(overturned for at, overturned in reviewed if now - DAYS_30 < at <= now),
        )

    def closed_and_bad(self, detector: str) -> set[str]:
        return {
            alert.id
            for alert in self.candidates(detector)
            if alert.status == "auto_closed" and self.labels.get(alert.transfer_id or "") == "bad"
        }


class NaiveAutonomy:
    """What the tier of one program should be."""

    def __init__(self) -> None:
        self.tier, self.granted, self.withdrawn = "standard", set[str](), set[str]()
        self.widened_at: int | None = None
        self.turned_bad: set[str] = set()  # alerts
        self.versions = 0

    def closable(self) -> set[str]:
        return set() if self.tier == "supervised" else self.closable_but_for_tier()

    def closable_but_for_tier(self) -> set[str]:
        return (LISTED_ONES - self.withdrawn) | self.granted

    def on_tick(self, facts: Facts, now: int) -> set[str]:
        """The detectors that are withdrawn."""
        lost = set()
        for detector in (CANDIDATE, LISTED):
            bad = facts.closed_and_bad(detector)
            if bad - self.turned_bad or is_overturned(facts.evidence(detector, now).recent):
                lost |= {detector} & self.closable_but_for_tier()
            self.turned_bad |= bad
        if lost:
            self.versions += 1
            self.withdrawn |= lost
            self.granted -= lost
            self.tier = "standard" if self.tier == "trusted" and not self.granted else self.tier
            self.tier = self.tier if self.closable_but_for_tier() else "supervised"
        return lost

    def on_request(self, tier: str, facts: Facts, now: int) -> str:
        """The result of a request that is approved at once when it widens."""
        if TIERS.index(tier) < TIERS.index(self.tier):
            self.versions += 1
            self.tier, self.granted = tier, set()
            return "made"
        eligible = {name for name in (CANDIDATE, LISTED) if is_eligible(facts.evidence(name, now))}
        allowed = self.closable_but_for_tier() | eligible
        granted = allowed - LISTED_ONES if tier == "trusted" else set()
        after = set() if tier == "supervised" else (allowed & LISTED_ONES) | granted
        if not after - self.closable() or (tier == "trusted" and not granted):
            return "unchanged" if tier == self.tier else "not_eligible"
        if self.widened_at is not None and now < self.widened_at + DAYS_7:
            return "too_early"
        self.versions += 1
        self.tier, self.granted, self.withdrawn = tier, granted, (LISTED_ONES | self.withdrawn) - allowed
        self.widened_at = now
        return "made"


@cache
def could_be_closed(alert: AlertRow) -> bool:
    evidence = evidence_of(alert)
    return (
        not alert.hard_signal
        and alert.band_at_alert == "clear"
        and not evidence["degraded"]
        and (evidence["programN"] or 0) >= POLICY_V1.min_program_n
        and alert.detector not in NEVER
    )


@cache
def chance(bad: int, labelled: int) -> Fraction:
    """Of seeing as few bad ones, were two percent bad."""
    share = Fraction(2, 100)
    return sum(
        (comb(labelled, each) * share**each * (1 - share) ** (labelled - each) for each in range(bad + 1)),
        start=Fraction(0),
    )


def is_overturned(recent: tuple[bool, ...]) -> bool:
    return len(recent) >= 20 and Fraction(sum(recent), len(recent)) > Fraction(5, 100)


def is_eligible(evidence: Evidence) -> bool:
    return (
        evidence.labelled > 0
        and chance(evidence.bad, evidence.labelled) <= Fraction(1, 20)
        and evidence.reviewed >= 50
        and Fraction(evidence.overturned, evidence.reviewed) <= Fraction(2, 100)
        and not is_overturned(evidence.recent)
    )


class Quarter:
    """One program beside its oracle; after each tick and each request the two are compared."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.bad_share = self.overturned_share = 0.0
        self.story, self.naive = AutonomyStory(), NaiveAutonomy()
        self.unlabelled: list[AlertRow] = []
        self.results: list[str] = []
        self.notes: list[str] = []

    def run(self, weeks: int, tiers: str, *, bad: float, overturned: float) -> "Quarter":
        """Weeks in which so large shares of the alerts turn out bad and are overturned; requested are these tiers."""
        self.bad_share, self.overturned_share = bad, overturned
        for week in range(weeks):
            alerts = self.story.open_alerts(12, CANDIDATE) + self.story.open_alerts(3, LISTED)
            self.review([alert for alert in alerts if could_be_closed(alert) and self.random.random() < REVIEWED])
            self.unlabelled += alerts
            self.request(self.random.choice(tiers.split()))
            self.label(self.unlabelled[:-WAIT_FOR_LABEL])
            self.unlabelled = self.unlabelled[-WAIT_FOR_LABEL:]
            self.tick()
            self.request(self.random.choice(tiers.split()))
            if week % 4 == 0:
                self.story = self.story.copied()
        return self

    def review(self, alerts: list[AlertRow]) -> None:
        for alert in alerts:
            self.story.review([alert], "escalate" if self.random.random() < self.overturned_share else "close")

    def label(self, alerts: list[AlertRow]) -> None:
        for alert in alerts:
            self.story.label([alert], "bad" if self.random.random() < self.bad_share else "ok")

    def tick(self) -> None:
        rows = self.story.tick(self.story.now)
        lost = self.naive.on_tick(Facts(self.story.story.rows), T0 + self.story.now)
        assert sum(isinstance(row, ActionRow) for row in rows) == bool(lost)
        if lost:
            self.notes.append(self.story.autonomy.history[0].body.note)
        self.compare()

    def request(self, tier: str) -> None:
        expected = self.naive.on_request(tier, Facts(self.story.story.rows), T0 + self.story.now)
        action_id, result = self.story.request(tier)
        assert result == expected
        if result == "made" and self.story.story.one(ActionRow).status == "requested":
            assert self.story.approve(action_id).status == "executed"
        self.results.append(result)
        self.compare()

    def compare(self) -> None:
        autonomy, naive, facts = self.story.autonomy, self.naive, Facts(self.story.story.rows)
        assert (autonomy.tier, set(autonomy.granted)) == (naive.tier, naive.granted)
        assert set(autonomy.effective.auto_closable_detectors) == naive.closable()
        assert len(autonomy.history) == naive.versions
        for detector in (CANDIDATE, LISTED):
            shown, evidence = self.story.evidence(detector), facts.evidence(detector, T0 + self.story.now)
            assert (shown.labelled, shown.bad) == (evidence.labelled, evidence.bad)
            assert (shown.reviewed, shown.overturned) == (evidence.reviewed, evidence.overturned)
            assert shown.recently_reviewed == len(evidence.recent)
            assert shown.eligible is is_eligible(evidence)


def replayed(quarter: Quarter) -> tuple[list[msgspec.Struct], ShardState]:
    """All rows of the program's log, applied anew, and the state that it ends in."""
    rows: list[msgspec.Struct] = []
    state = ShardState(0)
    for entry in quarter.story.story.entries:
        state.apply(entry, rows.append)
    return rows, state


def test_given_quarters_of_two_programs_then_tiers_widen_and_narrow_exactly_when_the_rules_say() -> None:
    good, worse = Quarter(4), Quarter(3)

    good.run(22, "trusted", bad=0, overturned=0)
    worse.run(22, "trusted", bad=0.05, overturned=0.01)
    assert CANDIDATE in good.naive.closable()
    assert LISTED in good.naive.closable()
    assert not {CANDIDATE, LISTED} & worse.naive.closable()
    assert worse.notes == [f"{LISTED} is withdrawn: an alert that the policy had closed turned bad."]

    good.run(8, "trusted standard", bad=0, overturned=0)
    assert {"made", "not_eligible", "too_early", "unchanged"} == set(good.results)
    good.run(3, "trusted", bad=0, overturned=0.2)
    assert [note.partition(": persons")[0] for note in good.notes] == [f"{CANDIDATE} is withdrawn"]
    worse.run(6, "trusted supervised", bad=0, overturned=0)
    assert worse.naive.tier == "supervised"


def test_given_a_granted_detector_when_what_it_closed_turns_bad_then_it_is_withdrawn_and_a_replay_says_so_too() -> None:
    quarter = Quarter(3).run(22, "trusted", bad=0, overturned=0)
    quarter.run(8, "trusted", bad=0.05, overturned=0)

    assert f"{CANDIDATE} is withdrawn: an alert that the policy had closed turned bad." in quarter.notes
    rows, state = replayed(quarter)
    assert rows == quarter.story.story.rows
    assert list(state.dump()) == list(quarter.story.story.state.dump())
