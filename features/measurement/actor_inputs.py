"""The inputs of an actor's score: the bank's report on an entity; an agent's payers, the scan index's statements on it,
and the agents among its payers.

Window  the newest 64 settlements of 90 days for payers, of 30 days for round trips, as known at ``at``, without
        cleared ones. Statements of the index count as of now
Errors  none: None for an unknown actor, for one without a report, and for an input that the index did not deliver
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from clearhold.features.agents.reading import address_of, cents_of
from clearhold.features.catalogue.amounts import Identity
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_90
from clearhold.features.core.vocabulary import PepStatus, VerificationStatus
from clearhold.features.scorers.ars_v1 import AgentInputs
from clearhold.features.scorers.trs_v1 import identity as rules
from clearhold.features.state.agent_book import AgentFacts
from clearhold.features.state.parties import Actor
from clearhold.features.state.party_details import UNKNOWN_PROFILE, EntityProfile
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import near_of, node_of_actor, node_of_counterparty
from clearhold.features.windows.series import ALWAYS

_RISK: Final = re.compile(r"fraud risk|sanction|watch ?list|\b(ofac|sdn)\b")
"""The bank's documented word, and words for the lists of sanctions."""
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")
_UNKNOWN: Final = Identity(None, None, None, None, None)
UNKNOWN_AGENT: Final = AgentFacts()


def identity_at(actor: Actor | None, at: int) -> Identity:
    """Verification, PEP status, risk mark, screening duty and screening age, as known at ``at``.

    Ruling 8, the scored half: an entity without an event of the bank is stored as ``UNVERIFIED``
    (``features/parties/party_rows.py``), but all five are None here, so it earns no verification points.
    """
    if actor is None or actor.profile is UNKNOWN_PROFILE:
        return _UNKNOWN
    profile = actor.profile_at(at)
    screened_at = profile.last_screened_at
    return Identity(
        entity_verification_status=profile.words.verification_status,
        entity_pep_status=profile.words.pep_status,
        entity_is_high_risk=profile.words.is_high_risk,
        entity_requires_screening=profile.words.requires_screening,
        entity_screening_age_days=max(0, at - screened_at) // DAY_US if screened_at is not None else None,
    )


def has_fraud_risk(actor: Actor | None, at: int) -> bool | None:
    """Whether the bank's review reasons name a fraud risk or a list of sanctions."""
    profile = UNKNOWN_PROFILE if actor is None else actor.profile_at(at)
    if profile is UNKNOWN_PROFILE:
        return None
    return _name_risk(profile.words.review_reasons)


def outcomes_of(profile: EntityProfile) -> frozenset[str]:
    """The outcomes of the bank's screening in a profile, by the ids of their reasons."""
    words = profile.words
    stated = (
        (words.verification_status == VerificationStatus.DENIED.value, rules.DENIED),
        (words.pep_status == PepStatus.YES.value, rules.PEP),
        (words.pep_status == PepStatus.POTENTIAL.value, rules.PEP_POTENTIAL),
        (words.is_high_risk, rules.HIGH_RISK),
        (_name_risk(words.review_reasons), rules.FRAUD_RISK),
    )
    return frozenset(signal.id for is_stated, signal in stated if is_stated)


@lru_cache(maxsize=256)
def _name_risk(review_reasons: tuple[str, ...]) -> bool:
    return any(_RISK.search(_BETWEEN_WORDS.sub(" ", reason.casefold())) for reason in review_reasons)


def agent_inputs(program: ProgramState, actor: Actor, at: int) -> AgentInputs:
    """The inputs of ars-v1. An agent that the index did not deliver has only its transfers."""
    settlements, cents = actor.amounts.measure(ALWAYS, at)
    facts = program.agents.facts.get(actor.index)
    node, month = node_of_actor(actor.index), at - DAYS_30
    payers = Counter(_payers(program, node, at - DAYS_90, at))
    known = UNKNOWN_AGENT if facts is None else facts
    profile = actor.profile_at(at)
    registered_at = profile.created_at if known.registered_at is None else known.registered_at
    return AgentInputs(
        settlements,
        cents if facts is None else cents_of(facts.units),
        actor.amounts.count(at - DAY_US, at),
        actor.amounts.count(month, at),
        payers.total(),
        len(payers),
        max(payers.values(), default=0),
        None if known.owner is None else _paid_by_owner(program, known, payers),
        _round_trips(program, actor, month, at),
        sum(times for payer, times in payers.items() if _is_listed(program, payer)),
        profile.words.verification_status,
        _days_since(registered_at, at),
        _days_since(known.owner_changed_at, at),
        known.active,
        None if facts is None else facts.wallet is not None,
        known.feedback_count,
        known.paid_feedback_count,
        known.revoked_feedback_count,
        known.starred_count,
        known.starred_mean,
        known.validation_count,
        known.validation_mean,
        known.screening,
    )


def totals_of(program: ProgramState, entity_id: str) -> tuple[int, int]:
    """The number of an agent's settlements that count, and their sum in cents."""
    actor = program.entity(entity_id)
    facts = None if actor is None else program.agents.facts.get(actor.index)
    return (0, 0) if facts is None else (facts.settlements, cents_of(facts.units))


def _paid_by_owner(program: ProgramState, facts: AgentFacts, payers: "Counter[int]") -> int:
    """Settlements paid by the agent's owner or by an agent of the same owner, itself included."""
    book, owner = program.agents, facts.owner
    assert owner is not None
    total = 0
    for payer, times in payers.items():
        node = _agent_node(program, payer)
        if node % 2 == 0:
            payer_facts = book.facts.get(node // 2)
            is_own = payer_facts is not None and payer_facts.owner == owner
        else:
            is_own = address_of(program.counterparties.all[node // 2].id) == owner
        total += times if is_own else 0
    return total


def _payers(program: ProgramState, node: int, after: int, upto: int) -> Iterable[int]:
    """The payers of the newest settlements of an agent that no person has cleared."""
    near, is_cleared = near_of(program.graph.into.get(node), after, upto), program.clearings.is_cleared
    if not any(map(is_cleared, near.rows)):
        return near.others
    return [payer for row, payer in zip(near.rows, near.others, strict=True) if not is_cleared(row)]


def _round_trips(program: ProgramState, actor: Actor, after: int, upto: int) -> int:
    """Payers that the agent paid too, from any of its wallets."""
    graph, own = program.graph, node_of_actor(actor.index)
    payers = {_agent_node(program, node) for node in _payers(program, own, after, upto)} - {own}
    if not payers:
        return 0
    wallets = [node_of_counterparty(index) for index in program.agents.own_parties(actor.index)]
    paid: set[int] = set()
    for node in (own, *wallets):
        paid.update(_agent_node(program, other) for other in near_of(graph.out.get(node), after, upto).others)
    return len(payers & paid)


def _is_listed(program: ProgramState, payer: int) -> bool:
    """Whether the payer's wallet is on a sanctions list; for a payer that is an agent, any wallet that it paid from."""
    book, index = program.agents, payer // 2
    if payer % 2:
        return index in book.listed
    return book.is_hit(index) or not book.listed.isdisjoint(book.own_parties(index))


def _agent_node(program: ProgramState, node: int) -> int:
    """The node of the agent with the payer's wallet, else the payer's own."""
    agent = program.agents.linked.get(node // 2) if node % 2 else None
    return node if agent is None else node_of_actor(agent)


def _days_since(since: int | None, at: int) -> int | None:
    return None if since is None else max(0, at - since) // DAY_US
