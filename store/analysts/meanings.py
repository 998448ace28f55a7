"""What each column of the lake means: a name has one meaning wherever it stands, or one of its own in a named view.

Columns of the feature vector have theirs from the catalogue (``features/catalogue``). A test holds that no column of a
view is without a meaning.
"""

from collections.abc import Mapping
from typing import Final

from features.catalogue.features import FEATURES

MEANINGS: Final[Mapping[str, str]] = {
    # Where a row comes from
    "tenant_id": "The bank.",
    "program_id": "The program: the business that banks there.",
    "actions.program_id": "The program; the tenant's id for an action on the whole tenant.",
    "policies.program_id": "The program in which it came into force.",
    "shard": "The shard of the log that the program lives in.",
    "offset": "Place of the log entry that the row follows from; within a program, a higher one is later.",
    "day": "The UTC day on which the log took that entry in. Conditions on it leave whole files unread.",
    "id": "The bank's own id.",
    "alerts.id": "The alert's id, minted here.",
    "actions.id": "The action's id, minted here, and the bank's idempotency key.",
    "dispositions.id": "The disposition's id, minted here.",
    "labels.id": "The label's id, minted here.",
    "preflights.id": "The pre-flight's id, minted here.",
    "programs.id": "The program's id, minted here.",
    "kri_snapshots.id": "The snapshot's id, minted here.",
    "actor_scores.id": "The id of this score.",
    # Events
    "event_id": "The bank's id of the event.",
    "type": "ACH: CREDIT pushes money, DEBIT pulls it; null on other rails.",
    "events.type": "The event's type as the bank names it, as in ach_transfer.settled.",
    "entities.type": "A person or a business.",
    "accounts.type": "The kind of account, as the bank names it.",
    "actions.type": "What is to be done at the bank or here.",
    "family": "The family that the type belongs to; it decides how the event is read.",
    "created_at": "When it came to be. UTC.",
    "events.created_at": "When the bank says that it happened. UTC.",
    "appended_at": "When the log took it in. UTC.",
    "result": "What became of the event: applied, waiting, stale, stored, unusable, unknown, duplicate, conflicting or "
    "failed (docs/events.md).",
    "directory_fetches.result": "Whether the bank had it.",
    "body_crc32": "Checksum of the event's bytes; equal bytes have equal ones.",
    "subject_type": "What the subject is: entity, counterparty, agent or program, and of alerts a transfer too.",
    "events.subject_type": "What the event is about; null when that could not be read.",
    "subject_id": "The id of the subject.",
    "reason": "A sentence on the result; null when there is nothing to say.",
    "labels.reason": "Why, as the person who set it wrote, or the return or dispute that it follows from.",
    "path": "The field that the sentence is about.",
    "is_correction": "True when events under this id came before and none of them took effect.",
    # Transfers
    "rail": "How the money moves: ach, wire, realtime, book, intl_wire, check or card.",
    "direction": "outgoing: the program originated it; incoming: it received it.",
    "amount_cents": "Cents of its currency.",
    "currency": "ISO 4217.",
    "status": "The bank's word for where it stands.",
    "alerts.status": "Where the alert stands: open, held, escalated, closed and so on.",
    "actions.status": "Where the action stands, from requested to executed or failed.",
    "entity_id": "The person or business on the program's side; null while unknown.",
    "account_id": "The program's account that the transfer is on.",
    "counterparty_id": "The other side; null when the bank has none on file.",
    "counterparty_country": "Country of the other side, ISO 3166-1; null when not delivered.",
    "sec_code": "ACH: the entry class, as PPD, CCD or WEB.",
    "return_code": "ACH: why it was returned, as R01 or R10; null for one that was not.",
    "returned_at": "When the bank reported the return. UTC.",
    "effective_at": "When the money is to move. UTC.",
    "bank_created_at": "When the bank made the transfer: its own time, which its windows end at. UTC.",
    "card_decision_reason": "Card: the normalised reason of the decision.",
    "score": "0-100; null below the floor of observations, never 0 for unknown.",
    "score_band": "clear (0-29), review (30-69), hold (70-100) or unscored.",
    "band": "clear (0-29), review (30-69), hold (70-100) or unscored.",
    "score_version": "The scorer, and card, that the score is of.",
    "score_n": "Observations behind the score.",
    "score_confidence": "0-1, from n; halved when inputs were missing.",
    "scored_at": "When it was scored: the append of the entry. UTC.",
    "scored_offset": "The offset of the row of transfer_features that holds its inputs.",
    "raw_offset": "Place of the log entry with the bank's object as last delivered.",
    "updated_at": "When this version came to be. UTC.",
    "transfer_id": "The bank's id of the transfer; null when none is concerned.",
    # Scores
    "taken_at": "The transfer's own time, which its windows end at. UTC.",
    "feature_version": "The version of the features; only equal ones compare.",
    "n": "Observations behind the score; below the floor it is null.",
    "confidence": "0-1, from n; halved when inputs were missing.",
    "dispositions.confidence": "How sure the recommendation was, 0-1; null for a person's own decision.",
    "hard": "A hard signal fired, which goes to a person whatever the score.",
    "degraded": "Inputs were missing when it was measured.",
    "degraded_reasons": "JSON: which inputs were missing.",
    "reasons": "JSON: what the score adds up from; transfer_reasons, actor_reasons, preflight_reasons have it as rows.",
    "paths": "JSON: offsets of the transfers that a round trip or layers went over; null without any.",
    "rescored": "False for the first scoring of a transfer, which knows nothing of its return.",
    "version": "The scorer, and card, that the score is of.",
    "policies.version": "The version, as in limits-v2; its prefix says which kind of policy it is.",
    "rule_matches.version": "The version of the rules that was in force.",
    "former_band": "The band of the subject's score before; unscored where there was none.",
    "inputs": "JSON: what the scorer looked at.",
    "champion_version": "The card in force.",
    "champion_score": "What the card in force makes of the same transfer.",
    "champion_band": "The band of that.",
    "reason_id": "Stable id of the reason, as in TRS-VEL-01. docs/reasons.md lists them all.",
    "signal": "The signal that fired.",
    "weight": "Points that it adds; over a scored row they add up to the score.",
    "sentence": "The reason in words, with its numbers.",
    "detail": "What more there is to say; null for nothing.",
    # Parties
    "name": "As the bank has it.",
    "verification_status": "How far the bank has verified the entity.",
    "is_high_risk": "The bank marks the entity as high risk.",
    "pep_status": "Whether the entity is a politically exposed person.",
    "requires_screening": "The bank wants it screened.",
    "review_reasons": "JSON: why the bank reviews it.",
    "last_screened_at": "When it was last screened; null for never. UTC.",
    "country_code": "ISO 3166-1; null when not delivered.",
    "legal_type": "The legal form of a business.",
    "expected_payment_rails": "JSON: the rails that it said it would use.",
    "raw": "JSON of the bank's object; of account numbers only the last four characters.",
    "routing_number": "Routing number of its bank.",
    "account_last4": "The last four characters of its account number.",
    "first_seen_at": "When the first transfer with it came. UTC.",
    "owner_told_by": "Who named the owner: bank, or an operator; null while nobody has.",
    "kind": "What was fetched: account, entity or counterparty.",
    "fetched_at": "When it was fetched. UTC.",
    "digest": "Digest of the answer; equal answers have equal ones.",
    "slug": "The program's short name.",
    "body": "JSON of the whole object.",
    # Pre-flights
    "decision": "clear, review or hold.",
    "dispositions.decision": "What was decided: close, escalate, hold, file and so on.",
    "latency_ms": "Milliseconds from the request's arrival to its answer.",
    "limits_hit": "JSON: the caps that the amount would cross.",
    "preflight_id": "The pre-flight.",
    "matched_at": "When it was matched. UTC.",
    # Alerts and decisions
    "detector": "What found it.",
    "severity": "low, medium, high or critical.",
    "summary": "The alert in a sentence.",
    "evidence": "JSON: the findings, with their transfers and numbers.",
    "score_at_alert": "The score of the transfer that opened it, at that time.",
    "band_at_alert": "The band of that.",
    "hard_signal": "A hard signal was among the findings.",
    "route": "Who decides: a person, or the policy.",
    "policy_version": "The policy in force when it was routed or decided.",
    "opened_at": "When it was opened. UTC.",
    "closed_at": "When it was closed; null while it is open. UTC.",
    "dedupe_key": "Detector, subject and window: one open alert each.",
    "due_at": "When a decision is due. UTC.",
    "escalated_at": "When it was first escalated; null for never. UTC.",
    "sla_tier": "auto, standard, complex or appeal: how long it may wait.",
    "appeal_of": "The alert that was appealed; null for none.",
    "draft": "JSON: the decision that was drafted for a person; null for none.",
    "alert_sha256": "Digest of the alert as opened, which decisions cite.",
    "from_history": "All its findings are of transfers that were history when they were delivered.",
    "alert_id": "The alert.",
    "decided_by": "The person, or policy, that decided.",
    "narrative": "Why, in the words of who decided.",
    "narrative_model": "The model that drafted those words; null for none.",
    "recommendation": "What the draft recommended; null for none.",
    "overturns_draft": "The person decided otherwise than the draft; null without one.",
    "policy_sha256": "Digest of the policy's body.",
    "label": "bad or ok.",
    "source": "Where the label comes from: a person, a return or a dispute.",
    "recorded_by": "Who set it.",
    "target_type": "What the action is on.",
    "target_id": "The id of that.",
    "requested_by": "Who asked for it.",
    "approved_by": "The second person; null while, or where, there is none.",
    "change": "JSON: what is to be changed here; null for an action at the bank.",
    "bank_response": "JSON: the bank's answer, without account numbers; null for none.",
    "error": "Why it failed; null when it did not.",
    "executed_at": "When it was carried out. UTC.",
    # Policies, rules, indicators
    "of_program": "It is the program's own, and stands above the tenant's.",
    "action_id": "The action that brought it into force; empty for none.",
    "sha256": "Digest of the body, which the record cites.",
    "in_force_at": "From when it counts. UTC.",
    "rule_id": "The rule.",
    "rule_sha256": "Digest of all that the rule says, but for its status.",
    "mode": "log: in force and opens no alert; shadow: in testing.",
    "cause": "Why the snapshot was taken.",
    "as_of_at": "The instant that it was measured at. UTC.",
    "window_days": "Days of the longest window.",
    "kris": "JSON: the indicators by name; kri_values has them as rows.",
    "program_score": "0-100; null below three measured indicators.",
    "program_score_n": "Indicators that were measured for it.",
    "program_score_version": "The scorer that it is of.",
    "day_at": "The midnight, UTC, at which the day began.",
    "totals": "JSON: the program's totals over the days up to the end of this one.",
    "snapshot_id": "The snapshot.",
    "kri": "Name of the indicator (docs/kris.md).",
    "value": "As measured, never smoothed; null for not measured.",
    "unit": "Unit of value and threshold: ratio, count, cents, days or hours.",
    "threshold": "The line of its breach; null for none.",
    "kri_values.n": "Observations that the value is made of.",
    "kri_values.status": "ok, watch, breach or unmeasured.",
    "note": "What there is to say about it; null for nothing.",
    # The lake itself
    "table_name": "The table, as its view is called.",
    "file": "The part's file, as a path in the lake.",
    "first_row": "The first row of the database's table that it may hold.",
    "end_row": "The row behind the last.",
    "rows": "How many rows it has.",
    "bytes": "Its size.",
    "merges": "How often its rows were written again.",
    "counts_from": "From when it counts. UTC.",
    "counts_until": "Until when it counts; null for good. UTC.",
    "parts": "How many files count now.",
    "as_of": "What was committed before this is in the lake. UTC.",
}
FEATURE_MEANINGS: Final = {
    feature.column: " ".join(
        filter(None, (feature.meaning, feature.unit and f"Unit: {feature.unit}.", f"Window: {feature.window}."))
    )
    for feature in FEATURES
}


def meaning_of(view: str, column: str) -> str | None:
    """What a column means; ``view`` may be one of versions, whose columns mean what those of the current ones do."""
    for name in (f"{view}.{column}", f"{plain_name(view)}.{column}"):
        if name in MEANINGS:
            return MEANINGS[name]
    if view == "transfer_features" and column in FEATURE_MEANINGS:
        return FEATURE_MEANINGS[column]
    return MEANINGS.get(column)


def plain_name(view: str) -> str:
    """The name of the current things whose versions a view has."""
    if view == "entity_versions":
        return "entities"
    if view == "counterparty_versions":
        return "counterparties"
    return f"{view.removesuffix('_versions')}s" if view.endswith("_versions") else view
