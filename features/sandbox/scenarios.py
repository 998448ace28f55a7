"""Every scenario of the sandbox: the bank's events of a trial, and the alerts that it must open. ``docs/sandbox.md``
and the listing in the API are made from this table.

Amounts are small where they must not matter, and far over any other where they must.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from clearhold.features.core.canonical import SANDBOX_TAG, TAG_DIGITS
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import Rail
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import KNOWN_FOR_US, ComposedEvents, Feed
from clearhold.features.sandbox.parties import HOME, Casting, Draw, Ending, EventFamily, Other, Party, PlannedTransfer

MOST_REPETITIONS: Final = 10


class ScenarioName(StrEnum):
    """The name of a scenario."""

    ACH_CREDIT_CLEAN = "ach_credit_clean"
    ACH_DEBIT_RETURNED_R01 = "ach_debit_returned_r01"
    ACH_DEBIT_RETURNED_R02 = "ach_debit_returned_r02"
    ACH_DEBIT_RETURNED_R08 = "ach_debit_returned_r08"
    ACH_DEBITS_RETURNED_R10 = "ach_debits_returned_r10"
    ACH_INCOMING_DEBIT_NSF = "ach_incoming_debit_nsf"
    WIRE_NEW_COUNTERPARTY = "wire_new_counterparty"
    INTL_WIRE_UNDECLARED_COUNTRY = "intl_wire_undeclared_country"
    REALTIME_REJECTED_AC04 = "realtime_rejected_ac04"
    STRUCTURING_BELOW_THRESHOLD = "structuring_below_threshold"
    ENTITY_MANUAL_REVIEW = "entity_manual_review"
    ENTITY_DENIED = "entity_denied"
    OVERDRAFT_RELEASED = "overdraft_released"
    ACCOUNT_FROZEN = "account_frozen"
    CARD_DECLINES = "card_declines"
    CHECK_DEPOSIT_RETURNED = "check_deposit_returned"


Play = Callable[[Feed], None]


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """``expects`` are the names of the detectors whose alerts it must open; empty where it must open none."""

    name: ScenarioName
    description: str
    rails: tuple[Rail, ...]
    expects: tuple[str, ...] = ()
    play: Play


SCENARIOS: Final[dict[ScenarioName, Scenario]] = {}
"""In the order in which they stand below."""


def compose(scenario: Scenario, program: Program, *, seed: int, run: str, at: int, count: int = 1) -> ComposedEvents:
    """The events of a run that ends ``at`` an instant, ``count`` times with different people.

    Names, amounts and order follow from the program and the seed; ids also from ``run``, so that a scenario can run
    again. The same arguments give the same bytes.
    """
    tag = tag_of(program.id, scenario.name, run)
    draw = Draw(f"{program.id}/{scenario.name}/{seed}")
    feed = Feed(Casting(draw, tag, home=home_of(program)), at, program)
    for _ in range(count):
        scenario.play(feed)
    return feed.composed()


def tag_of(*parts: str) -> str:
    """The part of every id that separates one run from all others."""
    return f"{SANDBOX_TAG}{sha256(msgspec.json.encode(parts)).hexdigest()[:TAG_DIGITS]}"


def home_of(program: Program) -> str:
    """The country in which nothing is unusual for the program."""
    declared = program.declared_countries
    return HOME if HOME in declared or not declared else declared[0]


_LINE_CENTS: Final = (900_100, 989_900)  # just under $10,000
_LARGE_CENTS: Final = (48_500_000, 49_400_000)
_FOREIGN: Final = ("PT", "NL", "NZ", "DK", "IE")  # on no regulator's list
_NO_FOREIGN: Final = f"needs a program that declares countries, and not all of {', '.join(_FOREIGN)}"


def _scenario(name: ScenarioName, *rails: Rail, expects: tuple[str, ...] = ()) -> Callable[[Play], Play]:
    """Lists the function that plays a scenario; its docstring is the description."""

    def listed(play: Play) -> Play:
        description = " ".join((play.__doc__ or "").split())
        SCENARIOS[name] = Scenario(name=name, description=description, rails=rails, expects=expects, play=play)
        return play

    return listed


def _usual(
    feed: Feed, family: EventFamily, *, party: Party | None = None, other: Other | None = None
) -> PlannedTransfer:
    """An ordinary amount from a customer to a new payee, unless others are named."""
    return PlannedTransfer(
        at=feed.at,
        family=family,
        party=party or feed.customer(),
        other=other or feed.casting.person(),
        cents=feed.usual_cents(),
    )


@_scenario(ScenarioName.ACH_CREDIT_CLEAN, Rail.ACH)
def _clean_credit(feed: Feed) -> None:
    """An ordinary ACH credit of a verified customer, from its initiation to its completion."""
    feed.concluded(replace(_usual(feed, EventFamily.ACH), note="salary"))


def _returned_debits(feed: Feed, code: str, count: int = 1) -> None:
    """All of one customer."""
    party = feed.customer()
    for _ in range(count):
        debit = replace(_usual(feed, EventFamily.ACH, party=party), debit=True, sec_code="WEB", note="installment")
        feed.concluded(replace(debit, ending=Ending.RETURNED, code=code))


for _code in ("R01", "R02", "R08"):
    _name = ScenarioName(f"ach_debit_returned_{_code.lower()}")
    _description = f"An ACH debit that settles and comes back two days later: {objects.RETURN_WORDS[_code].lower()}."
    _play = partial(_returned_debits, code=_code)
    SCENARIOS[_name] = Scenario(name=_name, description=_description, rails=(Rail.ACH,), play=_play)


@_scenario(ScenarioName.ACH_DEBITS_RETURNED_R10, Rail.ACH, expects=("unauthorized_return",))
def _not_authorized(feed: Feed) -> None:
    """Two ACH debits of one customer that come back as not authorized. The second return opens the alert; one alone
    opens none.
    """
    _returned_debits(feed, "R10", 2)


@_scenario(ScenarioName.ACH_INCOMING_DEBIT_NSF, Rail.ACH)
def _unfunded_debit(feed: Feed) -> None:
    """Another party's ACH debit over the customer's balance, which the bank then returns."""
    debit = replace(_usual(feed, EventFamily.ACH, other=feed.casting.shop()), incoming=True, debit=True, note="utility")
    feed.concluded(replace(debit, ending=Ending.UNFUNDED, code="R01"))


@_scenario(ScenarioName.WIRE_NEW_COUNTERPARTY, Rail.WIRE, expects=("amount_spike", "first_time_counterparty_large"))
def _large_wire(feed: Feed) -> None:
    """A wire of nearly half a million dollars to a payee that the program never paid."""
    wire = _usual(feed, EventFamily.WIRE, party=feed.customer(large_payments=1))
    feed.concluded(replace(wire, cents=feed.casting.draw.between(*_LARGE_CENTS), note="purchase"))


@_scenario(ScenarioName.INTL_WIRE_UNDECLARED_COUNTRY, Rail.INTL_WIRE, expects=("country_outside_declared",))
def _undeclared_country(feed: Feed) -> None:
    """A small international wire to a country that the program did not declare, on no regulator's list."""
    declared = feed.program.declared_countries
    country = next((each for each in _FOREIGN if each not in declared), None)
    if country is None or not declared:
        raise invalid("scenario", _NO_FOREIGN, FieldCode.CONFLICTING)
    feed.concluded(replace(_usual(feed, EventFamily.SWIFT, other=feed.casting.person(country=country)), note="family"))


@_scenario(ScenarioName.REALTIME_REJECTED_AC04, Rail.REALTIME)
def _rejected_realtime(feed: Feed) -> None:
    """A realtime payment that the receiving bank rejects: account closed."""
    feed.concluded(replace(_usual(feed, EventFamily.REALTIME), ending=Ending.REJECTED, code="AC04"))


@_scenario(
    ScenarioName.STRUCTURING_BELOW_THRESHOLD,
    Rail.WIRE,
    expects=("amount_spike", "first_time_counterparty_large", "structuring_pattern", "velocity_spike"),
)
def _structuring(feed: Feed) -> None:
    """Four wires to one payee within a week, each just under $10,000."""
    days = (6, 4, 2, 0)
    party, payee = feed.customer(large_payments=len(days)), feed.casting.shop()
    for ago in days:
        wire = replace(
            _usual(feed, EventFamily.WIRE, party=party, other=payee), at=feed.at - ago * DAY_US, note="services"
        )
        feed.concluded(replace(wire, cents=feed.casting.draw.between(*_LINE_CENTS)))


@_scenario(ScenarioName.ENTITY_MANUAL_REVIEW, Rail.REALTIME, expects=("kyc_unverified_moving",))
def _manual_review(feed: Feed) -> None:
    """A customer whose verification goes back to manual review, and who then pays a known payee over $1,000 in four
    days.
    """
    party, payee = feed.customer(), feed.casting.person()
    feed.identity(party, "MANUAL_REVIEW", feed.at - 6 * DAY_US, created_at=feed.at - KNOWN_FOR_US)
    for hours_ago in (45 * 24, *range(88, -1, -8)):  # the first one while the customer is verified
        payment = _usual(feed, EventFamily.REALTIME, party=party, other=payee)
        feed.concluded(replace(payment, at=feed.at - hours_ago * HOUR_US, note="rent"))


@_scenario(ScenarioName.ENTITY_DENIED, Rail.REALTIME, expects=("kyc_denied_moving",))
def _denied(feed: Feed) -> None:
    """A customer that the bank denied moves money."""
    party = feed.customer()
    feed.identity(party, "DENIED", feed.at - DAY_US, created_at=feed.at - KNOWN_FOR_US)
    feed.concluded(_usual(feed, EventFamily.REALTIME, party=party))


@_scenario(ScenarioName.OVERDRAFT_RELEASED, Rail.ACH)
def _overdraft(feed: Feed) -> None:
    """A debit overdraws an account. Hours later the bank releases the amount that it had locked for the overdraft."""
    spent_at = feed.at - 3 * HOUR_US
    spent = replace(_usual(feed, EventFamily.ACH, other=feed.casting.shop()), at=spent_at, incoming=True, debit=True)
    feed.concluded(spent)
    assert feed.transfer_id is not None
    account_id = feed.casting.fresh_id("bacc")
    overdraft = objects.overdraft(spent.party, account_id, feed.transfer_id, cents=spent.cents // 2)
    feed.add("account.overdrafted", overdraft, spent_at + MINUTE_US)
    feed.add("account.overdraft_released", objects.released(overdraft), feed.at)


@_scenario(ScenarioName.ACCOUNT_FROZEN)
def _frozen(feed: Feed) -> None:
    """The bank freezes the account of a customer."""
    party = feed.customer()
    feed.add("account.frozen", objects.account(party, at=feed.at, status="frozen"), feed.at)


@_scenario(ScenarioName.CARD_DECLINES, Rail.CARD, expects=("card_testing",))
def _declined_cards(feed: Feed) -> None:
    """A card that is approved once and then declined four times within half an hour, each time for another reason."""
    party, shop = feed.customer(), feed.casting.shop()
    feed.transfer(replace(_usual(feed, EventFamily.CARD, party=party, other=shop), at=feed.at - 25 * MINUTE_US))
    reasons = ("INSUFFICIENT_FUNDS", "USER_TRANSACTION_LIMIT", "INCORRECT_PIN", "CARD_PAUSED")
    for number, reason in enumerate(reasons):
        tried = replace(_usual(feed, EventFamily.CARD, party=party, other=shop), ending=Ending.DECLINED, code=reason)
        feed.transfer(replace(tried, at=feed.at - (len(reasons) - number) * 5 * MINUTE_US))


@_scenario(ScenarioName.CHECK_DEPOSIT_RETURNED, Rail.CHECK)
def _returned_check(feed: Feed) -> None:
    """A check that the customer deposited comes back four days later: not sufficient funds."""
    feed.concluded(replace(_usual(feed, EventFamily.CHECK), incoming=True, ending=Ending.RETURNED, code="A"))
