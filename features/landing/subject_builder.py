"""Where the ``Subject`` of a measurement is built: for landing, pre-flight and rescoring alike."""

from features.core.money_flow import money_leaves
from features.core.preflight import ProposedCounterparty
from features.landing.stored_transfer import payer_and_payee
from features.measurement.subject import NO_CONTRIBUTION, OwnContribution, Subject
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState


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
    counterparty: Counterparty | None,
    counterparty_node: int,
    card: int,
    at: int,
    moved: bool,
    counterparty_named: bool | None = None,
    proposed: ProposedCounterparty | None = None,
    own: OwnContribution = NO_CONTRIBUTION,
) -> Subject:
    """The transfer to be measured at ``at``, in the order of the Struct's fields: one is built an event.

    ``cents`` are US cents, and ``card`` is the key that a card attempt is counted under. ``proposed`` describes a
    counterparty that a pre-flight names without an id; ``counterparty_named`` is given where one may be named and not
    be on file. ``moved`` is False for an attempt.
    """
    leaves = money_leaves(rail, direction, ach_type)
    source, target = payer_and_payee(actor, counterparty_node, leaves=leaves)
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
        counterparty is not None if counterparty_named is None else counterparty_named,
        _account_changed(program, counterparty, proposed, at, own),
        source,
        target,
        card,
        _account_details(counterparty, proposed),
        moved,
        own,
    )


def _account_changed(
    program: ProgramState,
    counterparty: Counterparty | None,
    proposed: ProposedCounterparty | None,
    at: int,
    own: OwnContribution,
) -> bool:
    """True for a first transfer to a name that was dealt with before under another account (ruling 10)."""
    book = program.counterparties
    if counterparty is not None:
        return book.account_changed(counterparty, at=at, counted=own.counterparty if own.moved else None)
    if proposed is not None:
        return book.has_other_account(proposed.name, proposed.routing_number, proposed.account_last4, at=at)
    return False


def _account_details(
    counterparty: Counterparty | None, proposed: ProposedCounterparty | None
) -> tuple[str | None, str | None] | None:
    if counterparty is not None:
        return counterparty.routing, counterparty.last4
    return None if proposed is None else (proposed.routing_number, proposed.account_last4)
