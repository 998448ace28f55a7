"""Pre-flight's side of the assessment: the same features, scorer and bands, read without changing anything.

Window  all windows end at the instant of the question
"""

from typing import Final

import msgspec

from features.core.preflight import PreflightRecord, ProposedCounterparty, ProposedTransfer, Resolved
from features.core.rail_classes import class_of
from features.core.reason import Score
from features.core.vocabulary import Direction
from features.landing.stored_transfer import card_of
from features.measurement.assess import Assessment, assess
from features.measurement.subject import Subject
from features.state.open_preflights import OtherSide
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState
from features.windows.edges import NOBODY, node_of_actor

COUNTRY_MISSING: Final = "counterparty_country_missing"
STATE_BEHIND: Final = "state_behind"


class Asked(msgspec.Struct, frozen=True):
    """The assessment of a proposed transfer, whom it is about, and what was missing for it."""

    assessment: Assessment
    resolved: Resolved
    degraded_reasons: tuple[str, ...]

    @property
    def score(self) -> Score:
        return self.assessment.score


def ask(program: ProgramState, transfer: ProposedTransfer, *, at: int, stale: bool = False) -> Asked:
    """Assess a proposed transfer as of ``at``; ``stale`` says that the state lags behind what was delivered."""
    actor = _actor(program, transfer.entity_id)
    counterparty = _counterparty(program, transfer)
    proposed = transfer.counterparty
    country = proposed.country_code if proposed is not None else None
    if country is None and counterparty is not None:
        country = counterparty.country
    subject = Subject(
        transfer.rail.value,
        transfer.direction.value,
        transfer.type.value if transfer.type is not None else None,
        int(transfer.amount_cents),
        None,
        country,
        None,
        None,
        actor,
        counterparty,
        transfer.counterparty_id is not None or proposed is not None,
        _account_changed(program, transfer, counterparty, at),
        *_nodes(program, transfer, actor, counterparty),
        card_of(-1, actor.index if actor is not None else -1),
        _account(counterparty, proposed),
    )
    baseline = program.baseline.measure(at, class_of(subject.rail, subject.direction))
    assessment = assess(subject, program.series, program.declared_at(at), baseline, at=at, stale=stale)
    missing = ((COUNTRY_MISSING, subject.degraded), (STATE_BEHIND, stale))
    listed = counterparty is not None and not counterparty.unlisted
    return Asked(
        assessment,
        Resolved(
            entity_id=transfer.entity_id,
            counterparty_id=counterparty.id if counterparty is not None and listed else transfer.counterparty_id,
            counterparty_country=country,
        ),
        tuple(reason for reason, is_so in missing if is_so),
    )


def _actor(program: ProgramState, entity_id: str | None) -> Actor | None:
    """The entity; one that nobody has heard of is as good as one without history."""
    if not entity_id:
        return None
    return program.entity(entity_id) or Actor(entity_id, len(program.actors), is_account=False)


def _nodes(
    program: ProgramState, transfer: ProposedTransfer, actor: Actor | None, counterparty: Counterparty | None
) -> tuple[int, int]:
    own = NOBODY if actor is None else node_of_actor(actor.index)
    other = NOBODY if counterparty is None else program.node_asked(counterparty)
    return (own, other) if transfer.direction is Direction.OUTGOING else (other, own)


def _account(
    counterparty: Counterparty | None, proposed: ProposedCounterparty | None
) -> tuple[str | None, str | None] | None:
    if counterparty is not None:
        return counterparty.routing, counterparty.last4
    return None if proposed is None else (proposed.routing_number, proposed.account_last4)


def asked_about(program: ProgramState, record: PreflightRecord) -> OtherSide:
    """Whom a landed transfer must be with for this pre-flight to be its own."""
    resolved = record.resolved.counterparty_id
    proposed = record.transfer.counterparty
    if record.transfer.counterparty_id is not None or proposed is None:
        return OtherSide(resolved, None, None, None)
    party = program.counterparties.get(resolved) if resolved is not None else None
    return OtherSide(
        resolved,
        proposed.routing_number or (party.routing if party is not None else None),
        proposed.account_last4 or (party.last4 if party is not None else None),
        proposed.name,
    )


def _counterparty(program: ProgramState, transfer: ProposedTransfer) -> Counterparty | None:
    if transfer.counterparty_id is not None:
        return program.counterparties.get(transfer.counterparty_id)
    proposed = transfer.counterparty
    if proposed is None:
        return None
    return program.counterparties.match(proposed.name, proposed.routing_number, proposed.account_last4)


def _account_changed(
    program: ProgramState, transfer: ProposedTransfer, counterparty: Counterparty | None, at: int
) -> bool:
    if counterparty is not None:
        if counterparty.times.count_upto(at) > 0:
            return False
        name, routing, last4 = counterparty.name, counterparty.routing, counterparty.last4
    elif transfer.counterparty is not None:
        proposed = transfer.counterparty
        name, routing, last4 = proposed.name, proposed.routing_number, proposed.account_last4
    else:
        return False
    return program.counterparties.account_changed(name, routing, last4, at=at)
