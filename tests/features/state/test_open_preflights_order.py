"""Open pre-flights against a list of them that is searched from end to end."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.instants import HOUR_US, SECOND_US
from clearhold.features.state.open_preflights import CounterpartyDetails, OpenPreflights
from tests.support.clock import T0

DAY_US = 24 * HOUR_US
SIDES = st.builds(
    CounterpartyDetails,
    id=st.sampled_from((None, "cpty_1", "cpty_2")),
    routing=st.sampled_from((None, "021000021", "026009593")),
    last4=st.sampled_from((None, "1111", "2222")),
    name=st.sampled_from((None, "Acme Supplies", "ACME  supplies", "Borealis")),
)
GAPS = st.sampled_from((1, SECOND_US, HOUR_US, 23 * HOUR_US, DAY_US, 3 * DAY_US))
SHIFTS = st.sampled_from((0, -1, 1, -5 * SECOND_US, -5 * SECOND_US - 1, HOUR_US, DAY_US, DAY_US + 1))


class Step(NamedTuple):
    """A question is asked, or a transfer lands some time around the newest question, or time passes."""

    what: str
    side: CounterpartyDetails
    cents: int
    gap: int
    shift: int


STEPS = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(("ask", "ask", "land", "land", "forget", "reload")),
        side=SIDES,
        cents=st.sampled_from((100, 200)),
        gap=GAPS,
        shift=SHIFTS,
    ),
    max_size=30,
)


class Asked(NamedTuple):
    at: int
    id: str
    side: CounterpartyDetails
    cents: int


def same_side(asked: CounterpartyDetails, landed: CounterpartyDetails) -> bool:
    """By id; by account; by name, unless both carry details that differ; or because neither names anybody."""
    if asked.id is not None and asked.id == landed.id:
        return True
    accounts = (asked.routing, asked.last4), (landed.routing, landed.last4)
    if None not in accounts[0] and accounts[0] == accounts[1]:
        return True
    if asked.name is not None and landed.name is not None:
        differ = any(None not in pair and pair[0] != pair[1] for pair in zip(*accounts, strict=True))
        return " ".join(asked.name.lower().split()) == " ".join(landed.name.lower().split()) and not differ
    return not (names_somebody(asked) or names_somebody(landed))


def names_somebody(side: CounterpartyDetails) -> bool:
    return side.id is not None or side.name is not None or None not in (side.routing, side.last4)


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_given_questions_in_order_when_transfers_land_then_each_takes_the_oldest_question_about_it(
    steps: list[Step],
) -> None:
    now, preflights, waiting = T0, OpenPreflights(), list[Asked]()
    for number, step in enumerate(steps):
        now += step.gap
        if step.what == "ask":
            preflights.add(f"pre_{number}", step.side, f"USD {step.cents}", now)
            waiting.append(Asked(now, f"pre_{number}", step.side, step.cents))
        elif step.what == "forget":
            preflights.expire(now)
            waiting = [asked for asked in waiting if asked.at >= now - 2 * DAY_US]
        elif step.what == "reload":
            preflights, dumped = OpenPreflights(), preflights.dump()
            preflights.load(dumped)
        else:
            at = (waiting[-1].at if waiting else now) + step.shift
            expected = next(
                (
                    asked
                    for asked in waiting
                    if asked.cents == step.cents
                    and -5_000 <= at // 1_000 - asked.at // 1_000 <= 86_400_000  # milliseconds
                    and same_side(asked.side, step.side)
                ),
                None,
            )
            assert preflights.match(step.side, f"USD {step.cents}", at) == (
                expected.id if expected is not None else None
            )
            waiting = [asked for asked in waiting if asked is not expected]
