"""Deciding on an alert, and appealing against a decision: asked for here, decided by the flow alone.

entry appended ─▶ applied to the alert as it then stands ─▶ recorded, chained ─▶ what came of it is read and answered

The entry's id follows from the Idempotency-Key, when there is one, so that a repeat whose first answer was lost finds
what the first one led to: the flow applies an id once.

Errors  NotFoundError for an alert that is not this tenant's; ConflictError when the alert's state stands against it;
        InvalidRequestError for a key that would sign for a person; UnavailableError when it is not recorded in time
"""

from collections.abc import Mapping
from typing import Final

import msgspec
import structlog
from anyio import to_thread

from api.alerts.schemas import Alert, AppealRequest, DecisionRequest
from api.alerts.service import UNKNOWN_ALERT, alerts_shown
from api.dispositions.schemas import Disposition
from api.dispositions.schemas import shown as disposition_shown
from api.log.commands import CommandLog
from features.core.commands import AppealEntry, DecisionEntry, DecisionResult, OperatorKind
from features.core.errors import ConflictError, InvalidRequestError, NotFoundError, RiskError
from features.core.log_entry import EntryKind
from features.core.principal import Principal
from features.core.rows.alerts import AlertRow, DecisionResultRow
from features.core.vocabulary import Route
from store.clock import Clock
from store.duck.alerts import Alerts
from store.duck.dispositions import Dispositions, StoredDisposition
from store.ids import IdFactory

NEEDS_PERSON: Final = "This alert waits for a person: an API key must name one in the header X-Operator."

_REFUSALS: Final[Mapping[str, tuple[type[RiskError], str]]] = {
    DecisionResult.UNKNOWN: (NotFoundError, UNKNOWN_ALERT),
    DecisionResult.FINAL: (ConflictError, "This alert is closed, which is final; an appeal opens a new one."),
    DecisionResult.NOT_HELD: (ConflictError, "Only an alert that is held can be released."),
    DecisionResult.ALREADY: (ConflictError, "This was decided already, and nothing changed since."),
    DecisionResult.APPEALED: (
        ConflictError,
        "This alert was appealed before; decide the alert that the appeal opened.",
    ),
    DecisionResult.NOT_FINAL: (ConflictError, "Only a closed alert can be appealed against."),
    DecisionResult.NEEDS_PERSON: (InvalidRequestError, NEEDS_PERSON),
}

log = structlog.get_logger()


class DecisionService:
    """One for the process; belongs to the API's event loop. The connector calls it as well."""

    def __init__(
        self,
        *,
        alerts: Alerts,
        dispositions: Dispositions,
        command_log: CommandLog,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
        self._alerts, self._dispositions, self._log = alerts, dispositions, command_log
        self._clock, self._new_id = clock, new_id

    async def decide(
        self, principal: Principal, alert_id: str, request: DecisionRequest, effect_id: str | None
    ) -> Disposition:
        """The disposition that this made, or had made when the request came before."""
        alert = await self._alert(principal, alert_id)
        kind = operator_kind(principal)
        if kind is OperatorKind.KEY and alert.route == Route.REVIEWED:
            raise InvalidRequestError(NEEDS_PERSON)
        entry = DecisionEntry(
            id=effect_id or self._new_id(),
            alert_id=alert.id,
            decision=request.decision,
            narrative=request.narrative,
            operator=principal.operator,
            operator_kind=kind,
            at=self._clock.now(),
        )
        made = None if effect_id is None else await self._disposition(principal, entry.id)
        if made is None:
            await self._carried_out(principal, EntryKind.DECISION, alert, entry)
            made = await self._disposition(principal, entry.id)
        assert made is not None, "a decision that was made has a disposition"
        log.info("alert_decided", alert_id=alert.id, disposition_id=made.row.id, operator=principal.operator)
        return disposition_shown(made)

    async def appeal(self, principal: Principal, alert_id: str, request: AppealRequest, effect_id: str | None) -> Alert:
        """The alert that the appeal opened, or had opened when the request came before."""
        alert = await self._alert(principal, alert_id)
        entry = AppealEntry(
            id=effect_id or self._new_id(),
            alert_id=alert.id,
            reason=request.reason,
            operator=principal.operator,
            at=self._clock.now(),
        )
        result = await self._carried_out(principal, EntryKind.APPEAL, alert, entry)
        opened = await self._alert(principal, result.opened_alert_id or "")
        log.info("alert_appealed", alert_id=alert.id, opened_alert_id=opened.id, operator=principal.operator)
        (shown,) = await to_thread.run_sync(alerts_shown, self._alerts, principal, [opened])
        return shown

    async def _carried_out(
        self, principal: Principal, kind: EntryKind, alert: AlertRow, entry: DecisionEntry | AppealEntry
    ) -> DecisionResultRow:
        """Append, wait, and raise unless it was made."""
        await self._log.append(kind, alert.program_id, entry.at, msgspec.json.encode(entry))
        result = await to_thread.run_sync(self._dispositions.result, principal, entry.id)
        assert result is not None, "what was recorded has a result"
        if result.result != DecisionResult.MADE:
            refusal, sentence = _REFUSALS[result.result]
            raise refusal(sentence)
        return result

    async def _alert(self, principal: Principal, alert_id: str) -> AlertRow:
        alert = await to_thread.run_sync(self._alerts.find, principal, alert_id.lower())
        if alert is None:
            raise NotFoundError(UNKNOWN_ALERT)
        return alert

    async def _disposition(self, principal: Principal, disposition_id: str) -> StoredDisposition | None:
        return await to_thread.run_sync(self._dispositions.find, principal, disposition_id)


def operator_kind(principal: Principal) -> OperatorKind:
    """A key that names nobody acts as itself; no person's name may begin like its own (``api/http/auth.py``)."""
    return OperatorKind.KEY if principal.operator.startswith("key:") else OperatorKind.PERSON
