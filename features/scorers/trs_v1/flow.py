"""The flow rules of trs-v1: the shapes that money makes between payers and payees.

Unit    distinct nodes, hops and cents, taken from a bounded part of the graph (``docs/features.md``)
Source  named at each rule; [P] is proposed here, to be tuned on labels

Hubs such as payroll fan out by design, so every count is also compared with the node's own weeks.
"""

from typing import Final

from features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from features.catalogue.vector import FeatureVector, pays
from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import BUT_CARD, BUT_CHECK_AND_CARD, ReasonKind, Rule
from features.scorers.sentences import money
from features.scorers.trs_v1.geography import words_of

FAN_COUNT: Final = 5
FAN_COUNT_LONG: Final = 8
FAN_NEW_PAYEES: Final = 3
GATHER_SCATTER_COUNT: Final = 5
PASSED_ON_FROM_CENTS: Final = 100_000
PASSED_ON_PERCENT: Final = 80
LEFT_PERCENT: Final = 20
NEW_MONEY_FROM_CENTS: Final = 100_000
YOUNG_DAYS: Final = 90
LAYERING_HOPS: Final = 3
LAYERING_FROM_CENTS: Final = 100_000
LAYERING_POINTS: Final = (20, 25, 30, 35)
HOME_COUNTRY: Final = "US"

FAN_IN: Final = ReasonKind(
    "TRS-FLO-01",
    "fan_in",
    (12,),
    Family.FLOW,
    "At least 5 payers of one side in 24 h, or 8 in 7 days, and 3 times its usual week.",
    "5 in 24 h: Tazama; 8 and the factor [P]; AMLSim patterns have 5 to 10 members",
    rails=BUT_CHECK_AND_CARD,
)
FAN_OUT: Final = ReasonKind(
    "TRS-FLO-02",
    "fan_out",
    (12,),
    Family.FLOW,
    "At least 5 payees of one side in 8 h, or 8 in 24 h, and 3 times its usual week; 3 of them new to it in 14 days.",
    "5 in 8 h: Tazama; 8, the factor and who is new [P]",
    rails=BUT_CHECK_AND_CARD,
)
SCATTER_GATHER: Final = ReasonKind(
    "TRS-FLO-03",
    "scatter_gather",
    (25,),
    Family.FLOW,
    "At least 3 payers of the receiving side had been paid by one common third before, within 7 days.",
    "Shape: IBM AMLSim; count [P]",
    rails=BUT_CHECK_AND_CARD,
)
GATHER_SCATTER: Final = ReasonKind(
    "TRS-FLO-04",
    "gather_scatter",
    (25,),
    Family.FLOW,
    "The paying side took from at least 5 payers and paid at least 5 payees in 7 days, each 3 times its usual week.",
    "Shape: IBM AMLSim; counts [P]",
    rails=BUT_CHECK_AND_CARD,
)
RAPID: Final = ReasonKind(
    "TRS-FLO-05",
    "rapid_in_out",
    (25,),
    Family.FLOW,
    "Within 48 h the entity sent on 80 % of $1,000 or more; a fifth is left; not known payers' money to a known payee.",
    "FFIEC BSA/AML Examination Manual, appendix F (received, then wired onward); figures [P]",
    rails=BUT_CARD,
)
FUNNEL: Final = ReasonKind(
    "TRS-FLO-06",
    "funnel_mule",
    (35,),
    Family.FLOW,
    "Money of many payers passed on at once by a young entity, to a stranger, or to another country.",
    "FinCEN FIN-2014-A005 (funnel accounts) and FIN-2020-A003 (money mules); figures [P]",
    hard=True,
    rails=BUT_CARD,
)
ROUND_TRIP: Final = ReasonKind(
    "TRS-FLO-07",
    "round_trip",
    (25,),
    Family.FLOW,
    "Value left the receiving side and at least 80 % of it comes back within 7 days.",
    "FFIEC BSA/AML Examination Manual, appendix F (funds that return); figures [P]",
    rails=BUT_CARD,
)
LAYERING: Final = ReasonKind(
    "TRS-FLO-08",
    "layering_hops",
    LAYERING_POINTS,
    Family.FLOW,
    "It ends a chain of at least 3 hops of $1,000 and more; 20 points at 3 hops and 5 for each further one.",
    "[P]",
    rails=BUT_CHECK_AND_CARD,
)


def is_quiet(v: FeatureVector) -> bool:
    """True when no rule of this module can fire: most transfers are, and leave after one look."""
    return (
        v.entity_in_cents_48h < PASSED_ON_FROM_CENTS
        and v.fan_in_count_24h < FAN_COUNT
        and v.fan_in_count_7d < FAN_COUNT_LONG
        and v.fan_out_count_8h < FAN_COUNT
        and v.fan_out_count_24h < FAN_COUNT_LONG
        and v.gathered_count_7d < GATHER_SCATTER_COUNT
        and v.scatter_gather_middles < SCATTER_GATHER_MIDDLES
        and not v.typology_round_trip
        and (v.typology_layering_hops or 0) < LAYERING_HOPS
    )


def fan_in(v: FeatureVector) -> Reason | None:
    """Many payers of one side: 5 in 24 h (Tazama) or 8 in 7 days [P], and 3 times its own usual week [P]."""
    usual = v.fan_in_usual_week
    if not _unusual(v.fan_in_count_24h, FAN_COUNT, usual) and not _unusual(v.fan_in_count_7d, FAN_COUNT_LONG, usual):
        return None
    return FAN_IN.reason(
        f"{v.fan_in_count_24h} payers of the receiving side in 24 h and {v.fan_in_count_7d} in 7 days "
        f"({_usual_text(usual)} payers a week)."
    )


def fan_out(v: FeatureVector) -> Reason | None:
    """Many payees of one side: 5 in 8 h (Tazama) or 8 in 24 h [P], and 3 times its own usual week [P].

    Who pays wages fans out by design on few days, which no usual week shows: so 3 of the payees must be new [P].
    """
    usual, new = v.fan_out_usual_week, v.fan_out_new_count_24h
    if not _unusual(v.fan_out_count_8h, FAN_COUNT, usual) and not _unusual(v.fan_out_count_24h, FAN_COUNT_LONG, usual):
        return None
    if new is not None and new < FAN_NEW_PAYEES:
        return None
    novelty = "" if new is None else f"; {new} of 24 h were first paid less than 14 days ago"
    return FAN_OUT.reason(
        f"{v.fan_out_count_8h} payees of the paying side in 8 h and {v.fan_out_count_24h} in 24 h "
        f"({_usual_text(usual)} payees a week){novelty}."
    )


def scatter_gather(v: FeatureVector) -> Reason | None:
    """Spread over middles and collected again (AMLSim); 3 middles [P]."""
    if v.scatter_gather_middles < SCATTER_GATHER_MIDDLES:
        return None
    return SCATTER_GATHER.reason(
        f"{v.scatter_gather_middles} payers of the receiving side in 7 days had been paid by one third side before."
    )


def gather_scatter(v: FeatureVector) -> Reason | None:
    """Collected from many and spread to many (AMLSim); 5 each and 3 times the own usual week [P]."""
    if v.gathered_count_7d < GATHER_SCATTER_COUNT or not pays(v):
        return None
    if not _unusual(v.gathered_count_7d, GATHER_SCATTER_COUNT, v.gathered_usual_week):
        return None
    if not _unusual(v.fan_out_count_7d, GATHER_SCATTER_COUNT, v.fan_out_usual_week):
        return None
    return GATHER_SCATTER.reason(
        f"{v.gathered_count_7d} payers of the paying side in 7 days and {v.fan_out_count_7d} payees "
        f"({_usual_text(v.gathered_usual_week)} payers and {_usual_text(v.fan_out_usual_week)} payees a week)."
    )


def rapid_in_out(v: FeatureVector) -> Reason | None:
    """Received, then sent on: $1,000, 48 h, 80 %, and a fifth of the peak left [P].

    Money of payers known for 60 days that goes to a payee paid before is payroll or treasury. That it happens again
    and again is no excuse: a mule does so too.
    """
    if not _passes_through(v) or _is_usual_business(v):
        return None
    return RAPID.reason(
        f"{money(v.entity_out_cents_48h)} sent of {money(v.entity_in_cents_48h)} received in 48 h, "
        f"{money(v.entity_new_money_cents_48h or 0)} of it from payers not known for 60 days."
    )


def funnel_mule(v: FeatureVector) -> Reason | None:
    """Many payers, sent on at once, and one thing more: young (90 days [P]), a stranger, another country (FinCEN)."""
    if not _passes_through(v):
        return None
    usual = v.gathered_usual_week
    if not _unusual(v.gathered_count_24h, FAN_COUNT, usual) and not _unusual(
        v.gathered_count_7d, FAN_COUNT_LONG, usual
    ):
        return None
    marks = _marks_of_a_mule(v)
    if not marks:
        return None
    return FUNNEL.reason(
        f"{v.gathered_count_24h} payers in 24 h and {v.gathered_count_7d} in 7 days, "
        f"and {money(v.entity_out_cents_48h)} sent of {money(v.entity_in_cents_48h)} received in 48 h; "
        f"{', '.join(marks)}."
    )


def round_trip(v: FeatureVector) -> Reason | None:
    """Money that comes back: 80 %, 7 days [P]."""
    if not v.typology_round_trip or v.amount_cents is None:
        return None
    return ROUND_TRIP.reason(f"{money(v.amount_cents)} comes back to where it left within 7 days.")


def layering_hops(v: FeatureVector) -> Reason | None:
    """A chain through several hands: 3 hops of $1,000 [P]."""
    hops, least = v.typology_layering_hops, v.layering_least_cents
    if hops is None or hops < LAYERING_HOPS or least is None or least < LAYERING_FROM_CENTS:
        return None
    weight = LAYERING_POINTS[min(hops - LAYERING_HOPS, len(LAYERING_POINTS) - 1)]
    return LAYERING.reason(f"The last of {hops} hops, each of {money(least)} or more.", weight)


def passed_on_line_cents(v: FeatureVector) -> int:
    """The least outgoing cents that count as passing on what came in."""
    return -(-v.entity_in_cents_48h * PASSED_ON_PERCENT // 100)


def _passes_through(v: FeatureVector) -> bool:
    """The balance is measured only where money is sent on. Money that left before any came was its own."""
    peak, left = v.entity_peak_cents_48h, v.entity_left_cents_48h
    if peak is None or left is None or not pays(v) or v.entity_in_cents_48h < PASSED_ON_FROM_CENTS:
        return False
    return v.entity_out_cents_48h >= passed_on_line_cents(v) and peak > 0 and left * 100 <= LEFT_PERCENT * peak


def _is_usual_business(v: FeatureVector) -> bool:
    new_money = v.entity_new_money_cents_48h
    return new_money is not None and new_money < NEW_MONEY_FROM_CENTS and v.pair_first_time is False


def _unusual(count: int, floor: int, usual_week: int | None) -> bool:
    """At or over the floor, and three times the usual week when there is one; for a day too, because of paydays."""
    return count >= floor and (usual_week is None or count >= USUAL_WEEK_FACTOR * usual_week)


def _usual_text(usual_week: int | None) -> str:
    return "no usual number of" if usual_week is None else f"a usual {usual_week}"


def _marks_of_a_mule(v: FeatureVector) -> list[str]:
    """A program that declared no country is at home in the United States; an unknown country is no other one."""
    marks = []
    if v.entity_age_days is not None and v.entity_age_days <= YOUNG_DAYS:
        marks.append(f"the entity is {v.entity_age_days} days old")
    if v.counterparty_first_time:
        marks.append("the counterparty is new")
    home = v.declared_countries or HOME_COUNTRY
    if v.counterparty_country is not None and v.counterparty_country not in words_of(home):
        marks.append(f"the counterparty is in {v.counterparty_country}")
    return marks


RULES: Final[tuple[Rule, ...]] = (
    Rule(fan_in, (FAN_IN,)),
    Rule(fan_out, (FAN_OUT,)),
    Rule(scatter_gather, (SCATTER_GATHER,)),
    Rule(gather_scatter, (GATHER_SCATTER,)),
    Rule(rapid_in_out, (RAPID,)),
    Rule(funnel_mule, (FUNNEL,)),
    Rule(round_trip, (ROUND_TRIP,)),
    Rule(layering_hops, (LAYERING,)),
)
