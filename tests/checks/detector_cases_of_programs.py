"""The stories of the detectors that measure a whole program, and of those that look at a score's band alone."""

from collections.abc import Mapping
from typing import Final

from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from tests.checks.detector_case import HARD, HIGH, PROGRAM, DetectorCase
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision
from tests.support.caps import set_cap
from tests.support.clock import T0
from tests.support.stories import ShardStory

RESERVE = "bacc_reserve"


def busy_day(w: ShardStory, *, hit: bool) -> None:
    for place in range(12):
        w.wire(f"enti_{place}", "cpty_1", 4_000_00, place * DAY)
    w.wire("enti_12", "cpty_1", 12_415_00 if hit else 12_414_00, 11 * DAY + HOUR)
    w.snapshot(11 * DAY + HOUR)


def tiny_day(w: ShardStory, *, hit: bool) -> None:
    for place in range(12):
        w.wire(f"enti_{place}", "cpty_1", 40_00, place * DAY)
    w.wire("enti_12", "cpty_1", 9_960_00 if hit else 9_959_99, 11 * DAY + HOUR)
    w.snapshot(11 * DAY + HOUR)


def sparse_days(w: ShardStory, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.wire(f"enti_{place}", "cpty_1", 4_000_00, place * 3 * DAY)
    w.wire("enti_12", "cpty_1", 40_000_00, 29 * DAY)
    w.snapshot(29 * DAY)


def unauthorized_rate(w: ShardStory, *, hit: bool) -> None:
    returned(w, "R10", returns=1, of=199 if hit else 200)


def administrative_rate(w: ShardStory, *, hit: bool) -> None:
    returned(w, "R03", returns=3, of=99 if hit else 100)


def overall_rate(w: ShardStory, *, hit: bool) -> None:
    returned(w, "R01", returns=4 if hit else 3, of=20)


def returned(w: ShardStory, code: str, *, returns: int, of: int) -> None:
    debits = [w.debit(f"enti_{place}", f"cpty_{place}", 100_00, place) for place in range(of)]
    for data in debits[:returns]:
        w.return_debit(data, code, DAY)
    w.snapshot(DAY)


def short_reserve(w: ShardStory, *, hit: bool) -> None:
    """Exposure is 1.53 % of debits of 100,000.00, at the rates of the fleet."""
    for place in range(10):
        w.debit(f"enti_{place}", f"cpty_{place}", 10_000_00, place)
    balances = {"available_amount": 1_529_99 if hit else 1_530_01, "locked_amount": 0}
    account = bank.an_account(id=RESERVE, type="PROGRAM_RESERVE", balances=balances, updated_at=bank.rfc3339(T0 + HOUR))
    w.deliver("account.updated", account, at=T0 + HOUR)
    w.snapshot(HOUR)


def one_counterparty(w: ShardStory, *, hit: bool) -> None:
    for place, cents in enumerate((400_00 if hit else 399_99, 200_00, 200_00, 200_00)):
        w.wire("enti_1", f"cpty_{place}", cents, place * HOUR)
    w.snapshot(DAY)


def review_that_waits(w: ShardStory, *, hit: bool) -> None:
    score_of_two_strangers(w, hit=True)
    opened = w.alert("band_review").opened_at - T0
    w.snapshot(opened + DAY + hit)


def hold_that_waits(w: ShardStory, *, hit: bool) -> None:
    hold_after_a_decision(w, hit=True)
    opened = w.alert("band_hold").opened_at - T0
    w.snapshot(opened + 3 * DAY + hit)


def overdrafts(w: ShardStory, *, hit: bool) -> None:
    for place in range(4):
        w.wire("enti_1", "cpty_1", 10_00, place, bank_account_id=f"bacc_{place}")
    for place in range(3 if hit else 2):
        w.deliver("account.overdrafted", overdraft_of(f"bacc_{place}"), at=T0 + HOUR)
    w.snapshot(2 * HOUR)


def overdraft_of(account_id: str) -> bank.Data:
    return {
        "bank_account_id": account_id,
        "reserve_account_id": "bacc_overdraft_reserve",
        "transfer_id": "wire_1",
        "overdraft_amount": {"cents": 6_000, "currency_code": "USD"},
        "available_balance": {"cents": -6_000, "currency_code": "USD"},
    }


def freeze(w: ShardStory, *, hit: bool) -> None:
    account = bank.an_account(id="bacc_1", status="frozen" if hit else "open", updated_at=bank.rfc3339(T0 + HOUR))
    w.deliver("account.frozen" if hit else "account.updated", account, at=T0 + HOUR)
    w.snapshot(2 * HOUR)


def denials(w: ShardStory, *, hit: bool) -> None:
    for place in range(20):
        is_denied = place < (3 if hit else 2)
        entity = bank.an_entity(id=f"enti_{place}", verification_status="DENIED" if is_denied else "VERIFIED")
        w.deliver("identity.created", entity, at=T0)
    w.snapshot(HOUR)


def score_of_two_strangers(w: ShardStory, *, hit: bool) -> None:
    for place in range(220):
        w.wire("enti_1", "cpty_1", 100_00 + place % 20 * 20_00, place * 20 * HOUR)
    w.wire(*("enti_2", "cpty_2") if hit else ("enti_1", "cpty_1"), 90_00, 184 * DAY)


def review_after_a_decision(w: ShardStory, *, hit: bool) -> None:
    denied_after_a_decision(w, 1, 10_00, hit=hit)


def hold_after_a_decision(w: ShardStory, *, hit: bool) -> None:
    denied_after_a_decision(w, 5, 6_000_00, hit=hit)


def denied_after_a_decision(w: ShardStory, transfers: int, cents: int, *, hit: bool) -> None:
    """A denied entity moves on; when the line is to be reached, after a person has closed every alert on it."""
    for place in range(6):
        w.wire("enti_1", "cpty_1", 10_00, place * DAY)
    denied = bank.an_entity(id="enti_1", created_at=None, verification_status="DENIED")
    w.deliver("identity.updated", denied, at=T0 + 6 * DAY)
    for place in range(transfers):
        w.wire("enti_1", "cpty_1", cents, 7 * DAY + place * HOUR)
    for alert in {row.id: row for row in w.all(AlertRow)}.values() if hit else ():
        w.submit(a_decision(alert, "close", 7 * DAY + 5 * HOUR))
    w.wire("enti_1", "cpty_1", cents, 7 * DAY + 6 * HOUR)


def over_the_month(w: ShardStory, *, hit: bool) -> None:
    w.wire("enti_1", "cpty_1", 600_00, 0)
    w.wire("enti_1", "cpty_1", 400_00 if hit else 399_99, HOUR)
    w.snapshot(HOUR)


def over_the_month_at_this_rate(w: ShardStory, *, hit: bool) -> None:
    for place in range(7 if hit else 6):
        w.wire("enti_1", "cpty_1", 70_00, place * DAY)
    w.snapshot(6 * DAY)


def debits_over_the_cap(w: ShardStory, *, hit: bool) -> None:
    set_cap(w, CapKind.ACH_DEBIT_DAILY, 1_000_00, at=T0)
    w.ach("enti_1", 600_00, HOUR)
    w.ach("enti_2", 400_01 if hit else 400_00, 2 * HOUR)


def micro_entries_of_many(w: ShardStory, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.ach(f"enti_{place}", 50, place * HOUR, type="CREDIT")


def card_testing_of_many(w: ShardStory, *, hit: bool) -> None:
    for place in range(50 if hit else 49):
        status = "DECLINED" if place % 5 < 2 else "PENDING"
        w.card(f"bacc_{place}", 4_00, place * 60_000_000, status)


def decline_mix(w: ShardStory, *, hit: bool) -> None:
    for place in range(200):
        w.card(f"bacc_{place}", 20_00, place * 60_000_000)
    for place in range(100):
        fraud = place < (10 if hit else 9)
        reason = "SUSPECTED_FRAUD" if fraud else "APPROVED"
        w.card(f"bacc_{place}", 20_00, 3 * DAY + place * 60_000_000, "DECLINED" if fraud else "PENDING", reason)


CASES_ON_SNAPSHOTS: Final[Mapping[str, Mapping[str, DetectorCase]]] = {
    "unauthorized_return_rate": {"program": DetectorCase(unauthorized_rate, (PROGRAM,), HARD)},
    "administrative_return_rate": {"program": DetectorCase(administrative_rate, (PROGRAM,))},
    "overall_return_rate": {"program": DetectorCase(overall_rate, (PROGRAM,))},
    "reserve_shortfall": {
        "program": DetectorCase(short_reserve, (PROGRAM,), HARD, {"program_reserve_account_id": RESERVE})
    },
    "concentration": {"program": DetectorCase(one_counterparty, (PROGRAM,))},
    "review_aging": {"program": DetectorCase(review_that_waits, (PROGRAM,))},
    "hold_aging": {"decided": DetectorCase(hold_that_waits, (PROGRAM,))},
    "overdraft_or_freeze": {
        "overdrafts": DetectorCase(overdrafts, (PROGRAM,)),
        "freeze": DetectorCase(freeze, (PROGRAM,)),
    },
    "verification_denial": {"program": DetectorCase(denials, (PROGRAM,))},
    "program_velocity": {
        "factor": DetectorCase(busy_day, (PROGRAM,)),
        "floor": DetectorCase(tiny_day, (PROGRAM,)),
        "days": DetectorCase(sparse_days, (PROGRAM,)),
    },
    "volume_vs_declared": {
        "reached": DetectorCase(over_the_month, (PROGRAM,), declared={"declared_monthly_volume_cents": "100000"}),
        "rate": DetectorCase(
            over_the_month_at_this_rate, (PROGRAM,), HIGH, declared={"declared_monthly_volume_cents": "120000"}
        ),
    },
}
