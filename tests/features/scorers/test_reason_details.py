"""The detail of a reason is the measure that its points rest on; a check has none."""

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import Reason
from clearhold.features.scorers.signal import Signal
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.holds import HeldStory
from tests.support.stories import ShardStory


def details_of(reasons: tuple[Reason, ...]) -> dict[str, str | None]:
    return {reason.signal: reason.detail for reason in reasons}


def test_given_a_large_first_payment_then_its_reasons_name_their_percentages_and_the_check_names_none() -> None:
    story = HeldStory()
    story.wire()

    details = details_of(msgspec.json.decode(story.story.scoring.reasons, type=tuple[Reason, ...]))

    assert details["amount_spike"] == "percent of the usual amount: 340"
    assert details["new_pair_over_program"] == "percent of the program's median: 339"
    assert details["kyc_denied_moving"] is None
    assert details["first_time_counterparty"] is None


@pytest.mark.parametrize("count", [2, 3])
def test_given_unauthorized_returns_then_their_reason_names_the_count(count: int) -> None:
    story = ShardStory().introduce("enti_1")
    for number in range(count):
        data = story.debit("enti_1", f"cpty_{number}", 100_00, number * DAY_US)
        story.return_debit(data, "R10", (number + 1) * DAY_US)
    story.debit("enti_1", "cpty_9", 100_00, 9 * DAY_US)

    fired = trs_v1.DEFAULT.fired(story.vector)

    assert details_of(tuple(fired))["unauthorized_return"] == f"returns in 60 days: {count}"


@pytest.mark.parametrize(
    ("unit", "worked_out", "detail"), [("hops", False, "hops: 3"), ("", False, None), ("points", True, None)]
)
def test_given_a_signal_then_its_reason_has_a_detail_when_it_measures_more_than_its_points(
    unit: str, *, worked_out: bool, detail: str | None
) -> None:
    signal = Signal[int]("XRS-X-1", "x", "X.", lambda value: value, source="own", unit=unit, worked_out=worked_out)

    assert signal.reason(3, 3, 10).detail == detail
