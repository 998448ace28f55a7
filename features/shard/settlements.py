"""Settlements of the scan index as transfers of the program ``agents``, and the imports that bring its items.

settlement ─▶ its agent ─▶ known already? ─▶ land as a realtime transfer ─▶ all that follows a landing

A settlement is paid to an agent's wallet: one that names another agent is refused. A stored settlement changes only in
its status: pending, confirmed, or dropped by its chain.
"""

from typing import Final

from clearhold.features.agents.reading import AgentItem, ProfileItem, SettlementItem, address_of, counterparty_id_of
from clearhold.features.alerts.opening import open_for_listed, open_for_outcomes
from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.core.canonical import json_text
from clearhold.features.core.entries.directory import AgentImportEntry, ImportStage, SkipReason
from clearhold.features.core.log_entry import Emit, EntryPosition, LogEntry, event_time, position_of
from clearhold.features.core.money import USD
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.landing.landing import land
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.parties.actor_scores import emit_entity_score
from clearhold.features.parties.agents import apply_agent, apply_profile, link_payer
from clearhold.features.shard.pipeline import after_landing
from clearhold.features.state.agent_book import HIT
from clearhold.features.state.parties import Actor
from clearhold.features.state.program import ProgramState

PENDING: Final = "PENDING"
_LAST: Final = 4
_REALTIME, _INCOMING = Rail.REALTIME.value, Direction.INCOMING.value


def apply_statement(
    program: ProgramState, item: AgentItem | ProfileItem | SkipReason, entry: LogEntry, emit: Emit
) -> None:
    """Apply a statement on an agent, or on a wallet."""
    if isinstance(item, SkipReason):
        program.agents.count_skipped(item.value)
        return
    if isinstance(item, AgentItem):
        parties = apply_agent(program, item, entry, emit)
    else:
        parties = apply_profile(program, item, entry, emit)
    for listed in parties:
        open_for_listed(program, listed, position_of(entry), emit)
    open_for_outcomes(program, position_of(entry), emit)


def apply_settlement(program: ProgramState, item: SettlementItem | SkipReason, entry: LogEntry, emit: Emit) -> None:
    refused = item if isinstance(item, SkipReason) else _land_or_refuse(program, item, entry, emit)
    if refused is not None:
        program.agents.count_skipped(refused.value)


def apply_import(program: ProgramState, entry: AgentImportEntry, logged: LogEntry, emit: Emit) -> None:
    """Begin to count new objects, or record the counts at the end."""
    book = program.agents
    if entry.stage is ImportStage.BEGUN:
        book.begin_import(entry.id)
    both = ((reason.value, entry.skipped, book.skipped) for reason in SkipReason)
    skipped = {reason: read.get(reason, 0) + applied.get(reason, 0) for reason, read, applied in both}
    emit(
        AgentImportRow(
            tenant_id=program.tenant_id,
            program_id=program.id,
            id=entry.id,
            shard=logged.shard,
            offset=logged.offset,
            stage=entry.stage.value,
            agents=entry.agents,
            profiles=entry.profiles,
            settlements_scanned=entry.settlements_scanned,
            transfers=book.new_transfers,
            counterparties=book.new_counterparties,
            agent_counterparties=book.new_agent_counterparties,
            skipped=json_text({reason: number for reason, number in skipped.items() if number}),
            read_until_at=entry.read_until_at,
            oldest_pending_at=book.oldest_pending_at,
            reason=entry.reason,
            updated_at=logged.appended_at,
        )
    )


def _land_or_refuse(program: ProgramState, item: SettlementItem, entry: LogEntry, emit: Emit) -> SkipReason | None:
    stored = StoredTransfer.find(program, item.transfer_id)
    if stored is not None:
        return _follow_status(program, stored, item, entry, emit)
    agent = _paid_agent(program, item)
    if isinstance(agent, SkipReason):
        return agent
    _meet_payer(program, item)
    at = event_time(item.settled_at, appended_at=entry.appended_at)
    program.arrivals.note(at)
    position = EntryPosition(entry.shard, entry.offset, at, entry.appended_at)
    snapshot = _snapshot(item, agent)
    landed = land(program, snapshot, position)
    if landed.transfer is not None:
        program.agents.new_transfers += 1
        program.agents.add_settlement(agent.index, landed.row_index, item.units)
        program.agents.note_status(landed.row_index, item.settled_at, is_pending=item.status == PENDING)
        if not landed.transfer.record.moved:
            program.agents.count_settlement(agent.index, item.units, -1)
    after_landing(program, snapshot, landed, position, emit)
    return None


def _follow_status(
    program: ProgramState, stored: StoredTransfer, item: SettlementItem, entry: LogEntry, emit: Emit
) -> SkipReason | None:
    """Change the status of a stored settlement, and nothing else."""
    actor, party, book = stored.actor, stored.counterparty, program.agents
    if (
        actor is None
        or party is None
        or item.agent not in (None, actor.id)
        or counterparty_id_of(item.payer) != party.id
        or book.units_of(stored.row_index) != item.units
    ):
        return SkipReason.CONTRADICTED
    if program.strings.text(stored.record.status) == item.status:
        return None
    book.note_status(stored.row_index, item.settled_at, is_pending=item.status == PENDING)
    position = EntryPosition(entry.shard, entry.offset, entry.appended_at, entry.appended_at)
    snapshot, was_counted = _snapshot(item, actor), stored.record.moved
    landed = land(program, snapshot, position)
    if landed.transfer is not None and landed.transfer.record.moved != was_counted:
        book.count_settlement(actor.index, item.units, -1 if was_counted else 1)
    after_landing(program, snapshot, landed, position, emit)
    emit_entity_score(program, actor, position, emit)
    return None


def _paid_agent(program: ProgramState, item: SettlementItem) -> Actor | SkipReason:
    """The agent that owns the paid wallet. The agent that the settlement names has precedence, unless the wallet
    belonged to another agent at that time, or the named agent is known to have had another wallet.
    """
    book = program.agents
    holders = book.holders_at(item.pay_to, item.settled_at)
    if item.agent is None:
        return program.actors[holders[0]] if len(holders) == 1 else SkipReason.NO_AGENT
    actor = program.entity(item.agent)
    facts = None if actor is None else book.facts.get(actor.index)
    if actor is None or facts is None:
        return SkipReason.UNKNOWN_AGENT
    if actor.index in holders:
        return actor
    address = address_of(item.pay_to)
    if facts.wallet is None or address in (address_of(facts.wallet), facts.owner):
        return SkipReason.CONTRADICTED if holders else actor
    return SkipReason.CONTRADICTED if holders or item.settled_at >= facts.wallet_known_at else actor


def _meet_payer(program: ProgramState, item: SettlementItem) -> None:
    """Make the payer's wallet a counterparty, and link it to its agent."""
    book, counterparty_id = program.agents, counterparty_id_of(item.payer)
    party = program.counterparties.get(counterparty_id)
    if party is None:
        party = program.counterparties.get_or_add(counterparty_id)
        book.new_counterparties += 1
        screened = book.screened(item.payer)
        if screened is not None and screened.screening == HIT:
            book.listed.add(party.index)
    holders = book.holders_at(item.payer, item.settled_at)
    claimed = program.entity(item.payer_agent) if item.payer_agent is not None else None
    if claimed is not None and claimed.index in book.facts and (not holders or claimed.index in holders):
        holders = [claimed.index]
    if len(holders) == 1 and party.index not in book.linked and link_payer(program, party, holders[0]):
        book.new_agent_counterparties += 1


def _snapshot(item: SettlementItem, actor: Actor) -> TransferSnapshot:
    return TransferSnapshot(
        id=item.transfer_id,
        rail=_REALTIME,
        direction=_INCOMING,
        type=None,
        amount_cents=item.cents,
        currency=USD,
        status=item.status,
        entity_id=actor.id,
        account_id=None,
        counterparty_id=counterparty_id_of(item.payer),
        counterparty_name=None,
        counterparty_routing=None,
        counterparty_last4=item.payer[-_LAST:],
        country=None,
        sec_code=None,
        return_code=None,
        return_undone=False,
        returned_at=None,
        effective_at=None,
        created_at=item.settled_at,
        updated_at=None,
        card_decision_reason=None,
        card_id=None,
        stated_usd_cents=None,
    )
