"""A scenario: the bank's events of a trial, and the alerts that it must open."""

from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec

from clearhold.features.core.canonical import SANDBOX_TAG, TAG_DIGITS
from clearhold.features.core.program import Program
from clearhold.features.core.vocabulary import Rail
from clearhold.features.sandbox.casting import HOME, Casting, Draw
from clearhold.features.sandbox.feed import ComposedEvents, Feed

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


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """``expects`` are the names of the detectors whose alerts it must open; empty where it must open none."""

    name: ScenarioName
    description: str
    rails: tuple[Rail, ...]
    expects: tuple[str, ...] = ()
    play: Callable[[Feed], None]


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
