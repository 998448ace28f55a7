"""How a transfer's events become its facts: the first sight, newer snapshots, and what is kept of older ones."""

from typing import Any

from tests.oracle.facts import Decline, Key, Known, Program, Timeline, Version
from tests.oracle.learning import node_of, party_of, pay_account
from tests.oracle.reading import Purchase, Return, Said
from tests.oracle.status_order import RETURN_UNDONE, UNMOVED, life_of, place


def land(program: Program, said: Said, event_at: int, appended_at: int) -> Known | None:
    """Take one event of a transfer over; the transfer, when it must be scored for it."""
    known = program.transfers.get(said.id)
    if known is None:
        known = program.transfers[said.id] = _first_sight(program, said, event_at, appended_at)
        pay_account(program, known, said)
        return known
    version = _version(said, event_at)
    if version > known.version or (version == known.version and not _is_past(said, known.said)):
        known.version = version
        is_news = _revise(program, known, said, event_at)
        if said.routing is not None or said.last4 is not None:
            pay_account(program, known, said)
        return known if is_news else None
    if (said.returned, said.returned_at) == (None, None) or known.returned.last is not None:
        return None
    if said.returned is None and known.returned_at is not None:
        return None
    known.changed_at, known.returned_at = max(event_at, known.changed_at), said.returned_at
    returned = said.returned
    if returned is not None and known.said.status in RETURN_UNDONE:
        returned = returned._replace(undone=True)
    known.returned.say(max(known.own, known.changed_at), returned)
    return known


def _is_past(said: Said, newest: Said) -> bool:
    """Of two snapshots with equal times, the one with the later state of the rail is newer."""
    life = life_of(said.rail, said.direction)
    return said.status is not None and place(life, said.status) < place(life, newest.status)


def _version(said: Said, event_at: int) -> Version:
    return (said.updated_at if said.updated_at is not None else event_at, event_at)


def has_moved(status: str | None) -> bool:
    return status not in UNMOVED


def decline_of(said: Said) -> Decline:
    """The reason of an approval counts for nothing."""
    declined = said.rail == "card" and said.status == "DECLINED"
    return Decline(declined, said.card_reason if declined else None)


def card_of(said: Said) -> Key | None:
    """What the attempts on a card are counted by: the card, else the account, else the entity."""
    if said.rail != "card":
        return None
    named = (("card", said.card_id), ("account", said.account_id), ("entity", said.entity_id))
    return next(((kind, value) for kind, value in named if value is not None), None)


def actor_of(program: Program, said: Said) -> Key | None:
    if said.entity_id is not None:
        return ("entity", said.entity_id)
    return None if said.account_id is None else program.actor_of_account(said.account_id)


def _meet(program: Program, said: Said) -> None:
    """The account and the entity that a transfer is of belong to the program; both ends of a book transfer do."""
    if said.account_id is not None:
        program.accounts.add(said.account_id)
    if said.rail == "book" and said.counterparty_id is not None:
        program.accounts.add(said.counterparty_id)
    if said.entity_id is not None:
        program.entities.add(said.entity_id)


def _country(said: Said, on_file: str | None) -> str | None:
    return None if said.no_country else said.country or on_file


def _first_sight(program: Program, said: Said, event_at: int, appended_at: int) -> Known:
    """Its first words count for all times: as it would have been told live."""
    own = min(said.created_at if said.created_at is not None else event_at, appended_at)
    _meet(program, said)
    party = party_of(program, said, own)
    nothing: Return | None = None
    country = _country(said, program.parties[party].country if party is not None else None)
    known = Known(
        said,
        own,
        _version(said, event_at),
        cents=Timeline(said.cents),
        actor=Timeline(actor_of(program, said)),
        party=Timeline(party),
        node=Timeline(node_of(program, party)),
        card=Timeline(card_of(said)),
        moved=Timeline(has_moved(said.status)),
        decline=Timeline(decline_of(said)),
        returned=Timeline(nothing),
        purchase=Timeline(said.purchase),
        place=Timeline(country),
        country=country,
        returned_at=said.returned_at,
    )
    if said.returned is not None:
        known.returned.say(max(own, event_at), said.returned)
    return known


def _kept(said: Any, before: Any) -> Any:
    return before if said is None else said


def _revise(program: Program, known: Known, said: Said, event_at: int) -> bool:
    """Take over a newer snapshot; True when it changed what a transfer is scored again for."""
    before = known.said
    is_about_return = "DISHONORED" in (said.status or "") or said.status == "RETURN_CONTESTED"
    said = said._replace(
        card_reason=said.card_reason or before.card_reason,
        status=said.status or before.status,
        purchase=Purchase(*(_kept(*both) for both in zip(said.purchase, before.purchase, strict=True))),
    )
    _meet(program, said)
    actor, party, country = known.actor.last, known.party.last, _country(said, known.country)
    if said.entity_id is not None or actor is None:
        actor = actor_of(program, said)
    is_kept = said.counterparty_id is None and party is not None and party[0] == "id"
    named = None if is_kept else party_of(program, said, event_at, known)
    if named is not None and named != party:
        party, country = named, _country(said, program.parties[named].country)
    returned = said.returned if said.returned is not None else known.returned.last
    returned_at = known.returned_at if is_about_return else None
    returned_at = next((at for at in (returned_at, said.returned_at, known.returned_at) if at is not None), None)
    is_news = (
        (said.amount, said.currency, said.cents) != (before.amount, before.currency, before.cents)
        or program.same(actor) != program.same(known.actor.last)
        or (party, country) != (known.party.last, known.country)
        or (returned, returned_at) != (known.returned.last, known.returned_at)
        or said.purchase != before.purchase
    )
    status = (has_moved(said.status), decline_of(said), card_of(said))
    if is_news or status != (known.moved.last, known.decline.last, known.card.last):
        known.changed_at = max(event_at, known.changed_at)
    at = known.changed_at
    known.said, known.country, known.returned_at = said, country, returned_at
    known.cents.say(at, said.cents)
    known.actor.say(at, actor)
    if party != known.party.last:
        known.node.say(at, node_of(program, party))
    known.party.say(at, party)
    known.card.say(at, status[2])
    known.purchase.say(at, said.purchase)
    known.place.say(at, country)
    known.moved.say(at, status[0])
    known.decline.say(at, status[1])
    known.returned.say(max(known.own, at), returned)
    return is_news
