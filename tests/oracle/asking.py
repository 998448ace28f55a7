"""The oracle's answer to a question asked before money moves: what the transfer would be scored with then."""

from typing import NamedTuple

from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from tests.oracle.facts import Decline, Key, Party, Program
from tests.oracle.learning import account_of, details_differ, first_node, on_file, stranger_of
from tests.oracle.oracle import Fields, features_of
from tests.oracle.programs import baseline_of
from tests.oracle.reading import Purchase, counted
from tests.oracle.view import Other, Subject, attempts_before


class Asked(NamedTuple):
    """``card_unknown``: the actor has several cards, so that attempts are not measured."""

    features: Fields
    card_unknown: bool


def ask(program: Program, proposed: ProposedTransfer, at: int) -> Asked:
    """The question leaves nothing behind in the program."""
    attempts = attempts_before(program, None, at)
    moved = [attempt for attempt in attempts if attempt.moved]
    rail, direction = proposed.rail.value, proposed.direction.value
    actor, (party, details) = _actor(program, proposed.entity_id), _party(program, proposed)
    cards = _cards(program, proposed.entity_id, actor, attempts) if rail == "card" else set()
    subject = Subject(
        id=None,
        at=at,
        rail=rail,
        direction=direction,
        type=None if proposed.type is None else proposed.type.value,
        cents=counted(int(proposed.amount_cents)) if proposed.currency.upper() == "USD" else None,
        status=None,
        country=details.country,
        card_reason=None,
        actor=actor,
        party=party,
        details=details,
        node=None if party is None else program.same(program.nodes.get(party, first_node(program, party))),
        card=next(iter(cards)) if len(cards) == 1 else None,
        moved=True,
        decline=Decline(declined=False, reason=None),
        baseline=baseline_of(moved, rail, direction, at),
        purchase=Purchase(
            proposed.merchant_category, proposed.merchant_state, proposed.entry_mode, proposed.card_present
        ),
    )
    return Asked(features_of(program, subject, attempts), card_unknown=len(cards) > 1)


def _actor(program: Program, named: str | None) -> Key | None:
    """An account that the program knows is its owner, or itself; any other name is an entity's."""
    if named is None:
        return None
    return program.actor_of_account(named) if named in program.accounts else ("entity", named)


def _cards(program: Program, named: str | None, actor: Key | None, attempts: list[Other]) -> set[Key]:
    """The cards seen on the actor's transfers; where none was, its account, else itself, stands for one."""
    seen = {other.card for other in attempts if actor is not None and other.actor == actor and other.card is not None}
    if cards := {card for card in seen if card[0] == "card"}:
        return cards
    if named in program.accounts:
        return {("account", str(named))}
    accounts = {card for card in seen if card[0] == "account"}
    if len(accounts) == 1:
        return accounts
    return set() if actor is None else {actor}


def _party(program: Program, proposed: ProposedTransfer) -> tuple[Key | None, Party]:
    side = proposed.counterparty
    if proposed.counterparty_id is not None:
        key: Key = ("id", proposed.counterparty_id)
        party = _with_country(program.parties.get(key, Party()), side.country_code if side else None)
        return key, party if side is None else _with_account(party, side)
    if side is None:
        return None, Party()
    said = Party(side.name, side.routing_number, side.account_last4, side.country_code)
    found = on_file(program, said)
    if found is None:
        return stranger_of(said), said
    party = _with_country(program.parties[found], side.country_code)
    return found, _with_account(party, side) if party.accounts else party


def _with_country(party: Party, country: str | None) -> Party:
    return Party(party.name, party.routing, party.last4, country or party.country, party.accounts)


def _with_account(party: Party, side: ProposedCounterparty) -> Party:
    """The party with the account of the question, as if the transfer had landed."""
    said = Party(side.name, side.routing_number, side.account_last4)
    if not details_differ(party, said):
        routing, last4 = said.routing or party.routing, said.last4 or party.last4
    else:
        account = account_of(party, said) or said
        routing, last4 = account.routing, account.last4
    return Party(party.name, routing, last4, party.country, party.accounts)
