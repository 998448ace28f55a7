"""The matches of rules that are new: a row each, the first time that a rule in a mode matches a transfer."""

from collections.abc import Mapping, Sequence

from features.core.log_entry import EntryPosition
from features.core.rows.emit import Emit
from features.core.rows.rules import RuleMatchRow
from features.detectors.detector import DetectionContext
from features.policy.rule_set import RuleInForce


def emit_rule_matches(
    context: DetectionContext,
    matches: Sequence[RuleInForce],
    alert_ids: Mapping[str, str],
    position: EntryPosition,
    emit: Emit,
) -> None:
    """Remember the matches of an assessed transfer; ``alert_ids`` are the alerts that cover it, by detector."""
    program, row = context.program, context.landed.row_index
    other = next(iter(alert_ids.values()), None)
    for match in matches:
        rule_id = match.rule.id
        if not program.rule_matches.add(rule_id, match.mode, row):
            continue
        emit(
            RuleMatchRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                rule_id=rule_id,
                rule_sha256=match.sha256,
                version=match.version,
                mode=match.mode.value,
                transfer_id=context.transfer_id,
                band=context.assessment.score.band.value,
                alert_id=alert_ids[match.detector] if match.opens_alert else other,
                opened=match.opens_alert,
                bank_created_at=context.at,
                matched_at=position.appended_at,
            )
        )
