"""The returns rules of trs-v1: ACH entries that came back, and money that leaves before they can.

Source  named at each rule; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.vector import FeatureVector, pays
from features.core.money_flow import originates_debit
from features.core.reason import Reason
from features.core.vocabulary import Rail
from features.scorers.families import Family
from features.scorers.rule import ACH_ONLY, ReasonKind, Rule
from features.scorers.sentences import money

RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
REDEBIT_DAYS: Final = 5
PROBED_COUNTERPARTIES: Final = 2
FLOAT_PERCENT: Final = 80
FLOAT_YOUNG_DAYS: Final = 30
FAST_RAILS: Final = frozenset({Rail.REALTIME.value, Rail.WIRE.value, Rail.INTL_WIRE.value, Rail.CARD.value})

UNAUTHORIZED: Final = ReasonKind(
    "TRS-RET-01",
    "unauthorized_return",
    (15, 30),
    Family.RETURNS,
    "An ACH debit sent, after one unauthorized return, or two and more, of the entity's debits or of those with the "
    "counterparty, in 60 days.",
    "Nacha Operating Rules: R05, R07, R10, R11, R29 and R51; weights [P]",
    rails=ACH_ONLY,
)
ABUSE: Final = ReasonKind(
    "TRS-RET-02",
    "return_code_abuse",
    (20,),
    Family.RETURNS,
    "At least 2 returns in 30 days of the ACH debits sent, and as many as a fifth of the debits of that time.",
    "[P]",
    rails=ACH_ONLY,
)
REDEBIT: Final = ReasonKind(
    "TRS-RET-03",
    "redebit_after_return",
    (20,),
    Family.RETURNS,
    "An ACH debit of a counterparty within 5 days of an R07, R10, R11 or R29.",
    "Nacha Operating Rules limit reinitiation after a return; days [P]",
    hard=True,
    rails=ACH_ONLY,
)
PROBING: Final = ReasonKind(
    "TRS-RET-04",
    "account_probing",
    (20,),
    Family.RETURNS,
    "R02, R03, R04 or R20 from at least 2 counterparties in 30 days.",
    "Nacha Operating Rules (administrative returns); count [P]",
    rails=ACH_ONLY,
)
SANCTIONS_RETURN: Final = ReasonKind(
    "TRS-RET-06",
    "sanctions_return",
    (30,),
    Family.RETURNS,
    "An ACH entry sent to the counterparty came back as R16: its account is frozen, or OFAC ordered the return.",
    "Nacha Operating Rules: R16 (account frozen, or entry returned per OFAC instruction); weight [P]",
    hard=True,
)
FLOAT: Final = ReasonKind(
    "TRS-RET-05",
    "ach_float",
    (25,),
    Family.RETURNS,
    "A young entity, or one with its first ACH debit, sends 80 % of what it pulled before the debits can come back.",
    "Nacha Operating Rules (returns within 2 banking days); figures [P]",
    rails=FAST_RAILS,
)


def unauthorized_return(v: FeatureVector) -> Reason | None:
    """Unauthorized returns (Nacha) of the entity's debits or of debits with the counterparty; two weigh double [P]."""
    of_entity, of_counterparty = v.entity_unauthorized_returns_60d, v.counterparty_unauthorized_returns_60d
    if not of_entity and not of_counterparty:
        return None
    if not _sends_debit(v):
        return None
    return UNAUTHORIZED.reason(
        f"{of_entity} unauthorized returns on the entity's debits in 60 days, "
        f"{of_counterparty} on debits with this counterparty.",
        UNAUTHORIZED.weights[of_entity > 1 or of_counterparty > 1],
    )


def return_code_abuse(v: FeatureVector) -> Reason | None:
    """At least two debits returned in 30 days, and as many as a fifth of the ACH debits of that time [P].

    Without a debit in that time there is no share.
    """
    if v.entity_returns_30d < RETURNS_FLOOR or not v.entity_ach_debits_30d:
        return None
    if v.entity_returns_30d * 100 < RETURNS_SHARE_PERCENT * v.entity_ach_debits_30d:
        return None
    return ABUSE.reason(f"{v.entity_returns_30d} returns against {v.entity_ach_debits_30d} ACH debits in 30 days.")


def redebit_after_return(v: FeatureVector) -> Reason | None:
    """Debiting again whoever just said no (Nacha, reinitiation of entries); 5 days [P]."""
    days = v.counterparty_stop_return_days
    if days is None or days > REDEBIT_DAYS or not _sends_debit(v):
        return None
    return REDEBIT.reason(f"A debit {days} days after this counterparty's R07, R10, R11 or R29.")


def account_probing(v: FeatureVector) -> Reason | None:
    """Trying which accounts exist: R02, R03, R04 and R20 from two counterparties in 30 days [P]."""
    count = v.entity_probing_returns_30d
    if count < PROBED_COUNTERPARTIES:
        return None
    return PROBING.reason(f"R02, R03, R04 or R20 from {count} counterparties in 30 days.")


def sanctions_return(v: FeatureVector) -> Reason | None:
    """An account that its bank froze, or that OFAC had an entry returned from (Nacha, R16), is a person's matter."""
    count = v.counterparty_frozen_returns
    if not count:
        return None
    return SANCTIONS_RETURN.reason(f"ACH entries with this counterparty that came back as R16: {count}.")


def _sends_debit(v: FeatureVector) -> bool:
    return originates_debit(v.rail, v.direction, v.type)


def ach_float(v: FeatureVector) -> Reason | None:
    """Spending a debit before it can come back: 2 banking days (Nacha), 80 % and 30 days [P]."""
    if v.entity_pulled_cents_2bd <= 0 or not pays(v) or v.entity_fast_out_cents_2bd < float_line_cents(v):
        return None
    age = v.entity_age_days
    if v.entity_ach_debits_all != 1 and (age is None or age > FLOAT_YOUNG_DAYS):
        return None
    return FLOAT.reason(
        f"{money(v.entity_fast_out_cents_2bd)} sent by fast rails of {money(v.entity_pulled_cents_2bd)} pulled by ACH "
        f"debits in 2 banking days (ACH debits so far: {v.entity_ach_debits_all}, "
        f"age in days: {'not known' if age is None else age})."
    )


def float_line_cents(v: FeatureVector) -> int:
    """The least fast outgoing cents that count as spending what was pulled."""
    return -(-v.entity_pulled_cents_2bd * FLOAT_PERCENT // 100)


RULES: Final[tuple[Rule, ...]] = (
    Rule(unauthorized_return, (UNAUTHORIZED,), of_attempts=True),
    Rule(return_code_abuse, (ABUSE,), of_attempts=True),
    Rule(redebit_after_return, (REDEBIT,), of_attempts=True),
    Rule(account_probing, (PROBING,), of_attempts=True),
    Rule(ach_float, (FLOAT,)),
    Rule(sanctions_return, (SANCTIONS_RETURN,), of_attempts=True),
)
