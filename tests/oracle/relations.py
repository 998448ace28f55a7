"""What there was before between a program, its actors and a counterparty, and who else uses its account."""

from typing import Any

from clearhold.features.core.instants import DAY_US
from tests.oracle.facts import Party, Program
from tests.oracle.learning import account_of, details_differ, is_other, was_used
from tests.oracle.reading import look_of
from tests.oracle.view import NEWEST, AtMost, Other, Subject, within

Fields = dict[str, Any]


def relation_fields(
    program: Program, subject: Subject, own: list[Other], shared: list[Other], others: list[Other]
) -> Fields:
    return {
        "counterparty.firstTime": None if subject.party is None else not shared,
        "counterparty.n": len(shared),
        "counterparty.accountChanged": _account_changed(program, subject, others),
        "counterparty.sharedEntities30d": _sharing_actors(program, subject, others),
        "entity.newCounterparties24h": _new_parties(subject, own, others),
    }


def _account_changed(program: Program, subject: Subject, others: list[Other]) -> bool:
    """A new account of a known counterparty, or an unknown party with a known name and another account."""
    mine = subject.details
    if subject.party in program.parties and _pays_new_account(program, subject, others):
        return True
    if subject.party is None or mine.name is None or any(other.party == subject.party for other in others):
        return False
    before = [program.parties[key] for key in {other.party for other in others} if key is not None]
    namesakes = [party for party in before if look_of(party.name) == look_of(mine.name)]
    return any(is_other(party, mine) for party in namesakes)


def _pays_new_account(program: Program, subject: Subject, others: list[Other]) -> bool:
    assert subject.party is not None
    party = program.parties[subject.party]
    if subject.id is not None:
        mine = next((each for each in party.accounts if each.first == subject.id), None)
        if mine is None:
            return False
    else:
        if not party.accounts:
            return details_differ(party, subject.details) and any(each.party == subject.party for each in others)
        mine = account_of(party, subject.details)
        if mine is not None and was_used(program, mine, subject.at):
            return False
    return any(was_used(program, each, subject.at) for each in party.accounts if each is not mine)


def _account(party: Party) -> tuple[str | None, str | None]:
    return (party.routing, party.last4)


def _sharing_actors(program: Program, subject: Subject, others: list[Other]) -> int:
    mine = _account(subject.details)
    if None in mine:
        return 0
    sharing = {
        other.actor
        for other in within(others, subject, 30 * DAY_US)
        if other.party is not None and _account(program.parties[other.party]) == mine
    }
    return len((sharing | ({subject.actor} if subject.moved else set())) - {None})


def _new_parties(subject: Subject, own: list[Other], others: list[Other]) -> int:
    """An actor's counterparties of a day, of its newest 64 transfers, that were new to the program in that day.

    What is searched are the newest 64 at the actor's node, where transfers of others to it stand too.
    """
    if subject.actor is None:
        return 0
    newest = sorted((other for other in within(own, subject, DAY_US) if other.party), key=lambda each: each.own)[
        -NEWEST:
    ]
    parties = {other.party for other in newest}
    if subject.moved:
        parties.add(subject.party)
    before = {other.party for other in others if other.own <= subject.at - DAY_US}
    count = len(parties - before - {None})
    return count if len(within(others, subject, DAY_US)) < NEWEST else AtMost(count)
