"""Golden streams of each indicator, with the answer worked out by hand: just under, at and over its lines.

A case plays events to a bank that ends ``now``. ``n`` is None where the text does not say exactly whom it counts.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tests.checks.kri_bank import DAY, HOUR, Bank

NOON: Final = 1_779_278_400_000_000
"""2026-05-20T12:00:00Z, a Wednesday."""
JUNE: Final = 1_780_272_000_000_000
"""2026-06-01T00:00:00Z."""


class Case(NamedTuple):
    claim: str
    kri: str
    play: Callable[[Bank], object]
    value: Fraction | None
    n: int | None
    status: str
    exact_time: bool = False  # only a clock that stands still can show it
    live_only: bool = False  # it is about when alerts were opened
    now: int = NOON


CASES: Final[list[Case]] = []


def case(
    kri: str, claim: str, play: Callable[[Bank], object], value: str | None, n: int | None, status: str, **over: Any
) -> None:
    """A rate or share of fewer than twenty observations has its value and ``n``, and the status is unmeasured."""
    CASES.append(Case(claim, kri, play, None if value is None else Fraction(value), n, status, **over))


# Returns of debits: 0.4 % and 0.5 %, 2.4 % and 3 %, 12 % and 15 %.

UNAUTHORIZED: Final = "ach_unauthorized_return_rate"
ADMINISTRATIVE: Final = "ach_administrative_return_rate"
OVERALL: Final = "ach_overall_return_rate"
CREDITS: Final = "ach_credit_return_rate"

case(UNAUTHORIZED, "nothing sent is not measured", lambda b: b.wire(100_00, DAY), None, 0, "unmeasured")
case(UNAUTHORIZED, "1 of 251 = 0.00398", lambda b: b.debits(251, "R10"), "1/251", 251, "ok")
case(UNAUTHORIZED, "1 of 250 = 0.004 is at the watch line", lambda b: b.debits(250, "R10"), "1/250", 250, "watch")
case(UNAUTHORIZED, "1 of 200 = 0.005 is not over it", lambda b: b.debits(200, "R05"), "1/200", 200, "watch")
case(UNAUTHORIZED, "2 of 399 = 0.00501", lambda b: b.debits(399, "R07", "R29"), "2/399", 399, "breach")
case(UNAUTHORIZED, "R11 is of them since 2020", lambda b: b.debits(4, "R11"), "1/4", 4, "unmeasured")
case(
    UNAUTHORIZED, "all six codes", lambda b: b.debits(6, "R05", "R07", "R10", "R11", "R29", "R51"), "1", 6, "unmeasured"
)
case(
    UNAUTHORIZED, "no other code", lambda b: b.debits(6, "R01", "R02", "R06", "R08", "R12", "R20"), "0", 6, "unmeasured"
)
case(ADMINISTRATIVE, "3 of 126 = 0.0238", lambda b: b.debits(126, "R02", "R03", "R04"), "3/126", 126, "ok")
case(ADMINISTRATIVE, "3 of 125 = 0.024", lambda b: b.debits(125, "R02", "R03", "R04"), "3/125", 125, "watch")
case(ADMINISTRATIVE, "3 of 100 = 0.03", lambda b: b.debits(100, "R02", "R03", "R04"), "3/100", 100, "watch")
case(ADMINISTRATIVE, "3 of 99 = 0.0303", lambda b: b.debits(99, "R02", "R03", "R04"), "3/99", 99, "breach")
case(ADMINISTRATIVE, "no other code", lambda b: b.debits(4, "R01", "R05", "R10", "R29"), "0", 4, "unmeasured")
case(OVERALL, "3 of 26 = 0.115", lambda b: b.debits(26, "R01", "R10", "R16"), "3/26", 26, "ok")
case(OVERALL, "3 of 25 = 0.12", lambda b: b.debits(25, "R01", "R02", "R10"), "3/25", 25, "watch")
case(OVERALL, "3 of 20 = 0.15", lambda b: b.debits(20, "R01", "R09", "R85"), "3/20", 20, "watch")
case(OVERALL, "4 of 26 = 0.154", lambda b: b.debits(26, "R01", "R06", "R31", "R85"), "4/26", 26, "breach")
case(OVERALL, "3 of 19 is a rate of too few", lambda b: b.debits(19, "R01", "R06", "R31"), "3/19", 19, "unmeasured")
case(UNAUTHORIZED, "1 of 1 is a rate of too few", lambda b: b.debits(1, "R10"), "1", 1, "unmeasured")
case(UNAUTHORIZED, "1 of 20 is measured", lambda b: b.debits(20, "R10"), "1/20", 20, "breach")


def rechecks(bank: Bank) -> None:
    """Four of ten are RCK, and one of those came back; of the other six, one did."""
    bank.debits(6, "R01")
    bank.debits(4, "R51", entry_class_code="RCK")


case(OVERALL, "RCK is left out above and below", rechecks, "1/6", 6, "unmeasured")
case(UNAUTHORIZED, "RCK counts above and below", rechecks, "1/10", 10, "unmeasured")


def two_ways(bank: Bank) -> None:
    """Eight debits that are not ours, or that are credits, all of them back as R10; two of ours, none back."""
    for way in ("incoming DEBIT", "incoming CREDIT", "outgoing CREDIT"):
        for data in bank.entries(2, way):
            bank.returned(data, "R10")
    bank.debits(2)


case(UNAUTHORIZED, "incoming debits and credits never count", two_ways, "0", 2, "unmeasured")
case(OVERALL, "incoming debits and credits never count", two_ways, "0", 2, "unmeasured")
case(CREDITS, "credits sent count here", two_ways, "1", 2, "unmeasured")


def dishonoured(bank: Bank) -> None:
    first, *_ = bank.entries(4, ago=5 * DAY)
    bank.returned(first, "R10", ago=3 * DAY)
    bank.returned(first, "R10", "R68", ago=2 * DAY, status="RETURN_DISHONORED")


def contested(bank: Bank) -> None:
    dishonoured(bank)
    bank.returned(bank.events[0].data, "R10", "R68", "R73", ago=DAY, status="RETURN_CONTESTED")


def unlocked(bank: Bank) -> None:
    dishonoured(bank)
    bank.returned(bank.events[0].data, "R10", "R68", ago=DAY, status="RETURN_DISHONORED_FUNDS_UNLOCKED")


case(UNAUTHORIZED, "a dishonoured return is none", dishonoured, "0", 4, "unmeasured")
case(OVERALL, "a dishonoured return is none", dishonoured, "0", 4, "unmeasured")
case(UNAUTHORIZED, "and stays none when the funds are unlocked", unlocked, "0", 4, "unmeasured")
case(UNAUTHORIZED, "contested, it is one, and one", contested, "1/4", 4, "unmeasured")
case(OVERALL, "contested, it is one, and one", contested, "1/4", 4, "unmeasured")


def notices(bank: Bank) -> None:
    """A notice of change by its own event, and one that a clumsy sender puts among the returns."""
    one, two, *_ = bank.entries(4)
    change = {"change_code": "C01", "corrected_data": "000"}
    bank.newer("ach.outgoing_transfer.noc", one, HOUR, notification_of_changes=change)
    bank.returned(two, "C01", status="SETTLED")


case(OVERALL, "a notice of change is no return", notices, "0", 4, "unmeasured")


def never_left(bank: Bank) -> None:
    """Of four, one was canceled, one rejected, and one that is canceled now had been sent first."""
    bank.ach(status="CANCELED")
    bank.ach(status="REJECTED")
    bank.newer("ach.outgoing_transfer.canceled", bank.ach(status="INITIATED"), HOUR, status="CANCELLED")
    bank.returned(bank.ach(), "R10")


case(UNAUTHORIZED, "what never left was not originated", never_left, "1", 1, "unmeasured")


def prenotes(bank: Bank) -> None:
    bank.entries(5, amount=0)
    bank.debits(2, "R03")


case(ADMINISTRATIVE, "an entry without an amount is a test", prenotes, "1/2", 2, "unmeasured")


def late_return(bank: Bank) -> None:
    """Sent 70 days ago, back yesterday, against four that were sent since."""
    bank.returned(bank.ach(ago=70 * DAY), "R10", ago=DAY)
    bank.entries(4)


def only_late_return(bank: Bank) -> None:
    bank.returned(bank.ach(ago=70 * DAY), "R10", ago=DAY)


def long_returned(bank: Bank) -> None:
    """Sent 70 days ago and back 65 days ago."""
    bank.returned(bank.ach(ago=70 * DAY), "R10", ago=65 * DAY)
    bank.entries(4)


def corrected_code(bank: Bank) -> None:
    """R01 first, then R10: one return, and the last code is what it is."""
    data = bank.entries(4)[0]
    bank.returned(data, "R01", ago=2 * HOUR)
    bank.returned(data, "R01", "R10", ago=HOUR)


def twice_delivered(bank: Bank) -> None:
    bank.debits(4, "R10")
    bank.again()


def odd_return(bank: Bank) -> None:
    """One object instead of a list, its code under another name."""
    data = bank.entries(4)[0]
    bank.newer("ach.outgoing_transfer.returned", data, HOUR, status="RETURNED", return_details={"code": "R10"})


def late_snapshot(bank: Bank) -> None:
    """The return is there before the older news that it settled."""
    data = bank.entries(4, ago=3 * DAY)[0]
    bank.returned(data, "R10", ago=DAY)
    bank.newer("ach.outgoing_transfer.settled", data, 2 * DAY, status="SETTLED")


case(UNAUTHORIZED, "returns count by their delivery, debits by their own time", late_return, "1/4", 4, "unmeasured")
case(UNAUTHORIZED, "without a debit in the window there is no rate", only_late_return, None, 0, "unmeasured")
case(UNAUTHORIZED, "a return of 65 days ago is over", long_returned, "0", 4, "unmeasured")
case(UNAUTHORIZED, "the last code counts, once", corrected_code, "1/4", 4, "unmeasured")
case(OVERALL, "the last code counts, once", corrected_code, "1/4", 4, "unmeasured")
case(UNAUTHORIZED, "the same event twice is one", twice_delivered, "1/4", 4, "unmeasured")
case(UNAUTHORIZED, "a return that is no list", odd_return, "1/4", 4, "unmeasured")
case(UNAUTHORIZED, "older news takes no return back", late_snapshot, "1/4", 4, "unmeasured")


def edges(bank: Bank) -> None:
    """Sent at t - 60 d: out. Sent a microsecond later, and at t: in. Back at t - 60 d: out; a microsecond later: in."""
    bank.returned(bank.ach(ago=90 * DAY), "R10", ago=60 * DAY)
    bank.returned(bank.ach(ago=90 * DAY), "R10", ago=60 * DAY - 1)
    for ago in (60 * DAY, 60 * DAY - 1, 0):
        bank.ach(ago=ago)


case(UNAUTHORIZED, "60 days are (t - 60 d, t]", edges, "1/2", 2, "unmeasured", exact_time=True)
case(CREDITS, "3 of 101 = 0.0297", lambda b: sent_credits(b, 101, 3), "3/101", 101, "ok")
case(CREDITS, "3 of 100 = 0.03", lambda b: sent_credits(b, 100, 3), "3/100", 100, "watch")
case(CREDITS, "1 of 20 = 0.05", lambda b: sent_credits(b, 20, 1), "1/20", 20, "watch")
case(CREDITS, "2 of 38 = 0.053", lambda b: sent_credits(b, 38, 2), "2/38", 38, "breach")
case(CREDITS, "1 of 19 is a rate of too few", lambda b: sent_credits(b, 19, 1), "1/19", 19, "unmeasured")
case(CREDITS, "debits do not count", lambda b: b.debits(3, "R01"), None, 0, "unmeasured")


def sent_credits(bank: Bank, count: int, back: int) -> None:
    for place, data in enumerate(bank.entries(count, "outgoing CREDIT")):
        if place < back:
            bank.returned(data, "R03")
