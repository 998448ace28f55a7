"""The signals of shares, by hand. The sentence gives the value, the usual value and the share of transfers."""

from typing import Any, Final

import pytest

from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.scorers.trs_v1 import shares
from tests.support.builders import a_vector

DAY: Final = {
    "velocity_24h_sum_cents": 90_00,
    "velocity_24h_count": 3,
    "velocity_count_1h": 2,
    "velocity_count_6h": 3,
    "repeated_amount_count_24h": 3,
    "entity_sum_cents_30d": 900_00,
    "entity_count_30d": 15,
    "entity_usual_hour_percent": 5,
    "entity_p90_cents_90d": 20_00,
    "program_median_cents": 40_00,
}
WEEKS: Final = {
    "payer_new_payees_30d": 1,
    "payee_new_payers_7d": 2,
    "payee_new_payers_30d": 3,
    "payee_new_payers_over_usual_percent": 1_200,
    "payer_new_payers_30d": 1,
    "payer_new_payers_over_usual_percent": 50,
}
MONEY: Final = {
    "quick_hops_2h": 1,
    "payer_last_receipt_cents": 101_00,
    "payer_last_receipt_hours": 1,
    "payer_received_cents_30d": 1_000_00,
    "payer_sent_cents_30d": 950_00,
    "first_chain_hops_14d": 2,
    "first_middles_30d": 3,
    "entity_in_cents_48h": 102_00,
}
USUAL_DAY: Final = "a usual day has 0.5 (n = 15)"
MEDIAN: Final = "USD 100.00, and the program's median is USD 40.00"
FIRST: Final = "First payment between the two parties"
TOLD: Final = {
    "day_over_usual": "USD 90.00 in 24 hours, where USD 30.00 a day is usual",
    "first_in_busy_day": f"{FIRST}: USD 90.00 in 24 hours, where USD 30.00 a day is usual",
    "amount_in_busy_day": f"{MEDIAN}; 3 transfers in 24 hours, and {USUAL_DAY}",
    "count_over_usual": f"3 transfers in 24 hours, and {USUAL_DAY}",
    "busy_hour": f"2 transfers within 1 hour, and {USUAL_DAY}",
    "busy_six_hours": f"3 transfers in 6 hours, and {USUAL_DAY}",
    "amount_repeated_in_a_day": "3 transfers in 24 hours within 10 % of USD 100.00",
    "odd_hour_over_own": (
        "USD 100.00 at an hour that has 5 % of this entity's recent transfers, of which 90 % are at most USD 20.00"
    ),
    "first_amount": f"{FIRST}: {MEDIAN}",
    "quiet_pair": f"{FIRST}: the payer met 1 new payee in 30 days and the payee 3 new payers",
    "quiet_pair_amount": f"{FIRST}, neither with over 3 new ones in 30 days: {MEDIAN}",
    "payee_new_payers": f"{FIRST}: the payee met 2 new payers in 7 days",
    "payee_new_payers_over_usual": f"{FIRST}: the payee met 3 new payers in 30 days, 1,200 % of one more than usual",
    "first_after_first": f"{FIRST}: the payer met 1 new payer in 30 days",
    "payer_new_payers_over_usual": f"{FIRST}: the payer met 1 new payer in 30 days, 50 % of one more than usual",
    "first_of_middles": f"{FIRST}: one party paid 3 payers of the payee in 30 days",
    "hops_in_hours": "The payer received money over 1 hop, each within 2 hours of the next",
    "like_last_receipt": "USD 100.00, and the payer received USD 101.00 1 hour before",
    "received_and_drained": f"{FIRST}: USD 100.00, and USD 102.00 came in within 48 hours before",
    "received_and_sent": f"{FIRST}: USD 950.00 sent in 30 days of USD 1,000.00 received",
    "chain_of_first_payments": f"{FIRST}, after 2 first payments in a row before it",
}
COLUMNS: Final = {
    "day_over_usual": "day_cents_over_usual",
    "first_in_busy_day": "first_day_cents",
    "amount_in_busy_day": "day_amount_over_usual",
    "count_over_usual": "day_count_over_usual",
    "busy_hour": "velocity_1h",
    "busy_six_hours": "velocity_6h",
    "amount_repeated_in_a_day": "repeated_amount",
    "odd_hour_over_own": "odd_hour_amount",
    "first_amount": "first_amount",
    "quiet_pair": "quiet_pair",
    "quiet_pair_amount": "quiet_amount",
    "payee_new_payers": "first_payee_new_payers",
    "payee_new_payers_over_usual": "first_payee_over_usual",
    "first_after_first": "first_payer_new_payers",
    "payer_new_payers_over_usual": "first_payer_over_usual",
    "first_of_middles": "first_middles",
    "hops_in_hours": "quick_hops",
    "like_last_receipt": "last_receipt",
    "received_and_drained": "first_drained",
    "received_and_sent": "first_sent",
    "chain_of_first_payments": "first_chain",
}


@pytest.mark.parametrize("signal", shares.SIGNALS, ids=lambda signal: signal.name)
def test_given_a_share_then_the_reason_says_what_is_reached_what_is_usual_and_how_rare_it_is(signal: Any) -> None:
    share = {f"{COLUMNS[signal.name]}_permille": 3, "rarest_permille": 3}
    vector = a_vector(**DAY | WEEKS | MONEY | share)

    reason = signal.reason(vector, 3, 24)

    assert signal.measure(vector) == 3
    assert reason.sentence == f"{TOLD[signal.name]}; 3 of 1,000 of the program's transfers do as much."
    assert reason.detail == "of 1,000 of the program's transfers do as much: 3"


@pytest.mark.parametrize("signal", shares.SIGNALS, ids=lambda signal: signal.name)
@pytest.mark.parametrize(("share", "measured"), [(0, 0), (60, 60), (61, None), (1_000, None), (None, None)])
def test_given_what_more_than_60_of_1_000_do_then_it_is_common_and_not_measured(
    signal: Any, share: int | None, measured: int | None
) -> None:
    assert signal.measure(a_vector(**{f"{COLUMNS[signal.name]}_permille": share})) == measured


def test_given_the_signals_of_shares_then_each_share_of_the_vector_has_one() -> None:
    fields = {name for name in type(a_vector()).__struct_fields__ if name.endswith("_permille")}

    assert {f"{column}_permille" for column in COLUMNS.values()} == fields - {"rarest_permille"}


@pytest.mark.parametrize("signal", shares.SIGNALS, ids=lambda signal: signal.name)
def test_given_the_default_card_then_what_is_rarer_never_has_fewer_points_and_what_is_common_has_none(
    signal: Any,
) -> None:
    def points(share: int) -> int:
        rare = {f"{COLUMNS[signal.name]}_permille": share, "rarest_permille": share, "common_signals": ""}
        over = rare | {"pair_first_time": True}
        reasons = trs_v1.DEFAULT.score(a_vector(**DAY | WEEKS | MONEY | over), degraded=False).reasons
        return sum(reason.weight for reason in reasons if reason.id == signal.id)

    by_share = [points(share) for share in (0, 3, 4, 10, 11, 30, 31, 60, 61, 100)]

    assert by_share == sorted(by_share, reverse=True)
    assert by_share[-2:] == [0, 0]
    assert (by_share[0] > 0) == (signal.id in {each.id for each in trs_v1.DEFAULT_CARD.signals})
