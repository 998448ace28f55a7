"""Golden streams of the indicators of entities, cards and what was declared."""

from typing import Any, Final

from tests.checks.kri_bank import DAY, HOUR, Bank
from tests.checks.kri_cases import case
from tests.support.bank_events import rfc3339

# Verification: 5 and 10 % of those decided.

DENIALS: Final = "verification_denial_rate"


def decided(bank: Bank, denied: int, verified: int) -> None:
    bank.entities(*("DENIED",) * denied, *("VERIFIED",) * verified)


def changed_minds(bank: Bank) -> None:
    """One denied, then verified; one verified, then denied; one denied, and under review again since."""
    for place, (before, after) in enumerate(
        [("DENIED", "VERIFIED"), ("VERIFIED", "DENIED"), ("DENIED", "MANUAL_REVIEW")]
    ):
        bank.entity(f"enti_{bank.mark}_{place}", before, 2 * DAY)
        bank.entity(f"enti_{bank.mark}_{place}", after, DAY)


def undecided(bank: Bank) -> None:
    bank.entities("PENDING", "MANUAL_REVIEW", "UNVERIFIED")
    bank.wire(100_00, DAY)


def decided_long_ago(bank: Bank) -> None:
    """Denied 31 days ago, and told of again yesterday with the same status; one verified since."""
    bank.entity(f"enti_{bank.mark}_x", "DENIED", 31 * DAY)
    bank.entity(f"enti_{bank.mark}_x", "DENIED", DAY)
    bank.entity(f"enti_{bank.mark}_y", "VERIFIED", DAY)


def older_word_late(bank: Bank) -> None:
    """Verified yesterday; the older denial comes after it."""
    bank.entity(f"enti_{bank.mark}_x", "VERIFIED", DAY)
    bank.entity(f"enti_{bank.mark}_x", "DENIED", 2 * DAY)


def by_the_suffix(bank: Bank) -> None:
    """Small objects: only an id, under either name, and the event says the rest."""
    bank.say("identity.verification.denied", {"entity_id": f"enti_{bank.mark}_x"}, DAY)
    bank.say("identity.verification.verified", {"id": f"enti_{bank.mark}_y"}, DAY)


case(DENIALS, "1 of 21", lambda b: decided(b, 1, 20), "1/21", 21, "ok")
case(DENIALS, "1 of 20 = 0.05", lambda b: decided(b, 1, 19), "1/20", 20, "watch")
case(DENIALS, "2 of 20 = 0.1", lambda b: decided(b, 2, 18), "1/10", 20, "watch")
case(DENIALS, "4 of 38 = 0.105", lambda b: decided(b, 4, 34), "2/19", 38, "breach")
case(DENIALS, "an entity counts once, by its newest decision", changed_minds, "2/3", 3, "unmeasured")
case(DENIALS, "nobody decided", undecided, None, 0, "unmeasured")
case(DENIALS, "said again is not decided again", decided_long_ago, "0", 1, "unmeasured")
case(DENIALS, "an older word does not count", older_word_late, "0", 1, "unmeasured")
case(DENIALS, "small objects", by_the_suffix, "1/2", 2, "unmeasured")

# Cards: 15 and 30 % declined, 5 and 10 % of them for fraud or authentication.

DECLINES: Final = "card_decline_rate"
FRAUD: Final = "card_fraud_decline_share"
FUNDS: Final = ("INSUFFICIENT_FUNDS",)


def with_refund(bank: Bank) -> None:
    """Four authorizations: declined, reversed, settled, approved. A refund is none."""
    bank.card("INSUFFICIENT_FUNDS", 2 * HOUR)
    bank.newer("card.authorization.reversed", bank.card(ago=2 * HOUR), HOUR, status="VOIDED")
    bank.newer("card.transaction.settled", bank.card(ago=2 * HOUR), HOUR, status="SETTLED")
    bank.card(ago=2 * HOUR)
    refund: dict[str, Any] = bank.events[-1].data | {"id": bank.id("ctxn"), "status": "REFUNDED"}
    bank.say("card.transaction.refunded", refund, HOUR)


case(DECLINES, "3 of 21", lambda b: b.cards(21, *FUNDS * 3), "1/7", 21, "ok")
case(DECLINES, "3 of 20 = 0.15", lambda b: b.cards(20, *FUNDS * 3), "3/20", 20, "watch")
case(DECLINES, "6 of 20 = 0.3", lambda b: b.cards(20, *FUNDS * 6), "3/10", 20, "watch")
case(DECLINES, "8 of 26 = 0.308", lambda b: b.cards(26, *FUNDS * 8), "4/13", 26, "breach")
case(DECLINES, "a refund is no authorization, a reversal no decline", with_refund, "1/4", 4, "unmeasured")
case(DECLINES, "no card", lambda b: b.wire(100_00, DAY), None, 0, "unmeasured")
case(DECLINES, "31 days ago is over", lambda b: b.card("INSUFFICIENT_FUNDS", 31 * DAY), None, 0, "unmeasured")
case(FRAUD, "1 of 21", lambda b: b.cards(21, "SUSPECTED_FRAUD"), "1/21", 21, "ok")
case(FRAUD, "1 of 20 = 0.05", lambda b: b.cards(20, "INCORRECT_PIN"), "1/20", 20, "watch")
case(FRAUD, "2 of 20 = 0.1", lambda b: b.cards(20, "FRAUD_ADVICE", "FRAUD_ADVICE"), "1/10", 20, "watch")
case(FRAUD, "3 of 29", lambda b: b.cards(29, "pin_blocked", "verification_failed", "pin_blocked"), "3/29", 29, "breach")
case(FRAUD, "2 of 19 is a share of too few", lambda b: b.cards(19, *["pin_blocked"] * 2), "2/19", 19, "unmeasured")
case(
    FRAUD,
    "other groups are none",
    lambda b: b.cards(6, "INSUFFICIENT_FUNDS", "spending_controls", "CARD_PAUSED", "webhook_declined", "no such word"),
    "0",
    6,
    "unmeasured",
)

# Declared rails and countries: any, and over 1 %.

OUTSIDE: Final = "outside_declared_share"


def rails(bank: Bank, wires: int, debits: int) -> None:
    bank.declared |= {"declaredRails": ["wire"], "declaredCountries": ["US"]}
    for _ in range(wires):
        bank.wire(10_00, DAY)
    bank.entries(debits)


def countries(bank: Bank) -> None:
    """Any rail goes; of three that name a country one is not in the United States; two name none."""
    bank.declared |= {"declaredRails": [], "declaredCountries": ["US"]}
    for country in ("US", "US", "DE", None):
        bank.abroad(10_00, country, counterparty_id=None, beneficiary_name=None, beneficiary_account_number=None)
    bank.wire(10_00, DAY)


def both_outside(bank: Bank) -> None:
    """One wire abroad on a rail and to a country not declared is one transfer."""
    bank.declared |= {"declaredRails": ["ach"], "declaredCountries": ["US"]}
    bank.abroad(10_00, "DE", counterparty_id="cpty_abroad")
    bank.entries(3)


def an_attempt(bank: Bank) -> None:
    """What was refused was tried: 1 of 4."""
    bank.declared |= {"declaredRails": ["ach"], "declaredCountries": ["US"]}
    bank.entries(3)
    bank.wire(10_00, DAY, status="REJECTED")


case(OUTSIDE, "0 of 4", lambda b: rails(b, 4, 0), "0", 4, "unmeasured")
case(OUTSIDE, "1 of 101 is more than none", lambda b: rails(b, 100, 1), "1/101", 101, "watch")
case(OUTSIDE, "1 of 100 = 0.01", lambda b: rails(b, 99, 1), "1/100", 100, "watch")
case(OUTSIDE, "1 of 99", lambda b: rails(b, 98, 1), "1/99", 99, "breach")
case(OUTSIDE, "a country that nobody names is not known", countries, "1/3", 3, "unmeasured")
case(OUTSIDE, "twice outside is once", both_outside, "1/4", 4, "unmeasured")
case(OUTSIDE, "an attempt is one", an_attempt, "1/4", 4, "unmeasured")

# Screening: 5 and 10 % past their cadence (180 days where nobody has a score).

SCREENING: Final = "stale_screening_share"


def screened(bank: Bank, stale: int, fresh: int) -> None:
    old, new = _ago(bank, 181), _ago(bank, 180)
    for place in range(stale + fresh):
        last = old if place < stale else new
        bank.entity(f"enti_{bank.mark}_{place}", requires_screening=True, last_screened_at=last)


def never_screened(bank: Bank) -> None:
    bank.entity(f"enti_{bank.mark}_x", requires_screening=True, last_screened_at=None)
    bank.entity(f"enti_{bank.mark}_y", requires_screening=True, last_screened_at=_ago(bank, 10))


def screened_again(bank: Bank) -> None:
    bank.entity(f"enti_{bank.mark}_x", ago=DAY, requires_screening=True, last_screened_at=_ago(bank, 300))
    bank.entity(f"enti_{bank.mark}_x", ago=HOUR, requires_screening=True, last_screened_at=_ago(bank, 0))


def no_duty(bank: Bank) -> None:
    bank.entity(f"enti_{bank.mark}_x", requires_screening=False, last_screened_at=None)


def _ago(bank: Bank, days: int) -> str:
    return rfc3339(bank.now - days * DAY)


case(SCREENING, "1 of 21", lambda b: screened(b, 1, 20), "1/21", 21, "ok")
case(SCREENING, "1 of 20 = 0.05", lambda b: screened(b, 1, 19), "1/20", 20, "watch")
case(SCREENING, "2 of 20 = 0.1", lambda b: screened(b, 2, 18), "1/10", 20, "watch")
case(SCREENING, "4 of 38 = 0.105", lambda b: screened(b, 4, 34), "2/19", 38, "breach")
case(SCREENING, "2 of 19 is a share of too few", lambda b: screened(b, 2, 17), "2/19", 19, "unmeasured")
case(SCREENING, "never, where it must be, is past", never_screened, "1/2", 2, "unmeasured")
case(SCREENING, "screened again is fresh", screened_again, "0", 1, "unmeasured")
case(SCREENING, "no duty, no cadence", no_duty, None, 0, "unmeasured")
