"""Transfers in the hold band, the alerts that hold them, and the actions and decisions that end a hold."""

from typing import Any

import msgspec

from clearhold.features.core.entries.actions import ActionEntry, ActionType, ApprovalEntry, OutcomeEntry
from clearhold.features.core.entries.commands import AppealEntry, OperatorKind
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.features.core.rows.alerts import ActionRow, AlertRow, DispositionRow, EntryResultRow
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.clock import T0
from tests.support.programs import warmed_program

ANSWER = {"dryRun": True, "reason": "no_bank_key"}


class HeldStory:
    """A program with a denied entity, whose wires to Iran are in the hold band. Each call is an hour later."""

    def __init__(self) -> None:
        self.story = warmed_program()
        self.now = 80 * DAY_US
        self.newest = ""
        denied = bank.an_entity(
            id="enti_1", created_at=None, verification_status="DENIED", updated_at=bank.rfc3339(T0 + 79 * DAY_US)
        )
        self.story.deliver("identity.updated", denied, at=T0 + 79 * DAY_US)

    def wire(self, **over: Any) -> str:
        """A wire in the hold band; its id."""
        self.now += HOUR_US
        self.story.wire("enti_1", f"cpty_{self.now}", 950_00, self.now, beneficiary_country_code="IR", **over)
        assert self.story.scoring.band == "hold"
        self.newest = self.story.scoring.transfer_id
        return self.newest

    def alerts(self, *statuses: str, on: str | None = None) -> list[AlertRow]:
        """The alerts in these statuses, on one transfer if it is given."""
        return [
            row
            for row in {row.id: row for row in self.story.all(AlertRow)}.values()
            if (not statuses or row.status in statuses)
            and (on is None or on in (row.transfer_id, *evidence_of(row).get("transferIds", ())))
        ]

    def decide(self, alert: AlertRow, decision: str, **over: Any) -> str:
        self.now += HOUR_US
        rows = self.story.submit(a_decision(alert, decision, self.now, **over))
        return result_in(rows)

    def appeal(self, alert: AlertRow) -> AlertRow:
        self.now += HOUR_US
        appeal = AppealEntry(
            id=f"apl_{self.now}", alert_id=alert.id, reason="There is more.", operator="a.kim", at=T0 + self.now
        )
        rows = self.story.submit(appeal)
        assert result_in(rows) == "made"
        return next(row for row in rows if isinstance(row, AlertRow))

    def request(
        self,
        type_: str,
        target: tuple[str, str],
        *,
        alert: AlertRow | None = None,
        by: str = "ann",
        kind: OperatorKind = OperatorKind.PERSON,
    ) -> tuple[str, str]:
        """Request an action; its id and the result."""
        self.now += HOUR_US
        entry = ActionEntry(
            id=f"act_{self.now}",
            tenant_id="ten_1",
            alert_id=None if alert is None else alert.id,
            alert_sha256=None if alert is None else alert.alert_sha256,
            type=ActionType(type_),
            target_type=target[0],
            target_id=target[1],
            operator=by,
            operator_kind=kind,
            principal_id="op_1",
            change=None,
            at=T0 + self.now,
        )
        return entry.id, result_in(self.story.submit(entry))

    def approve(self, action_id: str, *, by: str = "bob") -> ActionRow:
        self.now += HOUR_US
        approval: dict[str, Any] = {"action_id": action_id, "approver": by, "operator": by, "principal_id": "op_1"}
        self.story.submit(ApprovalEntry(id=f"apr_{self.now}", **approval, at=T0 + self.now))
        return self.action(action_id)

    def conclude(self, action_id: str, *, error: str | None = None) -> ActionRow:
        self.now += HOUR_US
        outcome: dict[str, Any] = {"action_id": action_id, "bank_response": ANSWER, "error": error}
        self.story.submit(OutcomeEntry(id=f"out_{self.now}", **outcome, at=T0 + self.now))
        return self.action(action_id)

    def execute(self, type_: str, target: tuple[str, str], *, alert: AlertRow | None = None) -> ActionRow:
        """Request an action, approve it if it waits, and have it carried out."""
        action_id, result = self.request(type_, target, alert=alert)
        assert result == "made"
        if self.action(action_id).status == "requested":
            self.approve(action_id)
        return self.conclude(action_id)

    def clear(self, transfer_id: str, *, alert: AlertRow | None = None) -> ActionRow:
        return self.execute("clear_hold", ("transfer", transfer_id), alert=alert)

    def action(self, action_id: str) -> ActionRow:
        return {row.id: row for row in self.story.all(ActionRow)}[action_id]

    def dispositions(self, alert: AlertRow) -> list[DispositionRow]:
        return [row for row in self.story.all(DispositionRow) if row.alert_id == alert.id]

    def links(self, chain: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(row.body) for row in self.story.all(ChainFactRow) if row.chain == chain]


def result_in(rows: list[msgspec.Struct]) -> str:
    (result,) = (row.result for row in rows if isinstance(row, EntryResultRow))
    return result
