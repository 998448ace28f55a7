"""For each detector the shortest story that opens its alert, and the same story just before it would.

A story takes a watcher and whether it is to go all the way. What it opens beside its own detector is not looked at.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from features.core.vocabulary import SubjectType
from tests.features.watched import DAY, HOUR, Watched
from tests.support import bank_events as bank

ENTITY, COUNTERPARTY = SubjectType.ENTITY.value, SubjectType.COUNTERPARTY.value
TRANSFER, PROGRAM, ACCOUNT = SubjectType.TRANSFER.value, SubjectType.PROGRAM.value, SubjectType.ACCOUNT.value


class Tell(Protocol):
    def __call__(self, w: Watched, *, hit: bool) -> None: ...


class Story(NamedTuple):
    """``subjects`` are whom its alerts are about, in the order in which they open."""

    tell: Tell
    subjects: tuple[str, ...] = (ENTITY,)
    gravity: tuple[str, bool] = ("medium", False)
    declared: Mapping[str, Any] = {}


def structuring(w: Watched, *, hit: bool) -> None:
    for place in range(3 if hit else 2):
        w.wire("enti_1", f"cpty_{place}", 290_000, place * HOUR)


def structuring_with_one(w: Watched, *, hit: bool) -> None:
    for place, entity in enumerate(("enti_1", "enti_2", "enti_3", "enti_3") if hit else ("enti_1", "enti_2") * 2):
        w.wire(entity, "cpty_1", 290_000, place * 30 * HOUR)


def amount_spike(w: Watched, *, hit: bool) -> None:
    for place in range(10):
        w.wire("enti_1", "cpty_1", 100_00, place * DAY)
    w.wire("enti_1", "cpty_1", 310_00 if hit else 290_00, 10 * DAY)


def repeated_amount(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", "cpty_1", 500_00, place * HOUR)


def round_amount(w: Watched, *, hit: bool) -> None:
    for place, cents in enumerate((500_000, 600_000, 700_000 if hit else 710_000)):
        w.wire("enti_1", "cpty_1", cents, place * DAY)


def micro_entries(w: Watched, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.ach("enti_1", 50, place * HOUR, type="CREDIT")


def micro_entries_of_many(w: Watched, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.ach(f"enti_{place}", 50, place * HOUR, type="CREDIT")


def velocity_by_count(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", "cpty_1", 10_00 + place, place * HOUR)


def velocity_of_an_employer(w: Watched, *, hit: bool) -> None:
    for month, wages in enumerate((4, 5, 8 if hit else 7)):
        for place in range(wages):
            w.wire("enti_1", f"cpty_{place}", 1_00, month * 31 * DAY + place * HOUR // 4)


def velocity_by_cents(w: Watched, *, hit: bool) -> None:
    for place in range(12):
        w.wire("enti_1", "cpty_1", 3_000_00, place * DAY)
    w.wire("enti_1", "cpty_1", 14_000_00 if hit else 1_000_00, 13 * DAY)


def dormant(w: Watched, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 100_00, 0)
    w.wire("enti_1", "cpty_1", 6_000_00, (90 if hit else 89) * DAY)


def dormant_for_a_year(w: Watched, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 100_00, 0)
    w.wire("enti_1", "cpty_1", 6_000_00 if hit else 60_00, 365 * DAY)


def fan_in(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"cpty_{place}", "enti_1", 100_00, place * HOUR)


def fan_in_at_counterparty(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"enti_{place}", "cpty_1", 100_00, place * HOUR)


def fan_out(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{place}", 100_00, place * HOUR)


def scatter_gather(w: Watched, *, hit: bool) -> None:
    middles = ("enti_1", "enti_2", "enti_3") if hit else ("enti_1", "enti_2")
    w.know(*middles)
    for place, middle in enumerate(middles):
        w.wire("enti_9", middle, 1_000_00, place * HOUR)
    for place, middle in enumerate(middles):
        w.wire(middle, "cpty_1", 900_00, (4 + place) * HOUR)


def gather_scatter(w: Watched, *, hit: bool) -> None:
    for place in range(5):
        w.wire(f"cpty_{place}", "enti_1", 100_00, place * HOUR)
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{10 + place}", 100_00, (10 + 11 * place) * HOUR)


def rapid_in_out(w: Watched, *, hit: bool) -> None:
    w.wire("cpty_1", "enti_1", 5_000_00, 0)
    w.wire("enti_1", "cpty_2", 4_000_00 if hit else 3_990_00, HOUR)


def paid_before_it_came(w: Watched, *, hit: bool) -> None:
    first, then = (("cpty_1", "enti_1"), ("enti_1", "cpty_2")) if hit else (("enti_1", "cpty_2"), ("cpty_1", "enti_1"))
    w.wire(*first, 5_000_00, 0)
    w.wire(*then, 4_900_00, HOUR)
    w.wire("enti_1", "cpty_2", 1_00, 2 * HOUR)


def a_hub_that_passes_on(w: Watched, *, hit: bool) -> None:
    for place in range(0 if hit else 8):
        w.wire("cpty_1", "enti_1", 4_000_00, place * 3 * DAY)
    w.wire("cpty_1", "enti_1", 5_000_00, 30 * DAY)
    w.wire("enti_1", "cpty_2", 4_900_00, 30 * DAY + HOUR)


def funnel_mule(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire(f"cpty_{place}", "enti_1", 1_000_00, place * HOUR)
    w.wire("enti_1", "cpty_9", 4_900_00 if hit else 3_900_00, 6 * HOUR)


def round_trip(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", "enti_2")
    w.wire("enti_1", "enti_2", 1_000_00, 0)
    w.wire("enti_2", "enti_1", 900_00 if hit else 790_00, HOUR)


def layering(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", "enti_2", "enti_3", "enti_4")
    hops = (("enti_1", "enti_2"), ("enti_2", "enti_3"), ("enti_3", "enti_4"))
    for place, hop in enumerate(hops if hit else hops[:2]):
        w.wire(*hop, 2_000_00 - place * 100_00, place * DAY)


def layering_out_of_the_program(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", "enti_2", "enti_3")
    for place, hop in enumerate((("enti_1", "enti_2"), ("enti_2", "enti_3"), ("enti_3", "cpty_1"))):
        w.wire(*hop, (1_200_00 if hit else 1_040_00) - place * 50_00, place * DAY)


def first_time_large(w: Watched, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 2_500_00 if hit else 2_499_99, 0)


def new_counterparties(w: Watched, *, hit: bool) -> None:
    for place in range(5 if hit else 4):
        w.wire("enti_1", f"cpty_{place}", 10_00, place * HOUR)


def shared_counterparty(w: Watched, *, hit: bool) -> None:
    w.say("counterparty.created", bank.a_counterparty(), 0)
    for place in range(3 if hit else 2):
        w.wire(f"enti_{place}", "cpty_1", 10_00, place * DAY)


def returned_often(w: Watched, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(2)]
    for data in debits if hit else debits[:1]:
        w.come_back(data, "R01", DAY)
    w.debit("enti_1", "cpty_9", 100_00, 2 * DAY)


def probing(w: Watched, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(12)]
    w.come_back(debits[0], "R03", DAY)
    w.come_back(debits[1], "R20" if hit else "R01", DAY)
    w.debit("enti_1", "cpty_9", 100_00, 2 * DAY)


def redebit(w: Watched, *, hit: bool) -> None:
    w.come_back(w.debit("enti_1", "cpty_1", 100_00, 0), "R10", DAY)
    w.debit("enti_1", "cpty_1", 100_00, (6 if hit else 7) * DAY)


def unauthorized_entity(w: Watched, *, hit: bool) -> None:
    debits = [w.debit("enti_1", f"cpty_{place}", 100_00, place * HOUR) for place in range(2)]
    w.come_back(debits[0], "R10", DAY)
    w.come_back(debits[1], "R07" if hit else "R01", DAY)


def unauthorized_counterparty(w: Watched, *, hit: bool) -> None:
    debits = [w.debit(f"enti_{place}", "cpty_1", 100_00, place * HOUR) for place in range(2)]
    w.come_back(debits[0], "R10", DAY)
    w.come_back(debits[1], "R29" if hit else "R01", DAY)


def unauthorized_rate(w: Watched, *, hit: bool) -> None:
    debits = [w.debit(f"enti_{place}", f"cpty_{place}", 100_00, place) for place in range(199 if hit else 200)]
    w.come_back(debits[0], "R10", DAY)


def ach_float(w: Watched, *, hit: bool) -> None:
    w.debit("enti_1", "cpty_1", 1_000_00, 0)
    w.wire("enti_1", "cpty_2", 800_00 if hit else 799_99, HOUR)


def denied(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", verification_status="DENIED" if hit else "MANUAL_REVIEW")
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def unverified(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", verification_status="PENDING")
    w.wire("enti_1", "cpty_1", 500_00, HOUR)
    w.wire("enti_1", "cpty_1", 500_00 if hit else 499_99, 6 * DAY)


def exposed(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", person_details={"pep_status": "yes" if hit else "no"})
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def sanctioned(w: Watched, *, hit: bool) -> None:
    w.know("enti_1", review_reasons=["sanctions_match" if hit else "name_mismatch"])
    w.wire("enti_1", "cpty_1", 10_00, HOUR)


def abroad(country: str) -> Tell:
    def tell(w: Watched, *, hit: bool) -> None:
        address = {"country_code": country if hit else "US"}
        data = bank.an_international_wire(beneficiary_address=address, settled_amount=10_00, amount=10_00)
        w.say("swift.outgoing_transfer.submitted", data, 0)

    return tell


def undeclared_rail(w: Watched, *, hit: bool) -> None:
    if hit:
        w.wire("enti_1", "cpty_1", 10_00, 0)
    else:
        w.ach("enti_1", 10_00, 0)


def card_testing(w: Watched, *, hit: bool) -> None:
    for place in range(3 if hit else 2):
        w.card("bacc_1", 20_00, place * 60_000_000, "DECLINED", "INVALID_CARD")


def card_testing_of_many(w: Watched, *, hit: bool) -> None:
    for place in range(50 if hit else 49):
        status = "DECLINED" if place % 5 < 2 else "PENDING"
        w.card(f"bacc_{place}", 4_00, place * 60_000_000, status)


def decline_mix(w: Watched, *, hit: bool) -> None:
    for place in range(200):
        w.card(f"bacc_{place}", 20_00, place * 60_000_000)
    for place in range(100):
        fraud = place < (10 if hit else 9)
        reason = "SUSPECTED_FRAUD" if fraud else "APPROVED"
        w.card(f"bacc_{place}", 20_00, 3 * DAY + place * 60_000_000, "DECLINED" if fraud else "PENDING", reason)


def busy_day(w: Watched, *, hit: bool) -> None:
    for place in range(10):
        w.wire(f"enti_{place}", "cpty_1", 100_00, place * DAY)
    w.wire("enti_10", "cpty_1", 250_00 if hit else 190_00, 9 * DAY + HOUR)


def over_the_month(w: Watched, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 600_00, 0)
    w.wire("enti_1", "cpty_1", 400_00 if hit else 399_99, HOUR)


def over_the_month_at_this_rate(w: Watched, *, hit: bool) -> None:
    for place in range(7 if hit else 6):
        w.wire("enti_1", "cpty_1", 70_00, place * DAY)


_HIGH, _HARD, _LOW = ("high", False), ("high", True), ("low", False)
STORIES: Final[Mapping[str, Mapping[str, Story]]] = {
    "structuring_pattern": {
        "entity": Story(structuring, gravity=_HIGH),
        "counterparty": Story(structuring_with_one, (COUNTERPARTY,), _HIGH),
    },
    "amount_spike": {"transfer": Story(amount_spike, (TRANSFER,))},
    "repeated_amount": {"entity": Story(repeated_amount, gravity=_LOW)},
    "round_amount": {"entity": Story(round_amount, gravity=_LOW)},
    "micro_entry_abuse": {"entity": Story(micro_entries), "program": Story(micro_entries_of_many, (PROGRAM,))},
    "velocity_spike": {
        "count": Story(velocity_by_count),
        "employer": Story(velocity_of_an_employer),
        "cents": Story(velocity_by_cents),
    },
    "dormant_reactivation": {"days": Story(dormant), "a year": Story(dormant_for_a_year, gravity=_HIGH)},
    "fan_in": {"entity": Story(fan_in), "counterparty": Story(fan_in_at_counterparty, (COUNTERPARTY,))},
    "fan_out": {"entity": Story(fan_out)},
    "scatter_gather": {"counterparty": Story(scatter_gather, (COUNTERPARTY,), _HIGH)},
    "gather_scatter": {"entity": Story(gather_scatter, gravity=_HIGH)},
    "rapid_in_out": {
        "share": Story(rapid_in_out, gravity=_HIGH),
        "order": Story(paid_before_it_came, gravity=_HIGH),
        "usual": Story(a_hub_that_passes_on, gravity=_HIGH),
    },
    "funnel_mule": {"entity": Story(funnel_mule, gravity=_HARD)},
    "round_trip": {"entity": Story(round_trip, gravity=_HIGH)},
    "layering_hops": {
        "inside": Story(layering, gravity=_HIGH),
        "out": Story(layering_out_of_the_program, gravity=_HIGH),
    },
    "first_time_counterparty_large": {"transfer": Story(first_time_large, (TRANSFER,))},
    "new_counterparty_burst": {"entity": Story(new_counterparties)},
    "counterparty_shared": {"counterparty": Story(shared_counterparty, (COUNTERPARTY,), _HIGH)},
    "return_code_abuse": {
        "often": Story(returned_often),
        "probing": Story(probing),
        "again": Story(redebit, gravity=_HARD),
    },
    "unauthorized_return": {
        "entity": Story(unauthorized_entity, gravity=_HIGH),
        "counterparty": Story(unauthorized_counterparty, (COUNTERPARTY,), _HIGH),
    },
    "unauthorized_return_rate": {"program": Story(unauthorized_rate, (PROGRAM,), _HARD)},
    "ach_float": {"entity": Story(ach_float, gravity=_HIGH)},
    "kyc_denied_moving": {"entity": Story(denied, gravity=_HARD)},
    "kyc_unverified_moving": {"entity": Story(unverified)},
    "screening_stale_or_hit": {"exposed": Story(exposed), "match": Story(sanctioned, gravity=("medium", True))},
    "high_risk_geography": {
        "call": Story(abroad("MM"), (TRANSFER,), _HARD),
        "sanctions": Story(abroad("CU"), (TRANSFER,), _HARD),
        "both": Story(abroad("IR"), (TRANSFER,), _HARD),
        "monitored": Story(abroad("VE"), (TRANSFER,), _LOW),
    },
    "country_outside_declared": {"country": Story(abroad("DE"), (TRANSFER, PROGRAM))},
    "rail_outside_declared": {
        "rail": Story(undeclared_rail, (TRANSFER, PROGRAM), declared={"declared_rails": ("ach",)})
    },
    "card_testing": {
        "account": Story(card_testing, (ACCOUNT,), _HIGH),
        "program": Story(card_testing_of_many, (PROGRAM,), _HARD),
    },
    "card_decline_mix": {"program": Story(decline_mix, (PROGRAM,))},
    "program_velocity": {"program": Story(busy_day, (PROGRAM,))},
    "volume_vs_declared": {
        "reached": Story(over_the_month, (PROGRAM,), declared={"declared_monthly_volume_cents": "100000"}),
        "rate": Story(
            over_the_month_at_this_rate, (PROGRAM,), _HIGH, declared={"declared_monthly_volume_cents": "120000"}
        ),
    },
}
