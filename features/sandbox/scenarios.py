"""Every scenario of the sandbox. ``docs/sandbox.md`` and the listing of the interface are made from this table.

Amounts are small where they must not matter, and far over any other where they must.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from features.core.errors import FieldCode, invalid
from features.core.instants import DAY_US, HOUR_US, MINUTE_US
from features.core.program import Program
from features.core.vocabulary import Rail
from features.sandbox import objects
from features.sandbox.feed import KNOWN_FOR_US, Feed
from features.sandbox.parties import Party
from features.sandbox.planned_transfer import Ending, Family, PlannedTransfer
from features.sandbox.scenario import Scenario, ScenarioName

_LINE_CENTS: Final = (900_100, 989_900)  # just under $10,000
_LARGE_CENTS: Final = (48_500_000, 49_400_000)
_FOREIGN: Final = ("PT", "NL", "NZ", "DK", "IE")  # on no regulator's list
_NO_FOREIGN: Final = f"needs a program that declares countries, and not all of {', '.join(_FOREIGN)}"


def _clean_credit(feed: Feed, _program: Program) -> None:
    party = feed.customer()
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.ACH,
            party=party,
            other=feed.casting.person(),
            cents=feed.usual_cents(),
            note="salary",
        )
    )


def _returned_debit(feed: Feed, party: Party, code: str) -> None:
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.ACH,
            party=party,
            other=feed.casting.person(),
            cents=feed.usual_cents(),
            debit=True,
            sec_code="WEB",
            note="installment",
            ending=Ending.RETURNED,
            code=code,
        )
    )


def _returned_r01(feed: Feed, _program: Program) -> None:
    _returned_debit(feed, feed.customer(), "R01")


def _returned_r02(feed: Feed, _program: Program) -> None:
    _returned_debit(feed, feed.customer(), "R02")


def _returned_r08(feed: Feed, _program: Program) -> None:
    _returned_debit(feed, feed.customer(), "R08")


def _returned_r10(feed: Feed, _program: Program) -> None:
    party = feed.customer()
    for _ in range(2):
        _returned_debit(feed, party, "R10")


def _unfunded_debit(feed: Feed, _program: Program) -> None:
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.ACH,
            party=feed.customer(),
            other=feed.casting.shop(),
            cents=feed.usual_cents(),
            incoming=True,
            debit=True,
            note="utility",
            ending=Ending.UNFUNDED,
            code="R01",
        )
    )


def _large_wire(feed: Feed, _program: Program) -> None:
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.WIRE,
            party=feed.customer(large_payments=1),
            other=feed.casting.person(),
            cents=feed.casting.draw.between(*_LARGE_CENTS),
            note="purchase",
        )
    )


def _undeclared_country(feed: Feed, program: Program) -> None:
    country = next((each for each in _FOREIGN if each not in program.declared_countries), None)
    if country is None or not program.declared_countries:
        raise invalid("scenario", _NO_FOREIGN, FieldCode.CONFLICTING)
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.SWIFT,
            party=feed.customer(),
            other=feed.casting.person(country=country),
            cents=feed.usual_cents(),
            note="family",
        )
    )


def _rejected_realtime(feed: Feed, _program: Program) -> None:
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.REALTIME,
            party=feed.customer(),
            other=feed.casting.person(),
            cents=feed.usual_cents(),
            ending=Ending.REJECTED,
            code="AC04",
        )
    )


def _structuring(feed: Feed, _program: Program) -> None:
    days = (6, 4, 2, 0)
    party, payee = feed.customer(large_payments=len(days)), feed.casting.shop()
    for ago in days:
        feed.concluded(
            PlannedTransfer(
                at=feed.at - ago * DAY_US,
                family=Family.WIRE,
                party=party,
                other=payee,
                cents=feed.casting.draw.between(*_LINE_CENTS),
                note="services",
            )
        )


def _manual_review(feed: Feed, _program: Program) -> None:
    party, payee = feed.customer(), feed.casting.person()
    feed.identity(party, "MANUAL_REVIEW", feed.at - 6 * DAY_US, created_at=feed.at - KNOWN_FOR_US)
    for number in range(12):
        feed.concluded(
            PlannedTransfer(
                at=feed.at - (11 - number) * 8 * HOUR_US,
                family=Family.REALTIME,
                party=party,
                other=payee,
                cents=feed.usual_cents(),
                note="rent",
            )
        )


def _denied(feed: Feed, _program: Program) -> None:
    party = feed.customer()
    feed.identity(party, "DENIED", feed.at - DAY_US, created_at=feed.at - KNOWN_FOR_US)
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.REALTIME,
            party=party,
            other=feed.casting.person(),
            cents=feed.usual_cents(),
        )
    )


def _overdraft(feed: Feed, _program: Program) -> None:
    party = feed.customer()
    cents = feed.usual_cents()
    shop = feed.casting.shop()
    spent_at = feed.at - 3 * HOUR_US
    feed.concluded(
        PlannedTransfer(at=spent_at, family=Family.ACH, party=party, other=shop, cents=cents, incoming=True, debit=True)
    )
    assert feed.transfer_id is not None
    short = cents // 2
    overdraft = objects.overdraft(party, feed.casting.fresh_id("bacc"), feed.transfer_id, cents=short)
    feed.add("account.overdrafted", overdraft, spent_at + MINUTE_US)
    feed.add("account.overdraft_released", objects.released(overdraft), feed.at)


def _frozen(feed: Feed, _program: Program) -> None:
    party = feed.customer()
    feed.add("account.frozen", objects.account(party, at=feed.at, status="frozen"), feed.at)


def _declined_cards(feed: Feed, _program: Program) -> None:
    party, shop = feed.customer(), feed.casting.shop()
    reasons = ("", "INSUFFICIENT_FUNDS", "USER_TRANSACTION_LIMIT", "INCORRECT_PIN", "CARD_PAUSED")
    for number, reason in enumerate(reasons):
        tried = PlannedTransfer(
            at=feed.at - (len(reasons) - number) * 5 * MINUTE_US,
            family=Family.CARD,
            party=party,
            other=shop,
            cents=feed.usual_cents(),
        )
        if reason:
            tried = msgspec.structs.replace(tried, ending=Ending.DECLINED, code=reason)
        feed.transfer(tried)


def _returned_check(feed: Feed, _program: Program) -> None:
    feed.concluded(
        PlannedTransfer(
            at=feed.at,
            family=Family.CHECK,
            party=feed.customer(),
            other=feed.casting.person(),
            cents=feed.usual_cents(),
            incoming=True,
            ending=Ending.RETURNED,
            code="A",
        )
    )


_TABLE: Final = (
    Scenario(
        name=ScenarioName.ACH_CREDIT_CLEAN,
        description="An ordinary ACH credit of a verified customer, from its initiation to its completion.",
        rails=(Rail.ACH,),
        play=_clean_credit,
    ),
    Scenario(
        name=ScenarioName.ACH_DEBIT_RETURNED_R01,
        description="An ACH debit that settles and comes back two days later: not sufficient funds.",
        rails=(Rail.ACH,),
        play=_returned_r01,
    ),
    Scenario(
        name=ScenarioName.ACH_DEBIT_RETURNED_R02,
        description="An ACH debit that settles and comes back two days later: account closed.",
        rails=(Rail.ACH,),
        play=_returned_r02,
    ),
    Scenario(
        name=ScenarioName.ACH_DEBIT_RETURNED_R08,
        description="An ACH debit that settles and comes back two days later: payment stopped.",
        rails=(Rail.ACH,),
        play=_returned_r08,
    ),
    Scenario(
        name=ScenarioName.ACH_DEBITS_RETURNED_R10,
        description="Two ACH debits of one customer that come back as not authorized. The second return opens the "
        "alert; one alone opens none.",
        rails=(Rail.ACH,),
        expects=("unauthorized_return",),
        play=_returned_r10,
    ),
    Scenario(
        name=ScenarioName.ACH_INCOMING_DEBIT_NSF,
        description="Somebody else's ACH debit over the customer's balance, which the bank then returns.",
        rails=(Rail.ACH,),
        play=_unfunded_debit,
    ),
    Scenario(
        name=ScenarioName.WIRE_NEW_COUNTERPARTY,
        description="A wire of nearly half a million dollars to somebody whom the program never paid.",
        rails=(Rail.WIRE,),
        expects=("amount_spike", "first_time_counterparty_large"),
        play=_large_wire,
    ),
    Scenario(
        name=ScenarioName.INTL_WIRE_UNDECLARED_COUNTRY,
        description="A small international wire to a country that the program did not declare, on no regulator's list.",
        rails=(Rail.INTL_WIRE,),
        expects=("country_outside_declared",),
        play=_undeclared_country,
    ),
    Scenario(
        name=ScenarioName.REALTIME_REJECTED_AC04,
        description="A realtime payment that the receiving bank rejects: account closed.",
        rails=(Rail.REALTIME,),
        play=_rejected_realtime,
    ),
    Scenario(
        name=ScenarioName.STRUCTURING_BELOW_THRESHOLD,
        description="Four wires to one payee within a week, each just under $10,000.",
        rails=(Rail.WIRE,),
        expects=("amount_spike", "first_time_counterparty_large", "structuring_pattern", "velocity_spike"),
        play=_structuring,
    ),
    Scenario(
        name=ScenarioName.ENTITY_MANUAL_REVIEW,
        description="A customer whose verification goes back to manual review, and who then moves over $1,000 in "
        "four days.",
        rails=(Rail.REALTIME,),
        expects=("kyc_unverified_moving",),
        play=_manual_review,
    ),
    Scenario(
        name=ScenarioName.ENTITY_DENIED,
        description="A customer whom the bank denies, and who then moves money.",
        rails=(Rail.REALTIME,),
        expects=("kyc_denied_moving",),
        play=_denied,
    ),
    Scenario(
        name=ScenarioName.OVERDRAFT_RELEASED,
        description="An account that a debit overdraws, and whose reserve is released hours later.",
        rails=(Rail.ACH,),
        play=_overdraft,
    ),
    Scenario(
        name=ScenarioName.ACCOUNT_FROZEN,
        description="The bank freezes the account of a customer.",
        rails=(),
        play=_frozen,
    ),
    Scenario(
        name=ScenarioName.CARD_DECLINES,
        description="A card that is approved once and then declined four times within half an hour, each time for "
        "another reason.",
        rails=(Rail.CARD,),
        expects=("card_testing",),
        play=_declined_cards,
    ),
    Scenario(
        name=ScenarioName.CHECK_DEPOSIT_RETURNED,
        description="A check that the customer deposited comes back four days later: not sufficient funds.",
        rails=(Rail.CHECK,),
        play=_returned_check,
    ),
)
SCENARIOS: Final[Mapping[ScenarioName, Scenario]] = {scenario.name: scenario for scenario in _TABLE}
