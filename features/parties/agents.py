"""Agents and profiles of the scan index applied to the program ``agents``: an agent is an entity of it, and the profile
of a wallet states its agent's verification and screening, or that a payer is on a sanctions list.

Unit    instants in microseconds
Bounds  a listed wallet gives a new score to the agents of its newest 64 payments of 90 days
"""

from hashlib import blake2b
from typing import Any, Final

from clearhold.features.agents.reading import WALLET_PREFIX, AgentItem, ProfileItem, address_of, counterparty_id_of
from clearhold.features.bank.events import EntitySnapshot
from clearhold.features.core.canonical import json_text
from clearhold.features.core.instants import DAY_US, DAYS_90
from clearhold.features.core.log_entry import Emit, EntryPosition, LogEntry, event_time
from clearhold.features.core.rows.parties import AgentRow
from clearhold.features.core.vocabulary import EntityType, VerificationStatus
from clearhold.features.parties.actor_scores import emit_entity_score
from clearhold.features.parties.party_rows import counterparty_row, entity_row, note_outcomes
from clearhold.features.state.agent_book import ALWAYS_HELD, HIT, AgentFacts, Screened
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.party_details import UNKNOWN_PROFILE, stated_by
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY

REVIEW_REASONS: Final = {
    HIT: ("wallet_screening_hit",),
    "review": ("wallet_screening_review",),
    "not_covered": ("wallet_screening_not_covered",),
}
Listed = Actor | KnownCounterparty
"""The owner of a listed wallet: an agent, or a payer."""

_NO_OBJECT: Final = "{}"
_DIGEST_BYTES: Final = 8
_FACTS: Final = (
    *("owner", "active", "registered_at", "owner_changed_at"),
    *("feedback_count", "paid_feedback_count", "revoked_feedback_count"),
    *("starred_count", "starred_mean", "validation_count", "validation_mean"),
)


def apply_agent(program: ProgramState, item: AgentItem, entry: LogEntry, emit: Emit) -> tuple[Listed, ...]:
    """Store the index's statements on an agent, unless newer ones are stored; the same item again changes nothing.

    Returns the agent when it takes a wallet that is on a sanctions list.
    """
    position = _position_at(item.updated_at, entry)
    actor = program.entity_or_new(item.entity_id)
    program.introduced.clear()  # this row introduces it
    is_new, facts = actor.index not in program.agents.facts, program.agents.facts.setdefault(actor.index, AgentFacts())
    digest = _digest_of(entry.body)
    if digest == facts.body_digest or position.event_at < facts.order:
        return ()
    program.arrivals.is_late |= len(program.transfers) > 0  # an agent counts from the beginning
    was_hit = facts.screening == HIT
    facts.body_digest, facts.order = digest, position.event_at
    for name in _FACTS:
        setattr(facts, name, getattr(item, name))
    since = item.registered_at if is_new and item.registered_at is not None else position.event_at
    _merge(program, actor, _stated(actor, name=item.name, created_at=item.registered_at), min(since, position.event_at))
    if is_new or item.wallet != facts.wallet:
        _change_wallet(program, actor, item, position, is_new=is_new)
    emit(entity_row(program, actor, entry.body.decode(), position))
    _emit_agent(program, actor, item, position, emit)
    emit_entity_score(program, actor, position, emit)
    return () if was_hit or facts.screening != HIT else (actor,)


def apply_profile(program: ProgramState, item: ProfileItem, entry: LogEntry, emit: Emit) -> tuple[Listed, ...]:
    """Store the index's statements on a wallet; an older screening than the stored one changes nothing.

    Returns the agents and the payer whose wallet is on a sanctions list from now on.
    """
    position = _position_at(item.screened_at, entry)
    day = 0 if item.screened_at is None else max(0, position.event_at // DAY_US)
    stored = program.agents.screened(item.wallet)
    if stored is not None and day and day < stored.day:
        return ()
    is_changed = program.agents.screen(item.wallet, Screened(item.screening, item.verification_status, day))
    program.arrivals.is_late |= is_changed and len(program.transfers) > 0
    listed: list[Listed] = []
    for index in program.agents.holders(item.wallet):
        if item.screening == HIT and not program.agents.is_hit(index):
            listed.append(program.actors[index])
        _screen_agent(program, program.actors[index], item, position, emit)
    party = program.counterparties.get(counterparty_id_of(item.wallet))
    if party is not None and is_changed:
        if item.screening == HIT and party.index not in program.agents.listed:
            listed.append(party)
        _screen_payer(program, party, item.screening, position, emit)
    return tuple(listed)


def link_payer(program: ProgramState, party: KnownCounterparty, actor: int) -> bool:
    """Link a payer to the agent that owns its wallet; True when it had no agent before.

    A link before its first payment makes it a node of the agent, so that money is followed through it.
    """
    if party.same_as == NOBODY:
        party.same_as = actor
    return program.agents.link(party.index, actor)


def wallet_object(program: ProgramState, party: KnownCounterparty) -> str | None:
    """The statement on a payer, in place of a bank's object; None for a party that is no wallet."""
    kind, _, wallet = party.id.partition(":")
    chain_id = wallet.partition(":")[0]
    if kind != WALLET_PREFIX or not (chain_id.isascii() and chain_id.isdigit()):
        return None
    agent, screened = program.agents.linked.get(party.index), program.agents.screened(wallet)
    return json_text(
        {
            "address": address_of(wallet),
            "chainId": int(chain_id),
            "agentEntityId": None if agent is None else program.actors[agent].id,
            "screeningStatus": None if screened is None else screened.screening,
        }
    )


def _change_wallet(
    program: ProgramState, actor: Actor, item: AgentItem, position: EntryPosition, *, is_new: bool
) -> None:
    """The first known wallet of an agent counts from its registration, or from the sale that cleared the previous one;
    a later wallet from the item's own time.
    """
    book, facts = program.agents, program.agents.facts[actor.index]
    stated = (item.registered_at, item.owner_changed_at)
    first_since = max((at for at in stated if at is not None), default=ALWAYS_HELD)
    since = first_since if is_new else position.event_at
    book.assign(actor.index, item.wallet, since=since, released_at=position.event_at)
    facts.wallet_known_at = position.event_at
    screened = None if item.wallet is None else book.screened(item.wallet)
    facts.screening = facts.screened_at = None
    if screened is not None:
        facts.screening, facts.screened_at = screened.screening, screened.day * DAY_US or None
    if screened is not None or not is_new:
        verification = None if screened is None else screened.verification
        _merge(program, actor, _screened_as(actor, facts.screening, verification, facts.screened_at), position.event_at)
    party = None if item.wallet is None else program.counterparties.get(counterparty_id_of(item.wallet))
    if party is not None and link_payer(program, party, actor.index):
        book.new_agent_counterparties += 1


def _screen_agent(program: ProgramState, actor: Actor, item: ProfileItem, position: EntryPosition, emit: Emit) -> None:
    facts = program.agents.facts[actor.index]
    is_changed = (facts.screening, facts.screened_at) != (item.screening, item.screened_at)
    facts.screening, facts.screened_at = item.screening, item.screened_at
    snapshot = _screened_as(actor, item.screening, item.verification_status, item.screened_at)
    if not _merge(program, actor, snapshot, position.event_at) and not is_changed:
        return
    program.kri_facts.screen(actor.index, actor.profile)
    emit(entity_row(program, actor, _NO_OBJECT, position))
    _emit_agent(program, actor, None, position, emit)
    emit_entity_score(program, actor, position, emit)


def _screen_payer(
    program: ProgramState, party: KnownCounterparty, screening: str | None, position: EntryPosition, emit: Emit
) -> None:
    """Score the agents again that a payer paid, when the payer enters or leaves a sanctions list."""
    emit(counterparty_row(program, party, wallet_object(program, party), position))
    listed = program.agents.listed
    if (screening == HIT) == (party.index in listed):
        return
    (listed.add if screening == HIT else listed.discard)(party.index)
    paid = program.graph.out.get(party.node)
    if paid is None:
        return
    near = paid.near(position.event_at - DAYS_90, position.appended_at, but=NOBODY, as_of=position.appended_at)
    for node in sorted(set(near.others)):
        if node % 2 == 0:
            emit_entity_score(program, program.actors[node // 2], position, emit)


def _stated(actor: Actor, **over: Any) -> EntitySnapshot:
    """A statement on an agent: a business that is not verified unless a profile says otherwise."""
    known = actor.profile
    fields = dict.fromkeys(EntitySnapshot.__struct_fields__)
    usual = {
        "id": actor.id,
        "type": EntityType.BUSINESS.value,
        "verification_status": known.words.verification_status or VerificationStatus.UNVERIFIED.value,
    }
    return EntitySnapshot(**{**fields, **usual, **over})


def _screened_as(
    actor: Actor, screening: str | None, verification: str | None, screened_at: int | None
) -> EntitySnapshot:
    is_hit = screening == HIT
    return _stated(
        actor,
        verification_status=verification or VerificationStatus.UNVERIFIED.value,
        is_high_risk=is_hit,
        requires_screening=is_hit,
        review_reasons=REVIEW_REASONS.get(screening or "", ()),
        last_screened_at=screened_at,
    )


def _merge(program: ProgramState, actor: Actor, snapshot: EntitySnapshot, known_at: int) -> bool:
    """Merge new facts; False when all of them are known."""
    known = actor.profile
    stated = zip(stated_by(snapshot), known.stated(), strict=True)
    if known is not UNKNOWN_PROFILE and all(new is None or new == old for new, old in stated):
        return False
    is_merged = actor.merge(snapshot, known_at=max(known_at, known.known_at)) is not None
    note_outcomes(program, actor, known)
    return is_merged


def _emit_agent(
    program: ProgramState, actor: Actor, item: AgentItem | None, position: EntryPosition, emit: Emit
) -> None:
    _, chain_id, registry, agent_id = actor.id.split(":")
    facts, profile = program.agents.facts[actor.index], actor.profile
    emit(
        AgentRow(
            *position.first_columns(program.tenant_id, program.id, actor.id),
            name=(profile.name or "") if item is None else item.name,
            chain_id=int(chain_id),
            registry=registry,
            agent_id=agent_id,
            owner=facts.owner,
            wallet=None if facts.wallet is None else address_of(facts.wallet),
            verification_status=profile.words.verification_status or VerificationStatus.UNVERIFIED.value,
            screening_status=facts.screening,
            last_screened_at=facts.screened_at,
            registered_at=facts.registered_at,
            updated_at=position.appended_at,
        )
    )


def _position_at(stated_at: int | None, entry: LogEntry) -> EntryPosition:
    """An item counts from its stated time, and no later than its own entry."""
    at = entry.appended_at if stated_at is None else event_time(stated_at, appended_at=entry.appended_at)
    return EntryPosition(entry.shard, entry.offset, at, entry.appended_at)


def _digest_of(body: bytes) -> int:
    """A digest that outsiders, who write these texts, cannot collide on purpose."""
    return int.from_bytes(blake2b(body, digest_size=_DIGEST_BYTES).digest(), "big")
