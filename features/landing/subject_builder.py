"""The parties of a snapshot, and the ``Subject`` of a measurement for landing, pre-flight and rescoring alike."""

from typing import Final

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.purchases import NOTHING_STATED, Purchase
from clearhold.features.core.money import money_leaves
from clearhold.features.core.vocabulary import Rail
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.landing.transfer_records import has_moved
from clearhold.features.measurement.actor_evaluation import rescreen_days
from clearhold.features.measurement.subject import NO_CONTRIBUTION, STRANGER, OwnContribution, Subject
from clearhold.features.state.account_book import card_key
from clearhold.features.state.parties import Actor, KnownCounterparty, PartyDetails
from clearhold.features.state.party_details import KnownAccount, place_of, with_use
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY, node_of_actor
from clearhold.features.windows.series import ALWAYS
from clearhold.features.windows.series_kinds import kinds_of

_BOOK: Final = Rail.BOOK.value
_CARD: Final = Rail.CARD.value


def parties_of(
    stored: StoredTransfer, snapshot: TransferSnapshot, event_at: int
) -> tuple[Actor | None, KnownCounterparty | None, bool]:
    """The parties that a newer snapshot names, else the stored ones; True when the counterparty's details changed."""
    program, (actor, counterparty) = stored.program, stored.parties()
    if snapshot.entity_id is not None or (actor is None and snapshot.account_id is not None):
        actor = program.actor_of(snapshot.entity_id, snapshot.account_id)
    if snapshot.counterparty_id is None and counterparty is not None and not counterparty.unlisted:
        return actor, counterparty, False
    named, is_updated = counterparty_of(program, snapshot, stored.record.at, event_at, stored)
    return actor, counterparty if named is None else named, is_updated


def counterparty_of(
    program: ProgramState,
    snapshot: TransferSnapshot,
    at: int,
    stated_at: int,
    stored: StoredTransfer | None = None,
) -> tuple[KnownCounterparty | None, bool]:
    """The counterparty of a transfer at ``at``, with the snapshot's details merged into it; True when it changed.

    The details are of ``stated_at``, and those of an embedded object of ``_stated_by_object``. A later state of a
    transfer repeats the details that its payee had when it was made. They do not replace later statements on the payee.
    """
    book, country = program.counterparties, snapshot.country
    name, routing, last4 = snapshot.counterparty_name, snapshot.counterparty_routing, snapshot.counterparty_last4
    if snapshot.counterparty_id is not None:
        if snapshot.rail == _BOOK:
            program.accounts.number(snapshot.counterparty_id)  # an own account, like the sender's
        counterparty = book.get_or_add(snapshot.counterparty_id)
    elif name is not None:
        on_file = book.match(name, routing, last4)
        if on_file is not None and not on_file.unlisted:
            return on_file, _is_first(on_file, at)
        counterparty = on_file or book.unlisted(name, routing, last4)
    else:
        return None, False
    embedded_at = None if snapshot.embedded is None else snapshot.embedded.updated_at
    is_older = embedded_at is not None and embedded_at < counterparty.updated_at
    if embedded_at is not None:
        stated_at = _stated_by_object(counterparty, embedded_at, stated_at)
    if stored is not None and counterparty is stored.counterparty and snapshot.embedded is None:
        name = None if counterparty.name else name
        country = None if country == program.strings.text(stored.record.country) else country
        present = (counterparty.routing, counterparty.last4)
        if counterparty.keeps(routing, last4) or counterparty.account_after(routing, last4) == present:
            routing = last4 = None
    is_updated = book.merge(
        counterparty, name=name, routing=routing, last4=last4, country=country, at=stated_at, is_older=is_older
    )
    return counterparty, _is_first(counterparty, at) or is_updated


def _stated_by_object(counterparty: KnownCounterparty, embedded_at: int, stated_at: int) -> int:
    """The time of the details of an embedded object: its own where that is later, or where a newer object is known. It
    is before the time of a newer object's details, and not before that of an older one's.
    """
    known_at = counterparty.updated_at
    if embedded_at < known_at:
        return min(embedded_at, counterparty.event_at)
    is_newer = ALWAYS < known_at < embedded_at
    return max(stated_at, embedded_at, counterparty.event_at if is_newer else ALWAYS)


def _is_first(counterparty: KnownCounterparty, at: int) -> bool:
    """Whether this transfer is the first with it; its time is then stored."""
    if counterparty.first_seen_at is not None and counterparty.first_seen_at <= at:
        return False
    counterparty.first_seen_at = at
    return True


def subject_of_snapshot(
    program: ProgramState,
    snapshot: TransferSnapshot,
    *,
    cents: int | None,
    at: int,
    actor: Actor | None,
    counterparty: KnownCounterparty | None,
    country: str | None,
) -> Subject:
    account = program.accounts.number(snapshot.account_id)  # before the nodes: a transfer may pay its own account
    return build_subject(
        program,
        rail=snapshot.rail,
        direction=snapshot.direction,
        ach_type=snapshot.type,
        cents=cents,
        status=snapshot.status,
        country=country,
        card_reason=snapshot.card_decision_reason,
        sec_code=snapshot.sec_code,
        actor=actor,
        counterparty=counterparty,
        counterparty_node=NOBODY if counterparty is None else program.node_of(counterparty),
        card=NOBODY
        if snapshot.rail != _CARD
        else card_key(program.card_table.number(snapshot.card_id), account, -1 if actor is None else actor.index),
        at=at,
        moved=has_moved(snapshot.status),
        paid=paid_account(counterparty, snapshot.counterparty_routing, snapshot.counterparty_last4),
        purchase=snapshot.purchase,
    )


def build_subject(
    program: ProgramState,
    *,
    rail: str,
    direction: str,
    ach_type: str | None,
    cents: int | None,
    status: str | None,
    country: str | None,
    card_reason: str | None,
    sec_code: str | None,
    actor: Actor | None,
    counterparty: KnownCounterparty | None,
    counterparty_node: int,
    card: int,
    at: int,
    moved: bool,
    counterparty_named: bool | None = None,
    details: PartyDetails | None = None,
    paid: PartyDetails | None = None,
    purchase: Purchase = NOTHING_STATED,
    own: OwnContribution = NO_CONTRIBUTION,
) -> Subject:
    """The transfer to be measured at ``at``: ``cents`` are US cents, ``card`` is the key of card attempts, ``moved`` is
    False for one, ``details`` are those on file with those of a pre-flight, ``counterparty_named`` is for one not on
    file, ``paid`` the account, of several. By position, in the order of the Struct's fields: one is built an event.
    """
    is_named = counterparty is not None if counterparty_named is None else counterparty_named
    return Subject(
        rail,
        direction,
        ach_type,
        cents,
        status,
        country,
        card_reason,
        sec_code,
        actor,
        counterparty,
        is_named,
        _account_changed(program, counterparty, details, paid, at, own),
        *_sides(actor, counterparty_node, leaves=money_leaves(rail, direction, ach_type), is_named=is_named),
        kinds_of(rail, direction, ach_type, cents) if moved else (),
        card,
        _account_of(counterparty, details),
        moved,
        rescreen_days(program, actor, at),
        purchase,
        own,
    )


def country_of_transfer(stated: str | None, counterparty: KnownCounterparty | None) -> str | None:
    """The country that is stated, else the one on file; None where the stated one is the code of no country."""
    if stated is None:
        return None if counterparty is None else counterparty.country
    return stated or None


def _sides(actor: Actor | None, other: int, *, leaves: bool, is_named: bool) -> tuple[int, int, int | None, int | None]:
    """Source and target, payer and payee: equal, except for a side without a node."""
    own = None if actor is None else node_of_actor(actor.index)
    counterparty = other if other != NOBODY else (STRANGER if is_named else None)
    node = NOBODY if own is None else own
    return (node, other, own, counterparty) if leaves else (other, node, counterparty, own)


def _account_changed(
    program: ProgramState,
    counterparty: KnownCounterparty | None,
    details: PartyDetails | None,
    paid: PartyDetails | None,
    at: int,
    own: OwnContribution,
) -> bool:
    """True for a first transfer to a name, or to an account of a counterparty, with earlier transfers under another
    account.
    """
    book = program.counterparties
    if counterparty is None:
        return details is not None and book.has_other_account(*details, at=at)
    if (counterparty.accounts or details is not None) and _pays_new_account(
        program, counterparty, paid or details, at, own
    ):
        return True
    counted = own.counterparty if own.moved else None
    if counterparty.times.count(ALWAYS, at) > (1 if counterparty is counted else 0):
        return False
    name, routing, last4 = details or (counterparty.name, counterparty.routing, counterparty.last4)
    return book.has_other_account(name, routing, last4, at=at, counted=counted)


def _pays_new_account(
    program: ProgramState,
    counterparty: KnownCounterparty,
    details: PartyDetails | None,
    at: int,
    own: OwnContribution,
) -> bool:
    """Whether the transfer is the first to its account, and others of the counterparty were paid before."""
    _, routing, last4 = details or (None, counterparty.routing, counterparty.last4)
    accounts = counterparty.accounts
    if not accounts:
        return counterparty.differs(routing, last4) and counterparty.times.count(ALWAYS, at) > 0
    place = place_of(accounts, routing, last4)
    if own.row != NOBODY:  # measured again: the account is not stored with the transfer, but with the account its first
        place = next((place for place, each in enumerate(accounts) if each.row == own.row), None)
        if place is None:
            return False
    elif place is not None and _was_used(program, accounts[place], at):
        return False
    return any(_was_used(program, each, at) for other, each in enumerate(accounts) if other != place)


def _was_used(program: ProgramState, account: KnownAccount, at: int) -> bool:
    """Whether money moved under an account until ``at``."""
    if account.used_at is None or account.used_at > at:
        return False
    return account.row == NOBODY or program.transfers.glance(account.row).moved


def paid_account(counterparty: KnownCounterparty | None, routing: str | None, last4: str | None) -> PartyDetails | None:
    """The account that a transfer with these details pays, of a counterparty that has several."""
    if counterparty is None or not counterparty.accounts:
        return None
    return PartyDetails(counterparty.name, *counterparty.account_after(routing, last4))


def note_account(
    program: ProgramState, counterparty: KnownCounterparty | None, snapshot: TransferSnapshot, *, at: int, row: int
) -> None:
    """Store a landed transfer as the first to its account of several, unless an earlier one that moved is."""
    if counterparty is None or not counterparty.accounts:
        return
    paid = counterparty.account_after(snapshot.counterparty_routing, snapshot.counterparty_last4)
    accounts = counterparty.accounts
    place = place_of(accounts, *paid)
    if place is not None and not _was_used(program, accounts[place], at):
        counterparty.accounts = with_use(accounts, place, at=at, row=row)


def _account_of(
    counterparty: KnownCounterparty | None, details: PartyDetails | None
) -> tuple[str | None, str | None] | None:
    """Routing number and last four."""
    if details is not None:
        return details.routing, details.last4
    return None if counterparty is None else (counterparty.routing, counterparty.last4)
