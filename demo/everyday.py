"""Moves of honest customers: months of them for the history, and one at a time for the live phase."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from clearhold.demo.moves import Move
from clearhold.demo.parties import LENDING, PAYROLL, REMITTANCE, Other, Party, Program
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.sandbox.parties import Ending, EventFamily

PAY_DAYS: Final = frozenset({1, 16})
CARD_DECLINE_IN: Final = 25
NSF_IN: Final = 40
UNAUTHORIZED_IN: Final = 900

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def history_of(program: Program, rng: Random, *, first: int, last: int) -> Iterator[Move]:
    """Moves of every customer between the two instants, in no particular order."""
    months = {PAYROLL: _payroll_months, REMITTANCE: _remittance_months, LENDING: _lending_months}
    for party in program.everyday:
        for move in months[program.slug](rng, party, first, last):
            if first <= move.at < last:
                yield move


def one_of(program: Program, rng: Random, party: Party, at: int) -> Move:
    """A move that suits this customer."""
    dice = rng.random()
    if program.slug == REMITTANCE:
        return _sent_home(rng, party, at)
    if program.slug == LENDING:
        if dice < 0.1:
            return _check(rng, party, at)
        return _disbursed(rng, party, at) if dice < 0.15 else _repaid(rng, party, at)
    if dice < 0.25:
        return _card(rng, party, at)
    if dice < 0.35:
        return _vendor_wire(rng, party, at)
    return _salary(rng, party, rng.choice(party.others[1:]), at)


def _payroll_months(rng: Random, party: Party, first: int, last: int) -> Iterator[Move]:
    for midnight in range(first - first % DAY_US, last, DAY_US):
        day = (_EPOCH + timedelta(microseconds=midnight)).day
        if day in PAY_DAYS:
            yield _funded(party, midnight - 8 * HOUR_US)
            opens = midnight + 14 * HOUR_US + rng.randrange(HOUR_US)
            for place, person in enumerate(party.others[1:]):
                yield _salary(rng, party, person, opens + place * 20_000_000)
        if day == 5:
            yield _vendor_wire(rng, party, midnight + 17 * HOUR_US + rng.randrange(HOUR_US))
        if day == 28:
            yield _sweep(rng, party, midnight + 20 * HOUR_US)
        if rng.randrange(6) == 0:
            yield _card(rng, party, midnight + 9 * HOUR_US + rng.randrange(10 * HOUR_US))


def _remittance_months(rng: Random, party: Party, first: int, last: int) -> Iterator[Move]:
    at = first + rng.randrange(20 * DAY_US)
    while at < last:
        sent = _sent_home(rng, party, at)
        cash_in = Move(
            program=REMITTANCE,
            at=at - rng.randrange(10 * MINUTE_US, 5 * HOUR_US),
            family=EventFamily.REALTIME,
            party=party,
            other=party.own_bank,
            cents=sent.cents + 500,
            incoming=True,
            note="top up",
        )
        yield cash_in
        yield sent
        at += rng.randrange(9 * DAY_US, 32 * DAY_US)


def _lending_months(rng: Random, party: Party, first: int, last: int) -> Iterator[Move]:
    at = first + rng.randrange(45 * DAY_US)
    yield _disbursed(rng, party, at)
    at += 14 * DAY_US
    while at < last:
        yield _repaid(rng, party, at)
        if rng.randrange(8) == 0:
            yield _check(rng, party, at + 2 * DAY_US)
        at += 14 * DAY_US + rng.randrange(6 * HOUR_US)


def _salary(rng: Random, party: Party, person: Other, at: int) -> Move:
    lost = rng.randrange(400) == 0
    return Move(
        program=PAYROLL,
        at=at,
        family=EventFamily.ACH,
        party=party,
        other=person,
        cents=person.pay_cents + rng.randrange(-2_000, 9_000),
        note="payroll",
        ending=Ending.RETURNED if lost else Ending.GOOD,
        code="R03" if lost else "",
    )


def _funded(party: Party, at: int) -> Move:
    total = sum(person.pay_cents for person in party.others[1:])
    other, note = party.own_bank, "payroll funding"
    return Move(
        program=PAYROLL,
        at=at,
        family=EventFamily.WIRE,
        party=party,
        other=other,
        cents=total + 90_000,
        incoming=True,
        note=note,
    )


def _vendor_wire(rng: Random, party: Party, at: int) -> Move:
    vendor = party.others[0]
    cents = vendor.pay_cents + rng.randrange(-5_000, 20_000)
    return Move(
        program=PAYROLL, at=at, family=EventFamily.WIRE, party=party, other=vendor, cents=cents, note="monthly invoice"
    )


def _sweep(rng: Random, party: Party, at: int) -> Move:
    cents = rng.randrange(20_000, 90_000)
    return Move(
        program=PAYROLL, at=at, family=EventFamily.BOOK, party=party, other=party.own_bank, cents=cents, note="fees"
    )


def _card(rng: Random, party: Party, at: int) -> Move:
    declined = rng.randrange(CARD_DECLINE_IN) == 0
    return Move(
        program=PAYROLL,
        at=at,
        family=EventFamily.CARD,
        party=party,
        other=party.others[0],
        cents=rng.randrange(900, 24_000),
        ending=Ending.DECLINED if declined else Ending.GOOD,
        code="INSUFFICIENT_FUNDS" if declined else "",
    )


def _sent_home(rng: Random, party: Party, at: int) -> Move:
    family = rng.choice(party.others)
    abroad = family.country != "US"
    bounced = not abroad and rng.randrange(50) == 0
    return Move(
        program=REMITTANCE,
        at=at,
        family=EventFamily.SWIFT if abroad else EventFamily.REALTIME,
        party=party,
        other=family,
        cents=party.pay_cents + rng.randrange(0, party.pay_cents // 4),
        note="family support",
        ending=Ending.REJECTED if bounced else Ending.GOOD,
        code="AC04" if bounced else "",
    )


def _disbursed(rng: Random, party: Party, at: int) -> Move:
    return Move(
        program=LENDING,
        at=at,
        family=EventFamily.ACH,
        party=party,
        other=party.own_bank,
        cents=party.pay_cents * 10 + rng.randrange(5_000),
        note="loan",
    )


def _repaid(rng: Random, party: Party, at: int) -> Move:
    code = "R01" if rng.randrange(NSF_IN) == 0 else ""
    code = "R10" if rng.randrange(UNAUTHORIZED_IN) == 0 else code
    return Move(
        program=LENDING,
        at=at,
        family=EventFamily.ACH,
        party=party,
        other=party.own_bank,
        cents=party.pay_cents,
        debit=True,
        sec_code="WEB",
        note="loan pmt",
        ending=Ending.RETURNED if code else Ending.GOOD,
        code=code,
    )


def _check(rng: Random, party: Party, at: int) -> Move:
    deposited = rng.random() < 0.4
    bounced = deposited and rng.randrange(30) == 0
    return Move(
        program=LENDING,
        at=at,
        family=EventFamily.CHECK,
        party=party,
        other=party.others[0],
        cents=rng.randrange(8_000, 120_000),
        incoming=deposited,
        note="check",
        ending=Ending.RETURNED if bounced else Ending.GOOD,
        code="A" if bounced else "",
    )
