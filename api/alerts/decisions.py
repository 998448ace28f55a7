"""Decisions on alerts, and appeals against them: requested here, decided by the flow alone (``api/log/commands.py``).

Errors  NotFoundError for an alert that is not this tenant's; ConflictError when the alert's state does not allow it;
        InvalidRequestError for a key that signs in place of a person; UnavailableError when it is not recorded in time
"""

import structlog
from anyio import to_thread

from clearhold.api.actions.schemas import Action, to_action
from clearhold.api.alerts.schemas import Alert, AppealRequest, DecisionRequest
from clearhold.api.alerts.service import to_alerts
from clearhold.api.dispositions.schemas import Disposition, to_disposition
from clearhold.api.log.commands import CommandLog
from clearhold.api.log.refusals import person_needed, unknown_alert
from clearhold.api.program_service import ProgramService
from clearhold.features.core.entries.commands import AppealEntry, DecisionEntry, OperatorKind, needs_person
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal, is_key_operator
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.store.duck.alerts import Alerts
from clearhold.store.duck.decisions import Actions, Dispositions

log = structlog.get_logger()


class DecisionService:
    """One for the process; belongs to the API's event loop. The connector calls it as well."""

    def __init__(
        self,
        *,
        programs: ProgramService,
        alerts: Alerts,
        dispositions: Dispositions,
        actions: Actions,
        command_log: CommandLog,
    ) -> None:
        self._programs, self._alerts, self._dispositions, self._actions = programs, alerts, dispositions, actions
        self._commands = command_log

    async def decide(
        self, principal: Principal, alert_id: str, request: DecisionRequest, effect_id: str | None
    ) -> Disposition | Action:
        """The disposition of this decision, or the action with which it waits for a second person.

        A repeated ``effect_id`` returns the first one.
        """
        alert = await self._alert(principal, alert_id)
        kind = OperatorKind.KEY if is_key_operator(principal.operator) else OperatorKind.PERSON
        if needs_person(kind, alert.status, alert.route):
            raise person_needed()

        def decision(entry_id: str, at: int) -> DecisionEntry:
            return DecisionEntry(
                id=entry_id,
                alert_id=alert.id,
                decision=request.decision,
                narrative=request.narrative,
                operator=principal.operator,
                identity=principal.identity,
                operator_kind=kind,
                at=at,
                principal_id=principal.id,
            )

        result = await self._commands.submit(
            principal, EntryKind.DECISION, alert.program_id, decision, effect_id=effect_id
        )
        if result.disposition_id is None:
            action = await to_thread.run_sync(self._actions.find, principal, result.id)
            assert action is not None, "a decision that waits has an action"
            log.info("decision_requested", alert_id=alert.id, action_id=result.id, operator=principal.operator)
            return self._programs.marked(to_action(action), alert.program_id)
        stored = await to_thread.run_sync(self._dispositions.find, principal, result.id)
        assert stored is not None, "a decision that was made has a disposition"
        log.info("alert_decided", alert_id=alert.id, disposition_id=stored.row.id, operator=principal.operator)
        return self._programs.marked(to_disposition(stored), stored.row.program_id)

    async def appeal(self, principal: Principal, alert_id: str, request: AppealRequest, effect_id: str | None) -> Alert:
        """The alert that the appeal opened; a repeated ``effect_id`` returns the first one."""
        alert = await self._alert(principal, alert_id)

        def appeal(entry_id: str, at: int) -> AppealEntry:
            return AppealEntry(
                id=entry_id, alert_id=alert.id, reason=request.reason, operator=principal.operator, at=at
            )

        result = await self._commands.submit(principal, EntryKind.APPEAL, alert.program_id, appeal, effect_id=effect_id)
        opened = await self._alert(principal, result.opened_alert_id or "")
        log.info("alert_appealed", alert_id=alert.id, opened_alert_id=opened.id, operator=principal.operator)
        (answer,) = await to_thread.run_sync(to_alerts, self._programs, self._alerts, principal, [opened])
        return answer

    async def _alert(self, principal: Principal, alert_id: str) -> AlertRow:
        alert = await to_thread.run_sync(self._alerts.find, principal, alert_id.lower())
        if alert is None:
            raise unknown_alert()
        return alert
