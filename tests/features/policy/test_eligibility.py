"""The bound on the share of bad alerts, exactly, and each rule at its edge."""

from decimal import Decimal
from fractions import Fraction
from math import comb

import pytest

from clearhold.features.core.entries.actions import DetectorTally
from clearhold.features.policy.autonomy import (
    MOST_BAD,
    Objection,
    bad_rate_bound,
    is_overturned_recently,
    objections,
)
from clearhold.features.policy.seeds import POLICY_V1

CANDIDATE = "country_outside_declared"


def a_tally(**over: int) -> DetectorTally:
    """Evidence that just holds."""
    return DetectorTally(**{"alerts": 200, "labelled": 149, "bad": 0, "reviewed": 50, "overturned": 1} | over)


def chance_of_as_few(bad: int, labelled: int, share: Fraction) -> Fraction:
    return sum(
        (comb(labelled, each) * share**each * (1 - share) ** (labelled - each) for each in range(bad + 1)),
        start=Fraction(0),
    )


@pytest.mark.parametrize("bad", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("labelled", [1, 20, 148, 149, 150, 235, 236, 313])
def test_given_counts_then_the_bound_is_the_first_step_at_or_above_the_exact_one(bad: int, labelled: int) -> None:
    if bad > labelled:
        return
    bound = bad_rate_bound(bad, labelled)

    assert bound is not None
    share, step = Fraction(bound), Fraction(1, 10_000)
    assert chance_of_as_few(bad, labelled, share) <= Fraction(1, 20) or share == 1
    assert chance_of_as_few(bad, labelled, share - step) > Fraction(1, 20)


def test_given_many_labels_then_the_bound_stays_close_to_the_share() -> None:
    assert bad_rate_bound(2_000, 1_000_000) == Decimal("0.0021")
    assert bad_rate_bound(90_000, 90_000) == 1


@pytest.mark.parametrize(
    ("tally", "standing"),
    [
        (a_tally(), set()),
        (a_tally(labelled=150), set()),
        (a_tally(labelled=148), {Objection.BAD_RATE_BOUND}),
        (a_tally(labelled=0), {Objection.BAD_RATE_BOUND}),
        (a_tally(labelled=236, bad=1), set()),
        (a_tally(labelled=235, bad=1), {Objection.BAD_RATE_BOUND}),
        (a_tally(reviewed=49, overturned=0), {Objection.REVIEWED_TOO_FEW}),
        (a_tally(reviewed=50, overturned=2), {Objection.OVERTURN_RATE}),
        (a_tally(reviewed=100, overturned=2), set()),
        (a_tally(reviewed=101, overturned=3), {Objection.OVERTURN_RATE}),
        (a_tally(reviewed=200, overturned=4, recent_reviewed=20, recent_overturned=1), set()),
        (
            a_tally(reviewed=200, overturned=4, recent_reviewed=20, recent_overturned=2),
            {Objection.OVERTURNED_RECENTLY},
        ),
    ],
)
def test_given_evidence_at_an_edge_then_what_stands_against_the_detector_is_named(
    tally: DetectorTally, standing: set[Objection]
) -> None:
    assert set(objections(CANDIDATE, tally, POLICY_V1)) == standing
    assert set(objections("structuring_pattern", tally, POLICY_V1)) == standing | {Objection.ALWAYS_REVIEWED}


@pytest.mark.parametrize(
    ("overturned", "reviewed", "expected"),
    [(1, 20, False), (2, 20, True), (19, 19, False), (5, 100, False), (6, 100, True), (0, 0, False)],
)
def test_given_reviews_of_30_days_then_more_than_one_in_twenty_of_twenty_withdraws(
    overturned: int, reviewed: int, *, expected: bool
) -> None:
    tally = a_tally(recent_reviewed=reviewed, recent_overturned=overturned)

    assert is_overturned_recently(tally) is expected


def test_given_the_bound_of_150_and_of_148_good_alerts_then_only_the_first_is_at_most_two_percent() -> None:
    of_150, of_148 = bad_rate_bound(0, 150), bad_rate_bound(0, 148)

    assert of_150 is not None
    assert of_148 is not None
    assert of_150 <= MOST_BAD < of_148
