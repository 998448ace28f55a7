"""The newest finding of an alert that was open before: its texts and its row are made when the page of entries ends.

A page is the entries that are committed together. A further finding in it takes the place of this one, so an alert that
many of them join is written once. The texts are of the state at the finding, and are made before if they are read.
"""

import msgspec

from clearhold.features.alerts.evidence import FindingFacts, evidence_of, refreshed, summary_of
from clearhold.features.alerts.evidence_bodies import LastingEvidence
from clearhold.features.alerts.narrative import draft_of, policy_close
from clearhold.features.alerts.rows import alert_row
from clearhold.features.core.canonical import json_text
from clearhold.features.core.log_entry import Emit, EntryPosition, no_rows
from clearhold.features.detectors.detector import DetectionContext, Finding
from clearhold.features.policy.in_force import InForce
from clearhold.features.policy.routing import Routing
from clearhold.features.state.alert_state import AlertState, Texts


class NewestFinding(msgspec.Struct, frozen=True):
    """``alert``, ``facts`` and ``tenant_id`` are as of the finding; ``before`` is of the evidence that it replaces."""

    context: DetectionContext
    finding: Finding
    alert: AlertState
    routing: Routing
    policies: InForce
    facts: FindingFacts
    before: LastingEvidence
    tenant_id: str
    position: EntryPosition
    emit: Emit

    @property
    def lasting(self) -> LastingEvidence:
        """Of its evidence, without the transfers that it rests on, which are in ``facts``."""
        if self.before.auto_hold or not self.routing.auto_hold:
            return self.before
        return msgspec.structs.replace(self.before, auto_hold=True)

    def __call__(self) -> Texts:
        """Make the texts, and emit the row of the alert with them."""
        context, alert = self.context, self.alert
        newest = evidence_of(context, self.finding, alert, self.routing, self.policies, self.facts)
        evidence = refreshed(self.before, newest)
        draft = (draft_of if alert.waits else policy_close)(alert, evidence, program_id=context.program.id)
        texts = (summary_of(self.finding, context), json_text(evidence), json_text(draft))
        if self.emit is not no_rows:
            alert.stored_texts = texts
            row = alert_row(context.program, alert, self.position)
            self.emit(msgspec.structs.replace(row, tenant_id=self.tenant_id))
        return texts
