"""The question that could have been asked just before a bank event, when the event is the first word of a transfer.

It says what the bank's event says, in the words of a pre-flight: the actor as its entity or as its account, the other
side by id, by its details, or by both. ``compared`` asks, lets the event land, and names each difference.
"""

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

import msgspec

from clearhold.features.bank.event_types import event_type
from clearhold.features.bank.events import EVENT_DECODER, TransferSnapshot, decode_object
from clearhold.features.bank.transfers import read_transfer
from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry, event_time
from clearhold.features.core.money import usd_cents_of
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.limits.proposed import PreflightAssessment, assess_proposed
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY
from tests.oracle.status_order import UNMOVED

OF_THE_CARD: Final = (
    *("card_declines_1h", "card_small_count_1h"),
    *("card_other_country_minutes_24h", "card_other_state_minutes_24h", "card_not_present_merchants_24h"),
)
NOT_ASKED: Final = ("status", "card_decision_reason")  # what no one can know before
OTHER_CARD: Final = ("several cards", "another card")
SCORE: Final = ("score", "band", "n", "confidence", "hard", "reasons", "degraded")
THIN: Final = {"entity_unknown", "entity_unverified", "baseline_thin", "program_usual_unknown"}


class Question(NamedTuple):
    """``ways`` say how actor and counterparty are named."""

    transfer: ProposedTransfer
    at: int
    ways: tuple[str, str]


class Comparison(NamedTuple):
    """``kind`` is rail, direction, type and the ways; a card's ends with whether its card was known."""

    kind: tuple[str, ...]
    differences: tuple[str, ...]


def first_word(program: ProgramState, entry: LogEntry) -> tuple[TransferSnapshot, int] | None:
    """The snapshot that lands a transfer of money that moves, with the transfer's own time; None for other entries."""
    if entry.kind != EntryKind.BANK:
        return None
    event = EVENT_DECODER.decode(entry.body)
    created_at = parse_instant(event.created_at)
    kind = event_type(event.type)
    if created_at is None or kind.kind is None or not kind.is_transfer:
        return None
    event_at = event_time(created_at, appended_at=entry.appended_at)
    snapshot = read_transfer(kind.kind, decode_object(event.data), event_at=event_at, appended_at=entry.appended_at)
    if snapshot is None or snapshot.amount_cents is None or snapshot.status in UNMOVED:
        return None
    if StoredTransfer.find(program, snapshot.id) is not None:
        return None
    own = snapshot.created_at if snapshot.created_at is not None else event_at
    return snapshot, min(own, entry.appended_at)


def question_of(program: ProgramState, snapshot: TransferSnapshot, at: int, chance: Random) -> Question:
    actor_way, named = chance.choice(_actors(program, snapshot))
    party_way, counterparty_id, details = chance.choice(_parties(program, snapshot))
    cents = usd_cents_of(snapshot.amount_cents or 0, snapshot.currency, snapshot.stated_usd_cents)
    transfer = ProposedTransfer(
        rail=Rail(snapshot.rail),
        direction=Direction(snapshot.direction),
        type=None if snapshot.type is None else AchType(snapshot.type),
        amount_cents=str(snapshot.amount_cents if cents is None else cents),
        currency="USD" if cents is not None else snapshot.currency or "USD",
        entity_id=named,
        counterparty_id=counterparty_id,
        counterparty=details,
        card_present=snapshot.purchase.present,
        entry_mode=snapshot.purchase.entry_mode,
        merchant_category=snapshot.purchase.category,
        merchant_state=snapshot.purchase.state,
    )
    return Question(transfer, at, (actor_way, party_way))


def _actors(program: ProgramState, snapshot: TransferSnapshot) -> list[tuple[str, str | None]]:
    account = snapshot.account_id
    owner = program.accounts.owner_of(account) if account is not None else None
    entity = snapshot.entity_id or owner
    ways: list[tuple[str, str | None]] = []
    if entity is not None:
        ways.append(("entity", entity))
    if account is not None and entity == owner:
        ways.append(("account" if owner is None else "owned account", account))
    return ways or [("nobody", None)]


def _parties(
    program: ProgramState, snapshot: TransferSnapshot
) -> list[tuple[str, str | None, ProposedCounterparty | None]]:
    """The ways to name the other side that say no more and no less than the event."""
    party_id, name, country = snapshot.counterparty_id, snapshot.counterparty_name, snapshot.country
    routing, last4 = snapshot.counterparty_routing, snapshot.counterparty_last4
    if name is None:
        return [("nobody" if party_id is None else "id", party_id, None)]
    details = ProposedCounterparty(name=name, routing_number=routing, account_last4=last4, country_code=country)
    if party_id is None:
        return [("details", None, details)]
    ways: list[tuple[str, str | None, ProposedCounterparty | None]] = [("id and details", party_id, details)]
    party = program.counterparties.get(party_id)
    stored = None if party is None else (party.name, party.routing, party.last4)
    if party is not None and stored == (name, routing or party.routing, last4 or party.last4):
        if country in (None, party.country):
            ways.append(("id", party_id, None))
        if program.counterparties.match(name, routing, last4) is party:
            ways.append(("details", None, details))
    return ways


def _card_way(answer: PreflightAssessment, landed: TransferFeaturesRow, *, is_same: bool) -> str:
    """Whether the question knew the card that the attempt came on: it cannot know one of several, nor a new one."""
    if landed.vector.rail != Rail.CARD.value:
        return "-"
    asked, known = (
        [getattr(vector, name) for name in OF_THE_CARD] for vector in (answer.assessment.vector, landed.vector)
    )
    if asked[0] is None:
        return "several cards"
    return "card" if is_same or asked == known else "another card"


def _asked_card(program: ProgramState, transfer: ProposedTransfer) -> int:
    """The key of the card that a question is about; ``NOBODY`` for none that is known."""
    actor = program.known_actor(transfer.entity_id or "")
    if actor is None:
        return NOBODY
    return program.card_table.only_key(actor.index, account=program.accounts.known_number(transfer.entity_id))


def _differences(answer: PreflightAssessment, landed: TransferFeaturesRow, card: str) -> Iterator[str]:
    asked, vector = answer.assessment.vector, landed.vector
    unasked = (*NOT_ASKED, *(OF_THE_CARD if card in OTHER_CARD else ()))
    for field in vector.__struct_fields__:
        mine, theirs = getattr(asked, field), getattr(vector, field)
        if mine != theirs and field not in unasked:
            yield f"{field}: asked {mine}, landed {theirs}"
    missing = _missing(landed)
    if card in OTHER_CARD:
        missing = missing - {"card_unknown"} | ({"card_unknown"} if card == "several cards" else set())
    if set(answer.degraded_reasons) - THIN != missing:
        yield f"degraded reasons: asked {answer.degraded_reasons}, landed {missing}"
    if card in OTHER_CARD:
        return
    score = answer.assessment.score  # without caps, which alerts name when the transfer has landed
    reasons = msgspec.json.encode(score.reasons).decode()
    mine = (score.value, score.band, score.n, score.confidence, score.hard, reasons, answer.assessment.degraded)
    theirs = (landed.score, landed.band, landed.n, landed.confidence, landed.hard, landed.reasons, landed.degraded)
    for name, one, other in zip(SCORE, mine, theirs, strict=True):
        if one != other:
            yield f"{name}: asked {one}, landed {other}"


def _missing(landed: TransferFeaturesRow) -> set[str]:
    """What the guide says a landed transfer's score lacks, read off its vector."""
    vector = landed.vector
    facts = {
        "amount_not_in_usd": vector.amount_cents is None,
        "counterparty_country_missing": vector.counterparty_country is None and vector.rail == Rail.INTL_WIRE.value,
        "card_unknown": vector.card_declines_1h is None,
        "screening_missing": bool(vector.entity_requires_screening) and vector.entity_screening_age_days is None,
    }
    return {word for word, is_missing in facts.items() if is_missing}


def compared(state: ShardState, entry: LogEntry, chance: Random) -> Comparison | None:
    """Ask, then let the entry land; None when it is no transfer's first word. The entry is applied in any case."""
    program = state.program(entry.program_id)
    word = first_word(program, entry)
    question = None if word is None else question_of(program, *word, chance)
    answer = None if question is None else assess_proposed(program, question.transfer, at=question.at)
    asked_card = None if question is None else _asked_card(program, question.transfer)
    rows: list[msgspec.Struct] = []
    state.apply(entry, rows.append)
    landings = [row for row in rows if isinstance(row, TransferFeaturesRow)]
    if question is None or answer is None or not landings:
        return None
    transfer = question.transfer
    kind = (transfer.rail.value, transfer.direction.value, transfer.type.value if transfer.type else "-")
    stored = StoredTransfer.find(program, landings[0].transfer_id)
    card = _card_way(answer, landings[0], is_same=stored is not None and stored.card() == asked_card)
    return Comparison((*kind, *question.ways, card), tuple(_differences(answer, landings[0], card)))
