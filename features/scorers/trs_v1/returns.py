"""The returns signals of trs-v1: returned ACH entries, and money that leaves before a return; and its history signal: a
long clean past subtracts points, but never removes a hard signal.

Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.thresholds import CLEAN_TRANSFERS, KNOWN_PARTY_TRANSFERS
from clearhold.features.catalogue.vector import FeatureVector, pays
from clearhold.features.core.money import counted, money, originates_debit
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.signal import ACH_ONLY, Signal

RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
REDEBIT_DAYS: Final = 5
PROBED_COUNTERPARTIES: Final = 2
FLOAT_PERCENT: Final = 80
FLOAT_YOUNG_DAYS: Final = 30
FAST_RAILS: Final = frozenset({Rail.REALTIME.value, Rail.WIRE.value, Rail.INTL_WIRE.value, Rail.CARD.value})


def may_fire(v: FeatureVector) -> bool:
    """False when no signal of this module can fire: most transfers have nothing returned around them."""
    return bool(
        v.entity_unauthorized_returns_60d
        or v.counterparty_unauthorized_returns_60d
        or v.entity_returns_30d
        or v.counterparty_stop_return_days is not None
        or v.entity_probing_returns_30d
        or v.counterparty_frozen_returns
        or v.entity_pulled_cents_2bd > 0
    )


def _unauthorized_count(v: FeatureVector) -> int | None:
    """Unauthorized returns (Nacha) of the entity's debits or of debits with the counterparty; two weigh double [P]."""
    count = max(v.entity_unauthorized_returns_60d, v.counterparty_unauthorized_returns_60d)
    return count if count and _sends_debit(v) else None


def _returned_percent(v: FeatureVector) -> int | None:
    """At least two debits returned in 30 days, a fifth of the ACH debits of that time [P]; None without debits."""
    if v.entity_returns_30d < RETURNS_FLOOR or not v.entity_ach_debits_30d:
        return None
    return v.entity_returns_30d * 100 // v.entity_ach_debits_30d


def _redebit_days(v: FeatureVector) -> int | None:
    """A new debit after the receiver refused one (Nacha, reinitiation of entries); 5 days [P]."""
    days = v.counterparty_stop_return_days
    return days if days is not None and _sends_debit(v) else None


def _sends_debit(v: FeatureVector) -> bool:
    return originates_debit(v.rail, v.direction, v.type)


def _floats(v: FeatureVector) -> bool:
    """Spending a debit before it can come back: 2 banking days (Nacha), 80 % and 30 days [P]."""
    if v.entity_pulled_cents_2bd <= 0 or not pays(v) or v.entity_fast_out_cents_2bd < _float_line_cents(v):
        return False
    age = v.entity_age_days
    return v.entity_ach_debits_all == 1 or (age is not None and age <= FLOAT_YOUNG_DAYS)


def _float_line_cents(v: FeatureVector) -> int:
    """The least cents sent on fast rails that count as spending the pulled money."""
    return -(-v.entity_pulled_cents_2bd * FLOAT_PERCENT // 100)


def _float_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    if v.amount_cents is not None:
        yield _float_line_cents(v) - (v.entity_fast_out_cents_2bd - v.amount_cents)


def _float_sentence(v: FeatureVector, _: int) -> str:
    age = v.entity_age_days
    aged = "its age is not known" if age is None else f"it is {counted(age, 'day')} old"
    return (
        f"Collected {money(v.entity_pulled_cents_2bd)} by ACH debit in 2 banking days and sent "
        f"{money(v.entity_fast_out_cents_2bd)} by fast rails before the debits could be returned. This entity has "
        f"{counted(v.entity_ach_debits_all, 'ACH debit')} so far, and {aged}."
    )


UNAUTHORIZED: Final = Signal[FeatureVector](
    "TRS-RET-01",
    "unauthorized_return",
    "An ACH debit sent, after one unauthorized return, or two and more, of the entity's debits or of those with the "
    "counterparty, in 60 days.",
    _unauthorized_count,
    lambda v, _: (
        f"{counted(v.entity_unauthorized_returns_60d, 'unauthorized return')} of this entity's debits in 60 days, and "
        f"{v.counterparty_unauthorized_returns_60d} of debits with this counterparty."
    ),
    source="Nacha Operating Rules: R05, R07, R10, R11, R29 and R51; weights [P]",
    unit="returns in 60 days",
    of_attempts=True,
    rails=ACH_ONLY,
)
ABUSE: Final = Signal[FeatureVector](
    "TRS-RET-02",
    "return_code_abuse",
    "At least 2 returns in 30 days of the ACH debits sent, and as many as a fifth of the debits of that time.",
    _returned_percent,
    lambda v, _: f"{v.entity_returns_30d} of {counted(v.entity_ach_debits_30d, 'ACH debit')} in 30 days were returned.",
    unit="percent of the debits of 30 days",
    of_attempts=True,
    rails=ACH_ONLY,
)
REDEBIT: Final = Signal[FeatureVector](
    "TRS-RET-03",
    "redebit_after_return",
    "An ACH debit of a counterparty within 5 days of an R07, R10, R11 or R29.",
    _redebit_days,
    lambda _, days: f"Debits this counterparty again {counted(days, 'day')} after a return as R07, R10, R11 or R29.",
    source="Nacha Operating Rules limit reinitiation after a return; days [P]",
    unit="days since the return",
    least=0,
    rises=False,
    of_attempts=True,
    hard=True,
    rails=ACH_ONLY,
)
PROBING: Final = Signal[FeatureVector](
    "TRS-RET-04",
    "account_probing",
    "R02, R03, R04 or R20 from at least 2 counterparties in 30 days.",
    lambda v: v.entity_probing_returns_30d,
    lambda _, count: f"Returns as R02, R03, R04 or R20 from {counted(count, 'counterparty')} in 30 days.",
    source="Nacha Operating Rules (administrative returns); count [P]",
    unit="counterparties in 30 days",
    of_attempts=True,
    rails=ACH_ONLY,
)
SANCTIONS_RETURN: Final = Signal[FeatureVector](
    "TRS-RET-06",
    "sanctions_return",
    "An ACH entry sent to the counterparty came back as R16: its account is frozen, or OFAC ordered the return.",
    lambda v: v.counterparty_frozen_returns,
    lambda _, count: f"{counted(count, 'ACH entry')} with this counterparty came back as R16.",
    source="Nacha Operating Rules: R16 (account frozen, or entry returned per OFAC instruction); weight [P]",
    unit="returns",
    of_attempts=True,
    hard=True,
)
FLOAT: Final = Signal[FeatureVector](
    "TRS-RET-05",
    "ach_float",
    "A young entity, or one with its first ACH debit, sends 80 % of what it pulled before the debits can come back.",
    _floats,
    _float_sentence,
    source="Nacha Operating Rules (returns within 2 banking days); figures [P]",
    edges=_float_edges,
    rails=FAST_RAILS,
)

SIGNALS: Final = (UNAUTHORIZED, ABUSE, REDEBIT, PROBING, FLOAT, SANCTIONS_RETURN)
POINTS: Final = (
    points_from(UNAUTHORIZED.id, (1, 15), (2, 30)),
    points_from(ABUSE.id, (RETURNS_SHARE_PERCENT, 20)),
    points_from(REDEBIT.id, (0, 20), below=REDEBIT_DAYS + 1),
    points_from(PROBING.id, (PROBED_COUNTERPARTIES, 20)),
    points_when(FLOAT.id, 25),
    points_from(SANCTIONS_RETURN.id, (1, 30)),
)
"""Of the default card."""


def _is_clean(v: FeatureVector) -> bool:
    """A long history without a return, with a party that the entity itself knows; 60 and 5 [P].

    That the program knows the party says nothing: everyone's stolen card is used at the same large merchants.
    """
    is_known = (v.pair_count_of_newest_64 or 0) >= KNOWN_PARTY_TRANSFERS
    if not is_known or v.entity_prior_transfers < CLEAN_TRANSFERS:
        return False
    return not v.entity_prior_returns and not v.counterparty_prior_returns


CLEAN: Final = Signal[FeatureVector](
    "TRS-HIS-01",
    "clean_history",
    "At least 60 earlier transfers of the entity, and 5 of its newest 64 the same way with this party, none returned.",
    _is_clean,
    lambda v, _: (
        f"{v.entity_prior_transfers:,} earlier transfers by this entity, {v.pair_count_of_newest_64} of its newest 64 "
        "with this party; none was returned."
    ),
    of_attempts=True,
    mitigates=True,
)

HISTORY_SIGNALS: Final = (CLEAN,)
HISTORY_POINTS: Final = (points_when(CLEAN.id, -5),)
"""Of the default card."""
