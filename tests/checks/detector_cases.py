"""For each detector the shortest story that opens its alert, and the same story just before it would.

A scenario takes a story and whether the line is to be reached. Alerts of other detectors are not checked.
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from tests.checks.detector_case import ACCOUNT, COUNTERPARTY, HARD, HIGH, LOW, PROGRAM, TRANSFER, DetectorCase, Scenario
from tests.checks.detector_cases_of_programs import (
    CASES_ON_SNAPSHOTS,
    card_testing_of_many,
    debits_over_the_cap,
    decline_mix,
    hold_after_a_decision,
    micro_entries_of_many,
    review_after_a_decision,
    score_of_two_strangers,
)
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory


def structuring(w: ShardStory, *, hit: bool) -> None:
    for place in range(3 if hit else 2):
        w.wire("enti_1", f"cpty_{place}", 290_000, place * HOUR)


def structuring_with_one(w: ShardStory, *, hit: bool) -> None:
    for place, entity in enumerate(("enti_1", "enti_2") * 2 if hit else ("enti_1", "enti_2", "enti_1")):
        w.wire(entity, "cpty_1", 290_000, place * 30 * HOUR)


def amount_spike(w: ShardStory, *, hit: bool) -> None:
    for place in range(10):
        w.wire("enti_1", "cpty_1", 100_00, place * DAY)
    w.wire("enti_1", "cpty_1", 310_00 if hit else 290_00, 10 * DAY)


def repeated_amount(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", "cpty_1", 500_00, place * HOUR)


def round_amount(w: ShardStory, *, hit: bool) -> None:
    for place, cents in enumerate((500_000, 600_000, 700_000 if hit else 710_000)):
        w.wire("enti_1", "cpty_1", cents, place * DAY)


def micro_entries(w: ShardStory, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.ach("enti_1", 50, place * HOUR, type="CREDIT")


def a_usual(w: ShardStory) -> None:
    """Five transfers of others, so that the program has a baseline."""
    for place in range(5):
        w.wire(f"enti_{10 + place}", "cpty_90", 100_00, -(place + 1) * DAY)


def velocity_by_count(w: ShardStory, *, hit: bool) -> None:
    a_usual(w)
    for place in range(5 if hit else 4):
        w.wire("enti_1", "cpty_1", 10_00 + place, place * HOUR)


def velocity_of_an_employer(w: ShardStory, *, hit: bool) -> None:
    for month, wages in enumerate((4, 5, 8 if hit else 7)):
        for place in range(wages):
            w.wire("enti_1", f"cpty_{place}", 1_00, month * 31 * DAY + place * HOUR // 4)


def velocity_by_cents(w: ShardStory, *, hit: bool) -> None:
    for place in range(12):
        w.wire("enti_1", "cpty_1", 3_000_00, place * DAY)
    w.wire("enti_1", "cpty_1", 14_000_00 if hit else 1_000_00, 13 * DAY)


def dormant(w: ShardStory, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 100_00, 0)
    w.wire("enti_1", "cpty_1", 6_000_00, (90 if hit else 89) * DAY)


def dormant_for_a_year(w: ShardStory, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 100_00, 0)
    w.wire("enti_1", "cpty_1", 6_000_00 if hit else 60_00, 365 * DAY)


def fan_in(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"cpty_{place}", "enti_1", 100_00, place * HOUR)


def fan_in_at_counterparty(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"enti_{place}", "cpty_1", 100_00, place * HOUR)


def fan_out(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{place}", 100_00, place * HOUR)


def scatter_gather(w: ShardStory, *, hit: bool) -> None:
    middles = ("enti_1", "enti_2", "enti_3") if hit else ("enti_1", "enti_2")
    w.introduce(*middles)
    for place, middle in enumerate(middles):
        w.wire("enti_9", middle, 1_000_00, place * HOUR)
    for place, middle in enumerate(middles):
        w.wire(middle, "cpty_1", 900_00, (4 + place) * HOUR)


def gather_scatter(w: ShardStory, *, hit: bool) -> None:
    for place in range(5):
        w.wire(f"cpty_{place}", "enti_1", 100_00, place * HOUR)
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{10 + place}", 100_00, (10 + 11 * place) * HOUR)


def rapid_in_out(w: ShardStory, *, hit: bool) -> None:
    w.wire("cpty_1", "enti_1", 5_000_00, 0)
    w.wire("enti_1", "cpty_2", 4_000_00 if hit else 3_990_00, HOUR)


def paid_before_it_came(w: ShardStory, *, hit: bool) -> None:
    first, then = (("cpty_1", "enti_1"), ("enti_1", "cpty_2")) if hit else (("enti_1", "cpty_2"), ("cpty_1", "enti_1"))
    w.wire(*first, 5_000_00, 0)
    w.wire(*then, 4_900_00, HOUR)
    w.wire("enti_1", "cpty_2", 1_00, 2 * HOUR)


def money_of_a_new_payer(w: ShardStory, *, hit: bool) -> None:
    w.wire("cpty_1", "enti_1", 100_00, 0)
    w.wire("enti_1", "cpty_2", 10_00, 0)
    w.wire("cpty_3" if hit else "cpty_1", "enti_1", 5_000_00, 60 * DAY)
    w.wire("enti_1", "cpty_2", 4_900_00, 60 * DAY)


def known_money_to_a_stranger(w: ShardStory, *, hit: bool) -> None:
    w.wire("cpty_1", "enti_1", 100_00, 0)
    w.wire("enti_1", "cpty_2", 10_00, 0)
    w.wire("cpty_1", "enti_1", 5_000_00, 60 * DAY)
    w.wire("enti_1", "cpty_4" if hit else "cpty_2", 4_900_00, 60 * DAY)


def funnel_mule(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"cpty_{place}", "enti_1", 1_000_00, place * HOUR)
    w.wire("enti_1", "cpty_9", 4_900_00 if hit else 3_900_00, 6 * HOUR)


def round_trip(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", "enti_2")
    w.wire("enti_1", "enti_2", 1_000_00, 0)
    w.wire("enti_2", "enti_1", 900_00 if hit else 790_00, HOUR)


def layering(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", "enti_2", "enti_3", "enti_4")
    hops = (("enti_1", "enti_2"), ("enti_2", "enti_3"), ("enti_3", "enti_4"))
    for place, hop in enumerate(hops if hit else hops[:2]):
        w.wire(*hop, 2_000_00 - place * 100_00, place * DAY)


def layering_out_of_the_program(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", "enti_2", "enti_3")
    for place, hop in enumerate((("enti_1", "enti_2"), ("enti_2", "enti_3"), ("enti_3", "cpty_1"))):
        w.wire(*hop, (1_200_00 if hit else 1_040_00) - place * 50_00, place * DAY)


def first_time_large(w: ShardStory, *, hit: bool) -> None:
    a_usual(w)
    w.wire("enti_1", "cpty_1", 2_500_00 if hit else 2_499_99, 0)


def new_counterparties(w: ShardStory, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{place}", 10_00, place * HOUR)


def shared_counterparty(w: ShardStory, *, hit: bool) -> None:
    w.deliver("counterparty.created", bank.a_counterparty())
    for place in range(3 if hit else 2):
        w.wire(f"enti_{place}", "cpty_1", 10_00, place * DAY)


def returned_often(w: ShardStory, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(2)]
    for data in debits if hit else debits[:1]:
        w.return_debit(data, "R01", DAY)
    w.debit("enti_1", "cpty_9", 100_00, 2 * DAY)


def probing(w: ShardStory, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(12)]
    w.return_debit(debits[0], "R03", DAY)
    w.return_debit(debits[1], "R20" if hit else "R01", DAY)
    w.debit("enti_1", "cpty_9", 100_00, 2 * DAY)


def redebit(w: ShardStory, *, hit: bool) -> None:
    w.return_debit(w.debit("enti_1", "cpty_1", 100_00, 0), "R10", DAY)
    w.debit("enti_1", "cpty_1", 100_00, (6 if hit else 7) * DAY)


def unauthorized_entity(w: ShardStory, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(2)]
    w.return_debit(debits[0], "R10", DAY)
    w.return_debit(debits[1], "R07" if hit else "R01", DAY)


def unauthorized_counterparty(w: ShardStory, *, hit: bool) -> None:
    debits = [w.debit(f"enti_{place}", "cpty_1", 100_00, place * HOUR) for place in range(2)]
    w.return_debit(debits[0], "R10", DAY)
    w.return_debit(debits[1], "R29" if hit else "R01", DAY)


def frozen(w: ShardStory, *, hit: bool) -> None:
    w.return_debit(w.debit("enti_1", "cpty_1", 100_00, 0), "R16" if hit else "R01", DAY)


def frozen_and_paid_again(w: ShardStory, *, hit: bool) -> None:
    frozen(w, hit=hit)
    w.wire("enti_2", "cpty_1", 100_00, 20 * DAY)


def ach_float(w: ShardStory, *, hit: bool) -> None:
    w.debit("enti_1", "cpty_1", 1_000_00, 0)
    w.wire("enti_1", "cpty_2", 800_00 if hit else 799_99, HOUR)


def denied(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", verification_status="DENIED" if hit else "MANUAL_REVIEW")
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def unverified(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", verification_status="PENDING")
    w.wire("enti_1", "cpty_1", 500_00, HOUR)
    w.wire("enti_1", "cpty_1", 500_00 if hit else 499_99, 6 * DAY)


def exposed(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", person_details={"pep_status": "yes" if hit else "no"})
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def called_a_fraud_risk(w: ShardStory, *, hit: bool) -> None:
    w.introduce("enti_1", review_reasons=["fraud_risk" if hit else "name_mismatch"])
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def screened_long_ago(w: ShardStory, *, hit: bool) -> None:
    screened_at = bank.rfc3339(T0 - (181 if hit else 180) * DAY)
    w.introduce("enti_1", requires_screening=True, last_screened_at=screened_at)
    w.wire("enti_1", "cpty_1", 10_00, 0)


def abroad(country: str | None) -> Scenario:
    def play(w: ShardStory, *, hit: bool) -> None:
        address = {"country_code": country if hit else "US"}
        data = bank.an_international_wire(beneficiary_address=address, settled_amount=10_00, amount=10_00)
        w.deliver("swift.outgoing_transfer.submitted", data)

    return play


def undeclared_rail(w: ShardStory, *, hit: bool) -> None:
    if hit:
        w.wire("enti_1", "cpty_1", 10_00, 0)
    else:
        w.ach("enti_1", 10_00, 0)


def card_testing(w: ShardStory, *, hit: bool) -> None:
    for place in range(3 if hit else 2):
        w.card("bacc_1", 20_00, place * 60_000_000, "DECLINED", "INVALID_CARD")


CASES: Final[Mapping[str, Mapping[str, DetectorCase]]] = {
    "structuring_pattern": {
        "entity": DetectorCase(structuring, gravity=HIGH),
        "counterparty": DetectorCase(structuring_with_one, (COUNTERPARTY,), HIGH),
    },
    "amount_spike": {"transfer": DetectorCase(amount_spike, (TRANSFER,))},
    "repeated_amount": {"entity": DetectorCase(repeated_amount, gravity=LOW)},
    "round_amount": {"entity": DetectorCase(round_amount, gravity=LOW)},
    "micro_entry_abuse": {
        "entity": DetectorCase(micro_entries),
        "program": DetectorCase(micro_entries_of_many, (PROGRAM,)),
    },
    "velocity_spike": {
        "count": DetectorCase(velocity_by_count),
        "employer": DetectorCase(velocity_of_an_employer),
        "cents": DetectorCase(velocity_by_cents),
    },
    "dormant_reactivation": {"days": DetectorCase(dormant), "a year": DetectorCase(dormant_for_a_year, gravity=HIGH)},
    "fan_in": {"entity": DetectorCase(fan_in), "counterparty": DetectorCase(fan_in_at_counterparty, (COUNTERPARTY,))},
    "fan_out": {"entity": DetectorCase(fan_out)},
    "scatter_gather": {"counterparty": DetectorCase(scatter_gather, (COUNTERPARTY,), HIGH)},
    "gather_scatter": {"entity": DetectorCase(gather_scatter, gravity=HIGH)},
    "rapid_in_out": {
        "share": DetectorCase(rapid_in_out, gravity=HIGH),
        "order": DetectorCase(paid_before_it_came, gravity=HIGH),
        "new money": DetectorCase(money_of_a_new_payer, gravity=HIGH),
        "stranger": DetectorCase(known_money_to_a_stranger, gravity=HIGH),
    },
    "funnel_mule": {"entity": DetectorCase(funnel_mule, gravity=HARD)},
    "round_trip": {"entity": DetectorCase(round_trip, gravity=HIGH)},
    "layering_hops": {
        "inside": DetectorCase(layering, gravity=HIGH),
        "out": DetectorCase(layering_out_of_the_program, gravity=HIGH),
    },
    "first_time_counterparty_large": {"transfer": DetectorCase(first_time_large, (TRANSFER,))},
    "new_counterparty_burst": {"entity": DetectorCase(new_counterparties)},
    "counterparty_shared": {"counterparty": DetectorCase(shared_counterparty, (COUNTERPARTY,), HIGH)},
    "return_code_abuse": {
        "often": DetectorCase(returned_often),
        "probing": DetectorCase(probing),
        "again": DetectorCase(redebit, gravity=HARD),
    },
    "unauthorized_return": {
        "entity": DetectorCase(unauthorized_entity, gravity=HIGH),
        "counterparty": DetectorCase(unauthorized_counterparty, (COUNTERPARTY,), HIGH),
    },
    "sanctions_return": {
        "returned": DetectorCase(frozen, (COUNTERPARTY,), HARD),
        "paid again": DetectorCase(frozen_and_paid_again, (COUNTERPARTY,), HARD),
    },
    "ach_float": {"entity": DetectorCase(ach_float, gravity=HIGH)},
    "kyc_denied_moving": {"entity": DetectorCase(denied, gravity=HARD)},
    "kyc_unverified_moving": {"entity": DetectorCase(unverified)},
    "screening_stale_or_hit": {
        "exposed": DetectorCase(exposed),
        "fraud risk": DetectorCase(called_a_fraud_risk),
        "cadence": DetectorCase(screened_long_ago),
    },
    "high_risk_geography": {
        "call": DetectorCase(abroad("MM"), (TRANSFER,), HARD),
        "sanctions": DetectorCase(abroad("CU"), (TRANSFER,), HARD),
        "both": DetectorCase(abroad("IR"), (TRANSFER,), HARD),
        "both, in three letters": DetectorCase(abroad("IRN"), (TRANSFER,), HARD),
        "monitored": DetectorCase(abroad("VE"), (TRANSFER,), LOW),
    },
    "country_unknown": {
        "no country has this code": DetectorCase(abroad("ZZ"), (TRANSFER,)),
        "a name": DetectorCase(abroad("Persia"), (TRANSFER,)),
        "none": DetectorCase(abroad(None), (TRANSFER,)),
    },
    "country_outside_declared": {"country": DetectorCase(abroad("DE"), (TRANSFER, PROGRAM))},
    "rail_outside_declared": {
        "rail": DetectorCase(undeclared_rail, (TRANSFER, PROGRAM), declared={"declared_rails": ("ach",)})
    },
    "card_testing": {
        "account": DetectorCase(card_testing, (ACCOUNT,), HIGH),
        "program": DetectorCase(card_testing_of_many, (PROGRAM,), HARD),
    },
    "card_decline_mix": {"program": DetectorCase(decline_mix, (PROGRAM,))},
    **CASES_ON_SNAPSHOTS,
    "program_limit_breach": {"cap": DetectorCase(debits_over_the_cap, (PROGRAM,), HARD)},
    "band_review": {
        "signals": DetectorCase(score_of_two_strangers, (TRANSFER,), LOW),
        "decided": DetectorCase(review_after_a_decision, (TRANSFER,), ("low", True)),
    },
    "band_hold": {"decided": DetectorCase(hold_after_a_decision, (TRANSFER,), HARD)},
}
