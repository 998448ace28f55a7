"""The flow signals of trs-v1: the shapes of money flows between payers and payees.

Unit    distinct nodes, hops and cents, taken from a bounded part of the graph (``docs/features.md``)
Source  named at each signal; [P] is proposed here, to be tuned on labels

Hubs such as payroll fan out by design, so every count is also compared with the node's own weeks.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from clearhold.features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from clearhold.features.catalogue.vector import FeatureVector, pays
from clearhold.features.core.money import counted, money
from clearhold.features.core.principal import declared_words
from clearhold.features.core.scorecards import points_from, points_when
from clearhold.features.scorers.signal import BUT_CARD, BUT_CHECK_AND_CARD, Signal

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
HOME_COUNTRY: Final = "US"


def may_fire(v: FeatureVector) -> bool:
    """False when no signal of this module can fire, as for most transfers: one look decides it."""
    return not (
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


def _fans_in(v: FeatureVector) -> bool:
    """Many payers of one side: 5 in 24 h (Tazama) or 8 in 7 days [P], and 3 times its usual week [P]."""
    usual = v.fan_in_usual_week
    return _unusual(v.fan_in_count_24h, FAN_COUNT, usual) or _unusual(v.fan_in_count_7d, FAN_COUNT_LONG, usual)


def _fans_out(v: FeatureVector) -> bool:
    """Many payees of one side: 5 in 8 h (Tazama) or 8 in 24 h [P], and 3 times its usual week [P].

    An employer fans out by design on few days, which no usual week shows: so 3 of the payees must be new [P].
    """
    usual, new = v.fan_out_usual_week, v.fan_out_new_count_24h
    if not _unusual(v.fan_out_count_8h, FAN_COUNT, usual) and not _unusual(v.fan_out_count_24h, FAN_COUNT_LONG, usual):
        return False
    return new is None or new >= FAN_NEW_PAYEES


def _fan_out_sentence(v: FeatureVector, _: int) -> str:
    hours, payees = (8, v.fan_out_count_8h) if v.fan_out_count_8h >= FAN_COUNT else (24, v.fan_out_count_24h)
    payer = "this entity" if pays(v) else "the payer"
    usual = v.fan_out_usual_week
    text = f"Paid {counted(payees, 'different payee')} in {hours} hours; {_usually(payer, 'pays', usual)}."
    new, all_of_day = v.fan_out_new_count_24h, v.fan_out_count_24h
    if new is None:
        return text
    of = "them" if all_of_day == payees else f"the {all_of_day} of 24 hours"
    return f"{text} {new} of {of} {'was' if new == 1 else 'were'} new."


def _fan_in_sentence(v: FeatureVector, _: int) -> str:
    time, payers = (
        ("24 hours", v.fan_in_count_24h) if v.fan_in_count_24h >= FAN_COUNT else ("7 days", v.fan_in_count_7d)
    )
    receiver = "the payee" if pays(v) else "this entity"
    usual = _usually(receiver, "receives from", v.fan_in_usual_week)
    return f"Received from {counted(payers, 'different payer')} in {time}; {usual}."


def _gather_scatter_sentence(v: FeatureVector, _: int) -> str:
    gathered = _usually("it", "receives from", v.gathered_usual_week)
    scattered = _usually("it", "pays", v.fan_out_usual_week)
    return (
        f"Received from {counted(v.gathered_count_7d, 'payer')} in 7 days; {gathered}. "
        f"Paid {counted(v.fan_out_count_7d, 'payee')} in the same time; {scattered}."
    )


def _middles(v: FeatureVector) -> int:
    """Spread over middles and collected again (AMLSim); 3 middles [P]."""
    return v.scatter_gather_middles if v.scatter_gather_middles >= SCATTER_GATHER_MIDDLES else 0


def _gathers_and_scatters(v: FeatureVector) -> bool:
    """Collected from many and spread to many (AMLSim); 5 each and 3 times the own usual week [P]."""
    if v.gathered_count_7d < GATHER_SCATTER_COUNT or not pays(v):
        return False
    return _unusual(v.gathered_count_7d, GATHER_SCATTER_COUNT, v.gathered_usual_week) and _unusual(
        v.fan_out_count_7d, GATHER_SCATTER_COUNT, v.fan_out_usual_week
    )


def _sends_on(v: FeatureVector) -> bool:
    """Received, then sent on: $1,000, 48 h, 80 %, and a fifth of the peak left [P].

    Money of payers known for 60 days that goes to a payee paid before is payroll or treasury. Repetition is no excuse:
    a mule repeats it too.
    """
    return _passes_through(v) and not _is_usual_business(v)


def _is_funnel(v: FeatureVector) -> bool:
    """Many payers, sent on at once, and one more mark: young (90 days [P]), a stranger, another country (FinCEN)."""
    if not _passes_through(v):
        return False
    usual = v.gathered_usual_week
    if not _unusual(v.gathered_count_24h, FAN_COUNT, usual) and not _unusual(
        v.gathered_count_7d, FAN_COUNT_LONG, usual
    ):
        return False
    return bool(_marks_of_a_mule(v))


def _hops(v: FeatureVector) -> int | None:
    """A chain through several hands: 3 hops of $1,000 [P]."""
    hops, least = v.typology_layering_hops, v.layering_least_cents
    if hops is None or hops < LAYERING_HOPS or least is None or least < LAYERING_FROM_CENTS:
        return None
    return hops


def _passed_on_line_cents(v: FeatureVector) -> int:
    """The least outgoing cents that count as passing on the received money."""
    return -(-v.entity_in_cents_48h * PASSED_ON_PERCENT // 100)


def _passed_on_edges(v: FeatureVector, _: Sequence[int]) -> Iterator[int]:
    if v.amount_cents is None:
        return
    yield _passed_on_line_cents(v) - (v.entity_out_cents_48h - v.amount_cents)
    if v.entity_peak_cents_48h is not None and v.entity_left_cents_48h is not None:
        yield v.amount_cents + v.entity_left_cents_48h - v.entity_peak_cents_48h * LEFT_PERCENT // 100


def _passes_through(v: FeatureVector) -> bool:
    """The balance is measured only where money is sent on. Money that left before any came was the entity's own."""
    peak, left = v.entity_peak_cents_48h, v.entity_left_cents_48h
    if peak is None or left is None or not pays(v) or v.entity_in_cents_48h < PASSED_ON_FROM_CENTS:
        return False
    return v.entity_out_cents_48h >= _passed_on_line_cents(v) and peak > 0 and left * 100 <= LEFT_PERCENT * peak


def _is_usual_business(v: FeatureVector) -> bool:
    new_money = v.entity_new_money_cents_48h
    return new_money is not None and new_money < NEW_MONEY_FROM_CENTS and v.pair_first_time is False


def _unusual(count: int, floor: int, usual_week: int | None) -> bool:
    """At or over the floor, and three times the usual week when there is one; for a day too, because of paydays."""
    return count >= floor and (usual_week is None or count >= USUAL_WEEK_FACTOR * usual_week)


def _usually(who: str, verb: str, usual_week: int | None) -> str:
    return "there is no usual week yet" if usual_week is None else f"{who} usually {verb} {usual_week:,} a week"


def _marks_of_a_mule(v: FeatureVector) -> list[str]:
    """A program without declared countries is at home in the United States; an unknown country never differs."""
    marks = []
    if v.entity_age_days is not None and v.entity_age_days <= YOUNG_DAYS:
        marks.append(f"the entity is {v.entity_age_days} days old")
    if v.counterparty_first_time:
        marks.append("the counterparty is new")
    home = v.declared_countries or HOME_COUNTRY
    if v.counterparty_country is not None and v.counterparty_country not in declared_words(home):
        marks.append(f"the counterparty is in {v.counterparty_country}")
    return marks


FAN_IN: Final = Signal[FeatureVector](
    "TRS-FLO-01",
    "fan_in",
    "At least 5 payers of one side in 24 h, or 8 in 7 days, and 3 times its usual week.",
    _fans_in,
    _fan_in_sentence,
    source="5 in 24 h: Tazama; 8 and the factor [P]; AMLSim patterns have 5 to 10 members",
    rails=BUT_CHECK_AND_CARD,
)
FAN_OUT: Final = Signal[FeatureVector](
    "TRS-FLO-02",
    "fan_out",
    "At least 5 payees of one side in 8 h, or 8 in 24 h, and 3 times its usual week; 3 of them new to it in 14 days.",
    _fans_out,
    _fan_out_sentence,
    source="5 in 8 h: Tazama; 8, the factor and who is new [P]",
    rails=BUT_CHECK_AND_CARD,
)
SCATTER_GATHER: Final = Signal[FeatureVector](
    "TRS-FLO-03",
    "scatter_gather",
    "At least 3 payers of the receiving side had been paid by one common third before, within 7 days.",
    _middles,
    lambda _, middles: f"{middles} payers of the last 7 days had been paid by the same third party.",
    source="Shape: IBM AMLSim; count [P]",
    unit="payers in between",
    rails=BUT_CHECK_AND_CARD,
)
GATHER_SCATTER: Final = Signal[FeatureVector](
    "TRS-FLO-04",
    "gather_scatter",
    "The paying side took from at least 5 payers and paid at least 5 payees in 7 days, each 3 times its usual week.",
    _gathers_and_scatters,
    _gather_scatter_sentence,
    source="Shape: IBM AMLSim; counts [P]",
    rails=BUT_CHECK_AND_CARD,
)
RAPID: Final = Signal[FeatureVector](
    "TRS-FLO-05",
    "rapid_in_out",
    "Within 48 h at least $1,000 came in, 80 % of it went out, and at most a fifth is left; not where the payee was "
    "paid before and less than $1,000 came from payers known for under 60 days.",
    _sends_on,
    lambda v, _: (
        f"Received {money(v.entity_in_cents_48h)} in 48 hours and sent {money(v.entity_out_cents_48h)}; "
        f"{money(v.entity_new_money_cents_48h or 0)} came from payers known for less than 60 days."
    ),
    source="FFIEC BSA/AML Examination Manual, appendix F (received, then wired onward); figures [P]",
    edges=_passed_on_edges,
    rails=BUT_CARD,
)
FUNNEL: Final = Signal[FeatureVector](
    "TRS-FLO-06",
    "funnel_mule",
    "Money of many payers passed on at once by a young entity, to a stranger, or to another country.",
    _is_funnel,
    lambda v, _: (
        f"Received from {counted(v.gathered_count_24h, 'payer')} in 24 hours and {v.gathered_count_7d} in 7 days; "
        f"of {money(v.entity_in_cents_48h)} received in 48 hours it sent {money(v.entity_out_cents_48h)}. "
        f"Also {', '.join(_marks_of_a_mule(v))}."
    ),
    source="FinCEN FIN-2014-A005 (funnel accounts) and FIN-2020-A003 (money mules); figures [P]",
    edges=_passed_on_edges,
    hard=True,
    rails=BUT_CARD,
)
ROUND_TRIP: Final = Signal[FeatureVector](
    "TRS-FLO-07",
    "round_trip",
    "Value left the receiving side and at least 80 % of it comes back within 7 days.",
    lambda v: v.typology_round_trip is True and v.amount_cents is not None,
    lambda v, _: f"{money(v.amount_cents or 0)} returns to the party that sent it out in the last 7 days.",
    source="FFIEC BSA/AML Examination Manual, appendix F (funds that return); figures [P]",
    rails=BUT_CARD,
)
LAYERING: Final = Signal[FeatureVector](
    "TRS-FLO-08",
    "layering_hops",
    "It ends a chain of at least 3 hops of $1,000 and more; 15 points at 3 hops and 5 for each further one.",
    _hops,
    lambda v, hops: f"Last of {hops} transfers in a chain, each of {money(v.layering_least_cents or 0)} or more.",
    unit="hops",
    edges=lambda _v, _: (LAYERING_FROM_CENTS,),
    rails=BUT_CHECK_AND_CARD,
)

SIGNALS: Final = (FAN_IN, FAN_OUT, SCATTER_GATHER, GATHER_SCATTER, RAPID, FUNNEL, ROUND_TRIP, LAYERING)
POINTS: Final = (
    points_when(FAN_IN.id, 0),
    points_when(FAN_OUT.id, 0),
    points_from(SCATTER_GATHER.id, (SCATTER_GATHER_MIDDLES, 0)),
    points_when(GATHER_SCATTER.id, 25, known=0),
    points_when(RAPID.id, 15, known=4),
    points_when(FUNNEL.id, 35),
    points_when(ROUND_TRIP.id, 25, known=0),
    points_from(LAYERING.id, (LAYERING_HOPS, 15), (4, 20), (5, 25), (6, 30), known=0),
)
"""Of the default card. Fans, and money spread and collected, have none: on labelled transfers they were no more often
bad than others (decision 0053). Their detectors do not need points of theirs. Passing money on, alone or through
several hands, is half of a strong shape: many honest entities do so, and a further signal is needed.
"""
