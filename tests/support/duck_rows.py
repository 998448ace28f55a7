"""Rows with every default filled, so that a test of the tables names only what it is about."""

from typing import Any, Final

import msgspec

from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.alerts import (
    AlertRow,
    BackfillRow,
    DispositionRow,
    EntryResultRow,
    LabelRow,
    RuleMatchRow,
)
from clearhold.features.core.rows.events import EventRow, PreflightMatchRow, PreflightRow, TransferRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow, ShadowScoreRow
from clearhold.features.core.rules import rule_hash
from clearhold.store.record.chain_file import RecordChainRow
from tests.support.rules import a_rule

TENANT: Final = "tnt_1"
PROGRAM: Final = "prg_1"
AT: Final = 1_772_400_000_000_000  # microseconds
_WRITTEN: Final[dict[str, Any]] = {"tenant_id": TENANT, "program_id": PROGRAM, "shard": 3, "offset": 1}


def an_event(**over: Any) -> EventRow:
    usual: dict[str, Any] = {
        "event_id": "evt_1",
        "type": "ach.outgoing_transfer.initiated",
        "family": "transfer",
        "created_at": AT,
        "appended_at": AT,
        "result": "applied",
        "body_crc32": 0,
        "subject_type": "transfer",
        "subject_id": "trf_1",
        "reason": None,
        "path": None,
        "is_correction": False,
    }
    return EventRow(**_WRITTEN | usual | over)


def a_transfer(**over: Any) -> TransferRow:
    usual: dict[str, Any] = {
        "id": "trf_1",
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amount_cents": 125_00,
        "currency": "USD",
        "status": "posted",
        "entity_id": "ent_1",
        "account_id": "acc_1",
        "counterparty_id": "cpt_1",
        "counterparty_country": "US",
        "sec_code": "PPD",
        "return_code": None,
        "returned_at": None,
        "effective_at": None,
        "bank_created_at": AT,
        "card_decision_reason": None,
        "score": 12,
        "score_band": "clear",
        "score_version": "trs-v1",
        "score_n": 40,
        "score_confidence": 0.5,
        "scored_at": AT,
        "scored_offset": 1,
        "raw_offset": 1,
        "updated_at": AT,
        "number": 0,
        "usd_rate": None,
        "usd_rate_day": None,
        "usd_rate_version": None,
    }
    return TransferRow(**_WRITTEN | usual | over)


def some_features(**over: Any) -> TransferFeaturesRow:
    usual: dict[str, Any] = {
        "transfer_id": "trf_1",
        "taken_at": AT,
        "scored_at": AT,
        "feature_version": "features-v1",
        "score_version": "trs-v1",
        "score": 12,
        "band": "clear",
        "n": 40,
        "confidence": 0.5,
        "hard": False,
        "degraded": False,
        "reasons": "[]",
        "paths": None,
        "rescored": False,
        "vector": a_vector(),
    }
    return TransferFeaturesRow(**_WRITTEN | usual | over)


def a_vector() -> FeatureVector:
    """A value of the right type in every field that must have one, None in the others."""
    samples: dict[Any, Any] = {str: "text", int: 7, float: 0.5, bool: True}
    values: dict[str, Any] = {field.name: samples.get(field.type) for field in msgspec.structs.fields(FeatureVector)}
    return FeatureVector(**values | {"structuring_thresholds": "300000,1000000"})


def a_scoring(transfer_id: str, at: int, offset: int, **over: Any) -> TransferFeaturesRow:
    """Of a transfer over 100 dollars by ACH; fields of the vector are named as those of the row are."""
    vector = {name: over.pop(name) for name in list(over) if name in FeatureVector.__struct_fields__}
    values = {"amount_cents": 100_00, "rail": "ach"} | vector
    row = some_features(transfer_id=transfer_id, taken_at=at, scored_at=AT, offset=offset, **over)
    return msgspec.structs.replace(row, vector=msgspec.structs.replace(a_vector(), **values))


def a_preflight(**over: Any) -> PreflightRow:
    usual: dict[str, Any] = {
        "id": "pre_1",
        "decision": "clear",
        "score": 3,
        "band": "clear",
        "degraded": False,
        "latency_ms": 1,
        "idempotency_key": None,
        "body": "{}",
        "created_at": AT,
    }
    return PreflightRow(**_WRITTEN | usual | over)


def a_match(**over: Any) -> PreflightMatchRow:
    usual: dict[str, Any] = {
        "preflight_id": "pre_1",
        "offset": 2,
        "transfer_id": "trf_1",
        "matched_at": AT,
    }
    return PreflightMatchRow(**_WRITTEN | usual | over)


def an_alert(**over: Any) -> AlertRow:
    usual: dict[str, Any] = {
        "id": "alr_1",
        "detector": "structuring_pattern",
        "severity": "high",
        "subject_type": "entity",
        "subject_id": "ent_1",
        "transfer_id": "trf_1",
        "summary": "Something was seen.",
        "evidence": "{}",
        "score_at_alert": 35,
        "band_at_alert": "review",
        "hard_signal": False,
        "status": "open",
        "route": "reviewed",
        "policy_version": "policy-v1",
        "opened_at": AT,
        "closed_at": None,
        "dedupe_key": "key_1",
        "due_at": AT,
        "escalated_at": None,
        "sla_tier": "complex",
        "appeal_of": None,
        "draft": None,
        "alert_sha256": "0" * 64,
        "updated_at": AT,
        "from_history": False,
        "queue_rank": over.get("opened_at", AT),
    }
    return AlertRow(**_WRITTEN | usual | over)


def a_disposition(**over: Any) -> DispositionRow:
    usual: dict[str, Any] = {
        "id": "dsp_1",
        "alert_id": "alr_1",
        "decided_by": "operator:ann",
        "decision": "close",
        "narrative": "It was explained.",
        "narrative_model": None,
        "recommendation": None,
        "confidence": None,
        "policy_version": "policy-v1",
        "overturns_draft": None,
        "alert_sha256": "0" * 64,
        "policy_sha256": "1" * 64,
        "created_at": AT,
        "action_id": None,
        "warnings": None,
    }
    return DispositionRow(**_WRITTEN | usual | over)


def a_link(row: DispositionRow, **over: Any) -> RecordChainRow:
    """The link of a disposition, whose hash is its id."""
    usual: dict[str, Any] = {
        "tenant_id": row.tenant_id,
        "chain": "dispositions",
        "seq": 0,
        "id": row.id,
        "program_id": row.program_id,
        "shard": row.shard,
        "offset": row.offset,
        "body": "{}",
        "prev_hash": None,
        "hash": row.id,
        "created_at": row.created_at,
    }
    return RecordChainRow(**usual | over)


def a_result(**over: Any) -> EntryResultRow:
    usual: dict[str, Any] = {
        "id": "dsp_1",
        "kind": "decision",
        "alert_id": "alr_1",
        "transfer_id": None,
        "result": "made",
        "disposition_id": "dsp_1",
        "opened_alert_id": None,
        "created_at": AT,
    }
    return EntryResultRow(**_WRITTEN | usual | over)


def a_label(**over: Any) -> LabelRow:
    usual: dict[str, Any] = {
        "id": "lbl_1",
        "transfer_id": "trf_1",
        "label": "bad",
        "reason": "It came back.",
        "source": "person",
        "recorded_by": "ann",
        "created_at": AT,
    }
    return LabelRow(**_WRITTEN | usual | over)


def a_step(offset: int, **over: Any) -> BackfillRow:
    """Of a backfill, at this offset of the log."""
    names = [field.name for field in msgspec.structs.fields(BackfillRow)]
    filled: dict[str, Any] = dict.fromkeys(names, 0) | _WRITTEN
    texts = dict.fromkeys(("id", "subjects", "stage", "feature_version", "score_version"), "text")
    return BackfillRow(**filled | texts | {"offset": offset, "replaying": False, "updated_at": AT} | over)


def a_snapshot(at: int, **over: Any) -> KriSnapshotRow:
    """Of key risk indicators as of an instant; nothing was measured."""
    usual: dict[str, Any] = {
        "id": f"snp_{at}_of_{over.get('program_id', PROGRAM)}",
        "offset": at,
        "cause": "scheduled",
        "as_of_at": at,
        "window_days": 60,
        "kris": "{}",
        "program_score": None,
        "program_score_n": 0,
        "program_score_version": "prs-v1",
        "band": "unscored",
        "created_at": at,
    }
    return KriSnapshotRow(**_WRITTEN | usual | over)


def a_score(**over: Any) -> ScoreRow:
    usual: dict[str, Any] = {
        "id": "scr_1",
        "subject_type": "entity",
        "subject_id": "ent_1",
        "version": "ers-v1",
        "score": 12,
        "band": "clear",
        "former_band": "unscored",
        "n": 40,
        "confidence": 0.67,
        "hard": False,
        "degraded": False,
        "reasons": "[]",
        "inputs": "{}",
        "scored_at": AT,
    }
    return ScoreRow(**_WRITTEN | usual | over)


def a_rule_match(transfer_id: str = "trf_1", **over: Any) -> RuleMatchRow:
    """In shadow, of the rule that ``a_rule`` builds."""
    rule = a_rule()
    usual: dict[str, Any] = {
        "rule_id": rule.id,
        "rule_sha256": rule_hash(rule),
        "version": "shadow-v1",
        "mode": "shadow",
        "transfer_id": transfer_id,
        "band": "clear",
        "bank_created_at": AT - 60 * DAY_US,
        "matched_at": AT - DAY_US,
    }
    return RuleMatchRow(**_WRITTEN | usual | over)


def a_shadow_score(transfer_id: str = "trf_1", **over: Any) -> ShadowScoreRow:
    """Clear by both cards."""
    usual: dict[str, Any] = {
        "transfer_id": transfer_id,
        "version": "trs-v1+scorecard-v1",
        "score": 5,
        "band": "clear",
        "champion_version": "trs-v1",
        "champion_score": 0,
        "champion_band": "clear",
        "bank_created_at": AT - DAY_US,
        "scored_at": AT - DAY_US,
    }
    return ShadowScoreRow(**_WRITTEN | usual | over)
