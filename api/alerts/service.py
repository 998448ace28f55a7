"""Alerts, for reading: the queue, one alert with its decision's context, the whole list in batches.

Errors  NotFoundError for an alert or program that is not this tenant's; InvalidRequestError for a cursor of another
        list; UnavailableError while the log that holds the bank's own object cannot be read
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.actions.schemas import Action, to_action
from clearhold.api.alerts.schemas import Alert, AlertDetail, AlertFilters, AlertPage, AlertsQuery, to_alert
from clearhold.api.dispositions.schemas import Disposition, to_disposition
from clearhold.api.lists.cursors import Place, place_key
from clearhold.api.lists.list_reader import BATCH, ListReader, batches_of
from clearhold.api.lists.lists import instant_in
from clearhold.api.log.refusals import unknown_alert
from clearhold.api.program_service import ProgramService
from clearhold.api.transfers.schemas import Transfer
from clearhold.api.transfers.service import TransferService
from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.principal import Principal
from clearhold.features.core.reason import Reason
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.store.clock import Clock
from clearhold.store.duck.alerts import AlertFilter, Alerts
from clearhold.store.duck.decisions import Actions, Dispositions


class AlertHistory:
    def __init__(self, *, programs: ProgramService, dispositions: Dispositions, actions: Actions) -> None:
        self._programs, self._dispositions, self._actions = programs, dispositions, actions

    async def dispositions(self, principal: Principal, alert_id: str) -> tuple[Disposition, ...]:
        """The decisions on one alert, oldest first."""
        stored = await to_thread.run_sync(self._dispositions.of_alert, principal, alert_id)
        return tuple(self._programs.marked(to_disposition(each), each.row.program_id) for each in stored)

    async def actions(self, principal: Principal, alert_id: str) -> tuple[Action, ...]:
        """The actions on one alert, as they stand, oldest first."""
        stored = await to_thread.run_sync(self._actions.of_alert, principal, alert_id)
        return tuple(self._programs.marked(to_action(each), each.row.program_id) for each in stored)


OFFSETS: Final = ("restsOn", "layeringHops", "roundTrip")
"""Fields of evidence that hold log offsets of transfers."""
_DRAFT: Final = msgspec.json.Decoder(Draft)


class AlertService:
    def __init__(
        self,
        *,
        programs: ProgramService,
        alerts: Alerts,
        history: AlertHistory,
        transfers: TransferService,
        clock: Clock,
    ) -> None:
        self._programs, self._alerts, self._history = programs, alerts, history
        self._transfers, self._clock = transfers, clock
        self._list = ListReader(
            read_page=self._read_page, items_of=partial(to_alerts, programs, alerts), place=_place, key=place_key
        )

    async def page(self, principal: Principal, query: AlertsQuery) -> AlertPage:
        """The worst first; a programId of another tenant is a 404."""
        return AlertPage.of(*await self._list.page(principal, self._store_filter(principal, query), query))

    def export(self, principal: Principal, filters: AlertFilters) -> Generator[Sequence[Alert], None, None]:
        """All alerts of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._store_filter(principal, filters)
        rows = self._alerts.export(principal, wanted, BATCH, now=self._clock.now())
        return batches_of(rows, partial(to_alerts, self._programs, self._alerts, principal))

    async def read(self, principal: Principal, alert_id: str) -> AlertDetail:
        row = await self._row(principal, alert_id)
        (alert,) = await to_thread.run_sync(to_alerts, self._programs, self._alerts, principal, [row])
        transfer = await self._transfer(principal, row)
        return AlertDetail(
            alert=alert,
            transfer=transfer,
            reasons=_reasons(alert, transfer),
            draft=None if row.draft is None else _DRAFT.decode(row.draft),
            dispositions=await self._history.dispositions(principal, row.id),
            actions=await self._history.actions(principal, row.id),
        )

    async def dispositions(self, principal: Principal, alert_id: str) -> tuple[Disposition, ...]:
        """The decisions on one alert, oldest first."""
        return await self._history.dispositions(principal, (await self._row(principal, alert_id)).id)

    async def _row(self, principal: Principal, alert_id: str) -> AlertRow:
        row = await to_thread.run_sync(self._alerts.find, principal, alert_id.lower())
        if row is None:
            raise unknown_alert()
        return row

    async def _transfer(self, principal: Principal, row: AlertRow) -> Transfer | None:
        if row.transfer_id is None:
            return None
        return await self._transfers.read(principal, row.transfer_id, row.program_id)

    def _read_page(
        self, principal: Principal, wanted: AlertFilter, after: tuple[int, str] | None, limit: int
    ) -> Sequence[AlertRow]:
        return self._alerts.list_page(principal, wanted, after, limit, now=self._clock.now())

    def _store_filter(self, principal: Principal, filters: AlertFilters) -> AlertFilter:
        return AlertFilter(
            program_ids=self._programs.filter_by(principal, filters.program_id),
            statuses=filters.status,
            routes=filters.route,
            detectors=filters.detector,
            severities=filters.severity,
            sla_tiers=filters.sla_tier,
            subject_types=filters.subject_type,
            subject_ids=filters.subject_id,
            transfer_ids=filters.transfer_id,
            overdue=filters.overdue,
            from_history=filters.from_history,
            opened_from=instant_in(filters.from_),
            opened_to=instant_in(filters.to),
        )


def to_alerts(programs: ProgramService, alerts: Alerts, principal: Principal, rows: Sequence[AlertRow]) -> list[Alert]:
    """Alerts for callers: stored evidence names transfers by log offset, the answer by id."""
    evidence: list[dict[str, Any]] = [msgspec.json.decode(row.evidence) for row in rows]
    of_offsets = [
        (row.program_id, fields)
        for row, stored in zip(rows, evidence, strict=True)
        for fields in (stored, stored.get("path") or {})
    ]
    places = [
        (program, name, fields)
        for program, fields in of_offsets
        for name in OFFSETS
        if isinstance(fields.get(name), list)
    ]
    ids = alerts.transfers_at(
        principal, [(program, int(at)) for program, name, fields in places for at in fields[name]]
    )
    for program, name, fields in places:
        fields[name] = [ids[place] for at in fields[name] if (place := (program, int(at))) in ids]
    return [programs.marked(to_alert(row, stored), row.program_id) for row, stored in zip(rows, evidence, strict=True)]


def _reasons(alert: Alert, transfer: Transfer | None) -> tuple[Reason, ...]:
    """The reasons of the score at which the alert opened; for an appeal, which has none, those of the transfer's."""
    for name in ("scoreReasons", "reasons"):  # alerts of earlier versions have the detector's reasons only
        if name in alert.evidence:
            return msgspec.convert(alert.evidence[name], tuple[Reason, ...])
    return () if transfer is None or transfer.score_inputs is None else transfer.score_inputs.reasons


def _place(row: AlertRow) -> Place:
    return Place(row.queue_rank, row.id, row.program_id)
