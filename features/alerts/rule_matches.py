"""Counted matches of rules: a row for the first time that such a rule matches a transfer.

Rules that log and rules in testing are counted. A rule that opens an alert is not: the alert is its match.
"""

from collections.abc import Sequence

from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.emit import Emit
from clearhold.features.core.rows.rules import RuleMatchRow
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.policy.rule_set import RuleInForce


def emit_rule_matches(
    context: DetectionContext, matches: Sequence[RuleInForce], position: EntryPosition, emit: Emit
) -> None:
    """Remember the counted matches of an assessed transfer."""
    program, row = context.program, context.landed.row_index
    for match in matches:
        if match.opens_alert or not program.rule_matches.add(match.mode, match.sha256, row):
            continue
        emit(
            RuleMatchRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                rule_id=match.rule.id,
                rule_sha256=match.sha256,
                version=match.version,
                mode=match.mode.value,
                transfer_id=context.transfer_id,
                band=context.assessment.score.band.value,
                bank_created_at=context.at,
                matched_at=position.appended_at,
            )
        )
