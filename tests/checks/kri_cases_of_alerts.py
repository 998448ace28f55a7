"""Golden streams of the indicators that rest on scores and alerts: how long they wait, and the share of holds."""

from typing import Any, Final

from tests.checks.kri_bank import DAY, HOUR, SECOND, Bank
from tests.checks.kri_cases import case

REVIEWS: Final = "review_aging_hours"
HOLDS: Final = "hold_aging_hours"
SHARE: Final = "hold_share"
FLOOR: Final = 30
"""A program without so many transfers has no scores."""
NAMELESS: Final[dict[str, Any]] = {
    "beneficiary_name": None,
    "beneficiary_account_number": None,
    "creditor_agent_routing_number": None,
}


def quiet(bank: Bank, count: int) -> None:
    """Small wires of as many accounts, hours apart: the first 30 without a score, the others clear."""
    for place in range(count):
        own = f"{bank.mark}_q{place}"
        bank.wire(
            100_00 + 7 * place,
            29 * DAY - 5 * HOUR * place,
            bank_account_id=f"bacc_{own}",
            counterparty_id=f"cpty_{own}",
            **NAMELESS,
        )


def risky(bank: Bank, place: int, ago: int) -> None:
    """A wire in the band review, soft: not verified, high risk and politically exposed, 15 points each."""
    own = f"{bank.mark}_r{place}"
    person = {"person_details": {"first_name": "A", "last_name": "B", "pep_status": "yes"}}
    bank.entity(f"enti_{own}", "PENDING", 29 * DAY, is_high_risk=True, **person)
    bank.account(f"bacc_{own}", 29 * DAY, kind="account.unfrozen", owners=[f"enti_{own}"])
    bank.wire(123_45, ago, bank_account_id=f"bacc_{own}", counterparty_id=f"cpty_{own}", **NAMELESS)


def refused(bank: Bank, place: int, ago: int) -> None:
    """A wire in the band hold: a denied entity, 60 points, to Iran, 40."""
    own = f"{bank.mark}_h{place}"
    bank.entity(f"enti_{own}", "DENIED", 29 * DAY)
    bank.account(f"bacc_{own}", 29 * DAY, kind="account.unfrozen", owners=[f"enti_{own}"])
    bank.abroad(123_45, "IR", ago, bank_account_id=f"bacc_{own}", counterparty_id=f"cpty_{own}", **NAMELESS)


def waiting(bank: Bank, *agos: int, held: bool = False) -> None:
    quiet(bank, FLOOR)
    for place, ago in enumerate(agos):
        (refused if held else risky)(bank, place, ago)


def ten(bank: Bank, *, held: bool = False) -> None:
    """Ten that wait from one hour to ten: nine of ten wait nine hours at most."""
    waiting(bank, *(hour * HOUR for hour in range(1, 11)), held=held)


case(REVIEWS, "nothing waits", lambda b: quiet(b, FLOOR + 2), None, 0, "unmeasured")
case(
    REVIEWS,
    "a second short of 18 hours",
    lambda b: waiting(b, 18 * HOUR - SECOND),
    "64799/3600",
    1,
    "ok",
    live_only=True,
)
case(REVIEWS, "18 hours", lambda b: waiting(b, 18 * HOUR), "18", 1, "watch", live_only=True)
case(REVIEWS, "24 hours are not over the clock", lambda b: waiting(b, 24 * HOUR), "24", 1, "watch", live_only=True)
case(
    REVIEWS,
    "a second over 24 hours",
    lambda b: waiting(b, 24 * HOUR + SECOND),
    "86401/3600",
    1,
    "breach",
    live_only=True,
)
case(REVIEWS, "nine of ten", ten, "9", 10, "ok", live_only=True)
case(
    REVIEWS,
    "what is held waits elsewhere",
    lambda b: waiting(b, 30 * HOUR, held=True),
    None,
    0,
    "unmeasured",
    live_only=True,
)
case(HOLDS, "what is reviewed is not held", lambda b: waiting(b, 80 * HOUR), None, 0, "unmeasured", live_only=True)
case(HOLDS, "54 hours", lambda b: waiting(b, 54 * HOUR, held=True), "54", None, "watch", live_only=True)
case(
    HOLDS,
    "a second short of 54",
    lambda b: waiting(b, 54 * HOUR - SECOND, held=True),
    "194399/3600",
    None,
    "ok",
    live_only=True,
)
case(HOLDS, "72 hours", lambda b: waiting(b, 72 * HOUR, held=True), "72", None, "watch", live_only=True)
case(
    HOLDS,
    "a second over 72",
    lambda b: waiting(b, 72 * HOUR + SECOND, held=True),
    "259201/3600",
    None,
    "breach",
    live_only=True,
)
case(HOLDS, "nine of ten", lambda b: ten(b, held=True), "9", None, "ok", live_only=True)


def holds(bank: Bank, clear: int, held: int) -> None:
    quiet(bank, FLOOR + clear)
    for place in range(held):
        refused(bank, place, HOUR * (place + 1))


case(SHARE, "no score, no share", lambda b: quiet(b, FLOOR), None, 0, "unmeasured")
case(SHARE, "1 of 51", lambda b: holds(b, 50, 1), "1/51", 51, "ok")
case(SHARE, "1 of 50 = 0.02", lambda b: holds(b, 49, 1), "1/50", 50, "watch")
case(SHARE, "1 of 20 = 0.05", lambda b: holds(b, 19, 1), "1/20", 20, "watch")
case(SHARE, "2 of 39", lambda b: holds(b, 37, 2), "2/39", 39, "breach")
