"""The stories of the detectors that measure a whole program, and of those that look at a score's band alone."""

from features.core.instants import DAY_US as DAY
from features.core.instants import HOUR_US as HOUR
from features.core.limits import CapKind
from features.core.rows.alerts import AlertRow
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision
from tests.support.caps import set_cap
from tests.support.clock import T0
from tests.support.stories import ShardStory


def busy_day(w: ShardStory, *, hit: bool) -> None:
    for place in range(12):
        w.wire(f"enti_{place}", "cpty_1", 4_000_00, place * DAY)
    w.wire("enti_12", "cpty_1", 9_100_00 if hit else 9_000_00, 11 * DAY + HOUR)


def tiny_day(w: ShardStory, *, hit: bool) -> None:
    for place in range(12):
        w.wire(f"enti_{place}", "cpty_1", 40_00, place * DAY)
    w.wire("enti_12", "cpty_1", 9_960_00 if hit else 9_959_99, 11 * DAY + HOUR)


def sparse_days(w: ShardStory, *, hit: bool) -> None:
    for place in range(10 if hit else 9):
        w.wire(f"enti_{place}", "cpty_1", 4_000_00, place * 3 * DAY)
    w.wire("enti_12", "cpty_1", 40_000_00, 29 * DAY)


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


def over_the_month_at_this_rate(w: ShardStory, *, hit: bool) -> None:
    for place in range(7 if hit else 6):
        w.wire("enti_1", "cpty_1", 70_00, place * DAY)


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
