"""Amounts of other currencies counted at the bank's daily rates."""

from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.money import MOST_COUNTED_CENTS, RateTable, UsdRate, cents_at
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

DIGITS = {"JPY": 0, "EUR": 2, "KWD": 3}


def day(offset: int) -> str:
    return format_instant(T0 + offset * DAY_US)[:10]


def bring_rates(story: ShardStory, version: str, *rates: tuple[str, str, str], at: int = T0) -> None:
    body = {"rates": [{"currency": currency, "day": of, "rate": rate} for currency, of, rate in rates]}
    entry = PolicyEntry(
        tenant_id="tenant_1", version=version, body=body, action_id=f"action_{version}", of_program=False
    )
    story.append(EntryKind.POLICY, msgspec.json.encode(entry), at=at)


def pay(story: ShardStory, currency: str, amount: int, **over: object) -> TransferRow:
    at = over.pop("at", T0)
    assert isinstance(at, int)
    usual: bank.Data = {
        "currency_code": currency,
        "amount": amount,
        "instructed_amount": amount,
        "instructed_currency_code": currency,
        "settled_amount": None,
        "settled_currency_code": None,
        "created_at": bank.rfc3339(at),
        "updated_at": bank.rfc3339(at),
    }
    story.deliver("swift.outgoing_transfer.submitted", bank.an_international_wire(**usual | over), at=at)
    return story.all(TransferRow)[-1]


def ask_about(story: ShardStory, currency: str, amount: int, at: int = T0) -> tuple[int | None, UsdRate | None, bool]:
    proposed = ProposedTransfer(
        rail=Rail.INTL_WIRE,
        direction=Direction.OUTGOING,
        amount_cents=str(amount),
        currency=currency,
        counterparty=ProposedCounterparty(name="Muster GmbH", country_code="DE"),
    )
    asked = assess_proposed(story.program, proposed, at=at)
    return asked.assessment.vector.amount_cents, asked.usd_rate, "amount_not_in_usd" in asked.degraded_reasons


@pytest.mark.parametrize(
    ("currency", "amount", "rate", "cents"),
    [
        ("JPY", 950_000, "0.0065", 617_500),
        ("EUR", 900_000, "1.087", 978_300),
        ("KWD", 1_250, "3.26", 408),  # 1.250 KWD are 4.075 dollars: half a cent, to the even one
        ("KWD", 1_250, "3.252", 406),  # 4.065
        ("EUR", 1, "0.5", 0),
        ("EUR", 3, "0.5", 2),
    ],
)
def test_given_a_rate_of_its_day_then_an_amount_counts_at_it_and_the_answers_name_it(
    currency: str, amount: int, rate: str, cents: int
) -> None:
    story = ShardStory()
    bring_rates(story, "fx-v1", (currency, day(0), rate), (currency, day(-1), "9"), (currency, day(1), "8"))

    asked = ask_about(story, currency, amount)
    row = pay(story, currency, amount)

    named = UsdRate(currency=currency, day=day(0), rate=rate, version="fx-v1")
    assert asked == (cents, named, False)
    assert story.vector.amount_cents == cents
    assert (row.amount_cents, row.currency) == (amount, currency)
    assert (row.usd_rate, row.usd_rate_day, row.usd_rate_version) == (rate, day(0), "fx-v1")


@pytest.mark.parametrize(("age", "counts"), [(0, True), (1, True), (7, True), (8, False), (-1, False)])
def test_given_an_earlier_rate_then_it_counts_for_seven_days(age: int, counts: bool) -> None:  # noqa: FBT001
    story = ShardStory()
    bring_rates(story, "fx-v1", ("EUR", day(-age), "2"))

    asked = ask_about(story, "EUR", 100)
    row = pay(story, "EUR", 100)

    assert story.vector.amount_cents == asked[0] == (200 if counts else None)
    assert row.usd_rate_day == (day(-age) if counts else None)
    assert asked[2] is not counts


def test_given_us_dollars_that_the_bank_states_then_no_rate_counts() -> None:
    story = ShardStory()
    bring_rates(story, "fx-v1", ("EUR", day(0), "2"))

    row = pay(story, "EUR", 100, settled_amount=110, settled_currency_code="USD")

    assert (story.vector.amount_cents, row.usd_rate) == (110, None)


@pytest.mark.parametrize("currency", ["GBP", "392", "XXX"])
def test_given_a_currency_without_a_rate_then_the_amount_is_not_in_us_dollars(currency: str) -> None:
    story = ShardStory()
    bring_rates(story, "fx-v1", ("EUR", day(0), "2"))

    pay(story, currency, 100)

    assert story.vector.amount_cents is None


def test_given_a_later_policy_then_a_transfer_keeps_its_rate_until_its_amount_changes() -> None:
    story = ShardStory()
    bring_rates(story, "fx-v1", ("EUR", day(0), "2"))
    pay(story, "EUR", 100)
    bring_rates(story, "fx-v2", ("EUR", day(0), "3"), at=T0 + HOUR_US)

    later: bank.Data = {"updated_at": bank.rfc3339(T0 + 2 * HOUR_US), "created_at": bank.rfc3339(T0)}
    same = pay(story, "EUR", 100, at=T0 + 2 * HOUR_US, status="COMPLETED", **later)
    assert (same.usd_rate, same.usd_rate_version) == ("2", "fx-v1")

    changed = pay(story, "EUR", 500, at=T0 + 3 * HOUR_US, **later | {"updated_at": bank.rfc3339(T0 + 3 * HOUR_US)})
    assert (story.vector.amount_cents, changed.usd_rate, changed.usd_rate_version) == (1_500, "3", "fx-v2")

    stated = pay(
        story,
        "EUR",
        500,
        at=T0 + 4 * HOUR_US,
        settled_amount=560,
        settled_currency_code="USD",
        **later | {"updated_at": bank.rfc3339(T0 + 4 * HOUR_US)},
    )
    assert (story.vector.amount_cents, stated.usd_rate) == (560, None)


def test_given_a_stored_state_then_the_rates_and_their_transfers_are_the_same() -> None:
    story = ShardStory()
    bring_rates(story, "fx-v1", ("EUR", day(0), "2"))
    pay(story, "EUR", 100)

    story.state = ShardState.loaded(iter(list(story.state.dump())))

    assert ask_about(story, "EUR", 100)[0] == 200
    (rate,) = story.program.rates.values()
    assert rate == UsdRate(currency="EUR", day=day(0), rate="2", version="fx-v1")


RATES = st.decimals(min_value="0.000000000001", max_value="999999", places=12)


@given(st.sampled_from(sorted(DIGITS)), st.integers(0, 10**18 - 1), RATES)
def test_given_any_rate_then_the_cents_are_exact_and_rounded_half_to_even(
    currency: str, amount: int, rate: Decimal
) -> None:
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(amount).scaleb(-DIGITS[currency]) * rate * 100
        expected = int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))

    counted = cents_at(amount, UsdRate(currency=currency, day=day(0), rate=f"{rate:f}", version="fx-v1"))

    assert counted == min(expected, MOST_COUNTED_CENTS)


@given(st.lists(st.integers(0, 40), max_size=12, unique=True), st.integers(0, 60))
def test_given_any_days_then_the_newest_of_a_week_counts(days: list[int], at: int) -> None:
    table = RateTable(("EUR", day(each), str(each + 1)) for each in days)

    found = table.at("EUR", T0 + at * DAY_US, "fx-v1")

    usable = [each for each in days if at - 7 <= each <= at]
    assert (None if found is None else found.rate) == (str(max(usable) + 1) if usable else None)
