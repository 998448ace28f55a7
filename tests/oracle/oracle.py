"""A second, naive reading of the features' definitions: only the facts are kept, and every feature is counted anew.

Built from the bank's reference, the rules and the definitions alone, never from the state that it is held against.
Quantiles are exact here; the state may differ from them by half a percent. ``entity.rescreenDays`` and the ladder's
version are left out.
"""

import json
from typing import Any, NamedTuple

from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.oracle import ach
from tests.oracle.cards import card_fields
from tests.oracle.chains import chain_fields, middles_field
from tests.oracle.entity import activity_fields, amount_fields, passing_fields, profile_fields, structuring_fields
from tests.oracle.facts import Known, Program
from tests.oracle.graph import edges_of, fan_fields, regular_fields
from tests.oracle.landing import land
from tests.oracle.learning import learn_account, learn_answer, learn_counterparty, learn_entity, learn_owner
from tests.oracle.origins import origin_fields
from tests.oracle.pairs import pair_fields, past_field, take_note, week_fields
from tests.oracle.policies import learn_approval, learn_policy, learn_request, policy_fields, thresholds_at
from tests.oracle.programs import baseline_of, program_fields
from tests.oracle.purchases import purchase_fields
from tests.oracle.reading import instant, is_transfer, read_said
from tests.oracle.relations import relation_fields
from tests.oracle.rhythm import rhythm_fields
from tests.oracle.shares import count_in, share_fields
from tests.oracle.texts import usable_times
from tests.oracle.view import Other, Subject, attempts_before, subject_of

Fields = dict[str, Any]


class Expected(NamedTuple):
    """What one entry must lead to, when it scores a transfer: the features by their wire names."""

    transfer_id: str
    taken_at: int
    features: Fields


class Oracle:
    """Takes log entries in order; answers the scoring that each leads to, or None."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}

    def apply(self, entry: LogEntry) -> Expected | None:
        program = self.programs.setdefault(entry.program_id, Program())
        if entry.kind == EntryKind.PROGRAM:
            program.declared.append((entry.appended_at, json.loads(entry.body)))
        if entry.kind == EntryKind.POLICY:
            learn_policy(program, json.loads(entry.body), entry.appended_at)
        if entry.kind == EntryKind.ACTION:
            learn_request(program, json.loads(entry.body))
        if entry.kind == EntryKind.APPROVAL:
            learn_approval(program, json.loads(entry.body), entry.appended_at)
        if entry.kind == EntryKind.OWNER:
            told = json.loads(entry.body)
            learn_owner(program, told["accountId"], told["entityId"], entry.appended_at)
        if entry.kind == EntryKind.DIRECTORY:
            learn_answer(program, json.loads(entry.body), entry.appended_at)
        if entry.kind != EntryKind.BANK:
            return None
        event = json.loads(entry.body)
        if event["id"] in program.events:
            return None
        program.events.add(event["id"])
        event_at = min(instant(event["created_at"]), entry.appended_at)
        data = _in_time(usable_times(event.get("data") or {}, entry.appended_at), entry.appended_at)
        known = _taken_in(program, event["type"], data, event_at, entry.appended_at)
        return None if known is None else _scored(program, known)


def _in_time(data: Fields, appended_at: int) -> Fields:
    """An update more than five minutes in the future counts as none said: it would outdate all that follow."""
    updated = data.get("updated_at")
    ahead = updated is not None and instant(updated) > appended_at + 300_000_000
    return data | {"updated_at": None} if ahead else data


def _taken_in(program: Program, kind: str, data: Fields, event_at: int, appended_at: int) -> Known | None:
    family = kind.split(".", maxsplit=1)[0]
    if family == "identity":
        learn_entity(program, kind, data, event_at)
    elif family == "account":
        learn_account(program, data, event_at)
    elif family == "counterparty":
        learn_counterparty(program, data, event_at, kind.rsplit(".", 1)[1])
    elif is_transfer(kind, data):
        return land(program, read_said(kind, data, event_at), event_at, appended_at)
    return None


def _scored(program: Program, known: Known) -> Expected:
    attempts = attempts_before(program, known, known.own)
    is_new = known.baseline is None
    if known.baseline is None:
        moved = [attempt for attempt in attempts if attempt.moved]
        known.baseline = baseline_of(moved, known.said.rail, known.said.direction, known.own)
    subject = subject_of(program, known, known.baseline)
    features = features_of(program, subject, attempts)
    if is_new:
        take_note(program, subject, features)
        count_in(program, subject, features)
    return Expected(known.said.id, known.own, features)


def features_of(program: Program, subject: Subject, attempts: list[Other]) -> Fields:
    """Every feature of a transfer, landed or asked about."""
    others = [attempt for attempt in attempts if attempt.moved]
    own = [other for other in others if subject.actor is not None and other.actor == subject.actor]
    shared = [other for other in others if subject.party is not None and other.party == subject.party]
    edges = edges_of(others)
    thresholds = thresholds_at(program, subject.at)
    alike = structuring_fields(subject, own, shared, thresholds.lines) | amount_fields(subject, own)
    fields: Fields = {
        "amountCents": subject.cents,
        "rail": subject.rail,
        "direction": subject.direction,
        "type": subject.type,
        "status": subject.status,
        "counterpartyCountry": subject.country,
        "cardDecisionReason": subject.card_reason,
        **activity_fields(subject, own),
        **profile_fields(subject, program.profile_at(subject.actor, subject.at), own),
        **alike,
        **policy_fields(subject, thresholds),
        **regular_fields(subject, edges, alike),
        **passing_fields(subject, own, edges),
        **ach.entity_fields(subject, own),
        **ach.counterparty_fields(subject, shared),
        **ach.program_fields(subject, others),
        **relation_fields(program, subject, own, shared, others),
        **program_fields(program, subject, others),
        **fan_fields(subject, edges),
        **chain_fields(subject, edges),
        **middles_field(subject, edges),
        **card_fields(subject, attempts),
        **pair_fields(program, subject, others),
        **rhythm_fields(program, subject, own, edges),
        **week_fields(program, subject, others),
        **origin_fields(program, subject, own, edges, others),
        **purchase_fields(subject, attempts),
    }
    fields |= past_field(subject, edges, fields)
    return fields | share_fields(program, subject, fields)
