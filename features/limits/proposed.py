"""The assessment of a proposed transfer: the same features, scorer and bands as at landing, changing no state.

Window  all windows end at the instant of the request
"""

from typing import Annotated

import msgspec

from clearhold.features.bank.purchases import NOTHING_STATED, Purchase, read_purchase
from clearhold.features.core.entries.preflight import HARD_HIT, LimitHit, PreflightRecord, ProposedTransfer, Resolved
from clearhold.features.core.money import USD, UsdRate, class_of
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Direction, Rail, Reason, Score, about
from clearhold.features.landing.subject_builder import build_subject, country_of_transfer, paid_account
from clearhold.features.landing.transfer_records import priced_at
from clearhold.features.limits.caps import CappedTransfer, crossed_by_proposed, reason_of, whole_cents
from clearhold.features.limits.ladder import (
    NOT_ON_FILE,
    LadderBands,
    LadderParties,
    RescreenOfBoth,
    bands_of,
    ladder_hits,
    rescreen_of,
)
from clearhold.features.measurement.assessment import Assessment, assess, thin_in_question
from clearhold.features.measurement.subject import Subject
from clearhold.features.policy.bodies import LimitLadder
from clearhold.features.policy.in_force import ladder_in_force
from clearhold.features.scorers.engine import in_order
from clearhold.features.state.open_preflights import CounterpartyDetails
from clearhold.features.state.parties import Actor, KnownCounterparty, PartyDetails
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY, node_of_actor


class PreflightAssessment(msgspec.Struct, frozen=True):
    """The assessment of a proposed transfer, the parties it was resolved to, and the facts missing for it.

    ``crossed`` are the reasons of the program's caps that it would cross, and ``limits_hit`` the caps of the ladder.
    """

    assessment: Assessment
    resolved: Resolved
    degraded_reasons: tuple[str, ...]
    crossed: tuple[Reason, ...]
    limits_hit: tuple[LimitHit, ...]
    usd_rate: UsdRate | None

    @property
    def score(self) -> Score:
        """The score with the reasons of crossed caps, which are hard and add no points."""
        score = self.assessment.score
        if not self.crossed:
            return score
        return msgspec.structs.replace(score, reasons=in_order((*score.reasons, *self.crossed)))


def assess_proposed(
    program: ProgramState, transfer: ProposedTransfer, *, at: int, stale: bool = False
) -> PreflightAssessment:
    """Assess a proposed transfer as of ``at``; ``stale`` when the state lags behind the events delivered."""
    counterparty, proposed = _counterparty_of(program, transfer), transfer.counterparty
    country = country_of_transfer(None if proposed is None else proposed.country_code, counterparty)
    actor = _actor_of(program, transfer.entity_id)
    details, paid = _details_of(program, transfer, counterparty, at)
    cents, usd_rate = _priced(program, transfer, at)
    subject = build_subject(
        program,
        rail=transfer.rail.value,
        direction=transfer.direction.value,
        ach_type=transfer.type.value if transfer.type is not None else None,
        cents=cents,
        status=None,
        country=country,
        card_reason=None,
        sec_code=None,
        actor=actor,
        counterparty=counterparty,
        counterparty_node=_node_of(program, transfer.counterparty_id, counterparty, actor),
        card=_card_of(program, transfer, actor),
        at=at,
        moved=True,
        counterparty_named=transfer.counterparty_id is not None or proposed is not None,
        details=details,
        paid=paid,
        purchase=_purchase_of(transfer),
    )
    baseline = program.baseline.measure(at, class_of(subject.rail, subject.direction))
    assessment = assess(
        subject, program.series, program.declared_at(at), baseline, program.scorecards.champion, at=at, stale=stale
    )
    parties, whole = _parties(transfer, actor, counterparty), _whole(transfer, cents)
    on_file = None if counterparty is None or counterparty.unlisted else counterparty
    return PreflightAssessment(
        assessment=assessment,
        resolved=Resolved(
            entity_id=parties.entity_id,
            counterparty_id=transfer.counterparty_id if on_file is None else on_file.id,
            counterparty_country=country,
        ),
        degraded_reasons=(*assessment.degraded_reasons, *_thin(program, transfer, subject, actor, assessment, at)),
        crossed=_crossed(program, transfer, actor, cents, at) if program.caps else (),
        limits_hit=_limits_hit(program, parties, whole, at) if transfer.direction is Direction.OUTGOING else (),
        usd_rate=usd_rate,
    )


def _thin(
    program: ProgramState,
    transfer: ProposedTransfer,
    subject: Subject,
    actor: Actor | None,
    assessed: Assessment,
    at: int,
) -> tuple[str, ...]:
    """What leaves the answer thin, in the words of ``degradedReasons``."""
    return thin_in_question(
        subject,
        assessed.vector,
        is_known=actor is not None and actor.index < len(program.actors),
        is_usual_known=program.prevalence.is_known(at, is_card=transfer.rail is Rail.CARD),
    )


def _priced(program: ProgramState, transfer: ProposedTransfer, at: int) -> tuple[int | None, UsdRate | None]:
    return priced_at(program, int(transfer.amount_cents), transfer.currency, None, at=at, decided_at=at)


class LimitEvaluation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ladder applied to a proposed transfer; ``hard`` when any hit is."""

    hits: Annotated[tuple[LimitHit, ...], about("Caps that the amount would cross.")]
    hard: Annotated[bool, about("Whether any hit is hard.")]
    bands: LadderBands
    rescreen: Annotated[RescreenOfBoth, about("When each side is to be screened again; null for a side not named.")]
    ladder: LimitLadder
    simulated: Simulated = msgspec.UNSET


def evaluate_ladder(program: ProgramState, transfer: ProposedTransfer, *, at: int) -> LimitEvaluation:
    """The caps of the ladder that a proposed transfer would cross, as its pre-flight would say."""
    parties = _parties(transfer, _actor_of(program, transfer.entity_id), _counterparty_of(program, transfer))
    ladder, bands = ladder_in_force(program, at), bands_of(program, parties, at=at)
    cents = _whole(transfer, _priced(program, transfer, at)[0])
    hits = ladder_hits(ladder, parties, bands, cents=cents, at=at) if transfer.direction is Direction.OUTGOING else ()
    return LimitEvaluation(
        hits=hits,
        hard=any(hit.severity == HARD_HIT for hit in hits),
        bands=bands,
        rescreen=rescreen_of(ladder, parties, bands, at=at),
        ladder=ladder,
    )


def _crossed(
    program: ProgramState, transfer: ProposedTransfer, actor: Actor | None, counted_cents: int | None, at: int
) -> tuple[Reason, ...]:
    ach_type, whole = None if transfer.type is None else transfer.type.value, _whole(transfer, counted_cents)
    is_least = counted_cents is None and transfer.currency != USD
    capped = CappedTransfer(transfer.rail.value, transfer.direction.value, ach_type, whole, is_least, actor)
    return tuple(map(reason_of, crossed_by_proposed(program, capped, at)))


def _limits_hit(program: ProgramState, parties: LadderParties, cents: int, at: int) -> tuple[LimitHit, ...]:
    bands = bands_of(program, parties, at=at)
    return ladder_hits(ladder_in_force(program, at), parties, bands, cents=cents, at=at)


def _whole(transfer: ProposedTransfer, counted_cents: int | None) -> int:
    return whole_cents(int(transfer.amount_cents), transfer.currency, counted_cents)


def _parties(transfer: ProposedTransfer, actor: Actor | None, counterparty: KnownCounterparty | None) -> LadderParties:
    """The parties that the transfer names, with the ids that answers show."""
    counterparty_id = transfer.counterparty_id
    if counterparty is not None and not counterparty.unlisted:
        counterparty_id = counterparty.id
    elif counterparty_id is None and transfer.counterparty is not None:
        counterparty_id = NOT_ON_FILE
    return LadderParties(
        transfer.entity_id if actor is None or actor.is_account else actor.id, actor, counterparty_id, counterparty
    )


def counterparty_to_match(program: ProgramState, record: PreflightRecord) -> CounterpartyDetails:
    """The counterparty that a landed transfer must have to match this pre-flight."""
    resolved = record.resolved.counterparty_id
    proposed = record.transfer.counterparty
    if record.transfer.counterparty_id is not None or proposed is None:
        return CounterpartyDetails(id=resolved, routing=None, last4=None, name=None)
    party = program.counterparties.get(resolved) if resolved is not None else None
    return CounterpartyDetails(
        id=resolved,
        routing=proposed.routing_number or (party.routing if party is not None else None),
        last4=proposed.account_last4 or (party.last4 if party is not None else None),
        name=proposed.name,
    )


def _actor_of(program: ProgramState, named: str | None) -> Actor | None:
    """An entity, or a known account's owner, else the account; an unknown one has no history."""
    if not named:
        return None
    return program.known_actor(named) or Actor.new(named, len(program.actors), is_account=program.is_account(named))


def _card_of(program: ProgramState, transfer: ProposedTransfer, actor: Actor | None) -> int:
    """The key that a card attempt of the actor is counted under: its only card, ``NOBODY`` when it has several."""
    if transfer.rail is not Rail.CARD or actor is None:
        return NOBODY
    return program.card_table.only_key(actor.index, account=program.accounts.known_number(transfer.entity_id))


def _purchase_of(transfer: ProposedTransfer) -> Purchase:
    if transfer.rail is not Rail.CARD:
        return NOTHING_STATED
    return read_purchase(
        transfer.merchant_category, transfer.merchant_state, transfer.entry_mode, present=transfer.card_present
    )


def _counterparty_of(program: ProgramState, transfer: ProposedTransfer) -> KnownCounterparty | None:
    if transfer.counterparty_id is not None:
        return program.counterparties.get(transfer.counterparty_id)
    proposed = transfer.counterparty
    if proposed is None:
        return None
    return program.counterparties.known(proposed.name, proposed.routing_number, proposed.account_last4)


def _node_of(
    program: ProgramState, counterparty_id: str | None, counterparty: KnownCounterparty | None, actor: Actor | None
) -> int:
    """The counterparty's node: of an own account or entity also before any transfer named it on that side."""
    if counterparty is not None:
        counterparty_id = counterparty.id
    if counterparty_id is None:
        return NOBODY
    node = program.node_if_landed(counterparty_id, counterparty)
    if counterparty is None and node == NOBODY and actor is not None and actor.id == counterparty_id:
        return node_of_actor(actor.index)
    return node


def _details_of(
    program: ProgramState, transfer: ProposedTransfer, counterparty: KnownCounterparty | None, at: int
) -> tuple[PartyDetails | None, PartyDetails | None]:
    """The counterparty's details as its landing would know them, and the account that the transfer would pay.

    A transfer with its id, or a counterparty known only by name, takes the proposed details where none on file is of
    after ``at``; a match on file takes none.
    """
    proposed = transfer.counterparty
    if proposed is None:
        return None, None
    routing, last4 = proposed.routing_number, proposed.account_last4
    if counterparty is None:
        return PartyDetails(proposed.name, routing, last4), None
    if transfer.counterparty_id is None and not counterparty.unlisted:
        return None, paid_account(counterparty, routing, last4)
    account = counterparty.account_after(routing, last4)
    name_at, account_at, _ = program.counterparties.stated_at(counterparty)
    name = proposed.name if name_at <= at else counterparty.name
    if account_at <= at:
        return PartyDetails(name, *account), PartyDetails(name, *account)
    added = counterparty.completed_by(routing, last4)
    present = (counterparty.routing or added[0], counterparty.last4 or added[1])
    return PartyDetails(name, *present), PartyDetails(name, *account)
