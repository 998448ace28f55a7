"""Reads deliveries: the list of an endpoint, and the open ones.

A delivery's state is that of its attempt row with the highest version; without one it is pending and due since its
creation. Ended deliveries are deleted after a while: these two tables are the only ones outside the record.

Unit    instants in microseconds
Errors  none; an unknown delivery is None
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from clearhold.features.core.rows.events import WebhookDeliveryRow
from clearhold.features.webhooks.delivery import OPEN, DeliveryState
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables import TEXTS, listed, row_builder, select_list

_ROW: Final = row_builder(WebhookDeliveryRow)
_MOST_COPIES: Final = 2
"""A ping is written twice when it is repeated under its key before the first one is committed."""
_ROWS_AT_ONCE: Final = 500  # no other thread runs while DuckDB converts them to Python
_OPEN: Final = ", ".join(f"'{status}'" for status in OPEN)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_STATE: Final = """
    SELECT delivery_id, arg_max(
        struct_pack(status, attempts, next_attempt_at := epoch_us(next_attempt_at), last_status_code, last_error,
                    delivered_at := epoch_us(delivered_at), version), version) AS state
    FROM webhook_attempts WHERE {where} GROUP BY delivery_id"""
_LIST: Final = f"""
    WITH written AS (
        SELECT * FROM webhook_deliveries
        WHERE tenant_id = ? AND endpoint_id = ? {{before}} ORDER BY created_at DESC, id LIMIT {_MOST_COPIES} * ?
    ), newest AS (
        SELECT DISTINCT ON (id) * FROM written ORDER BY created_at DESC, id LIMIT ?
    ), states AS ({_STATE.format(where="endpoint_id = ? AND delivery_id IN (SELECT id FROM newest)")})
    SELECT {select_list(WebhookDeliveryRow)}, state FROM newest
    LEFT JOIN states ON states.delivery_id = newest.id ORDER BY newest.created_at DESC, newest.id"""
_BEFORE: Final = "AND created_at <= make_timestamp(?) AND (created_at < make_timestamp(?) OR id > ?)"
_FIND: Final = f"""
    SELECT {select_list(WebhookDeliveryRow)}, state FROM webhook_deliveries
    LEFT JOIN ({_STATE.format(where="delivery_id = ?")}) AS states ON states.delivery_id = id
    WHERE tenant_id = ? AND endpoint_id = ? AND id = ? LIMIT 1"""
_DUE: Final = f"""
    WITH states AS ({_STATE.format(where="endpoint_id = ?")})
    SELECT d.id, d.event, d.event_id, epoch_us(any_value(d.created_at)), any_value(state)
    FROM webhook_deliveries AS d LEFT JOIN states ON states.delivery_id = d.id
    WHERE d.endpoint_id = ? AND (state IS NULL OR state.status IN ({_OPEN}))
    GROUP BY d.id, d.event, d.event_id
    ORDER BY coalesce(any_value(state.next_attempt_at), epoch_us(any_value(d.created_at))), d.id LIMIT ?"""
_BODIES: Final = f"""
    SELECT id, body FROM webhook_deliveries
    WHERE endpoint_id = ? AND created_at BETWEEN make_timestamp(?) AND make_timestamp(?) AND id IN {TEXTS}"""
_HEALTH: Final = """
    SELECT epoch_us(max(delivered_at)), epoch_us(max(settled_at) FILTER (status = 'exhausted'))
    FROM webhook_attempts WHERE endpoint_id = ?"""

_FORGET: Final = (
    f"""
    DELETE FROM webhook_deliveries WHERE created_at < make_timestamp(?) AND id IN (
        SELECT delivery_id FROM ({_STATE.format(where="true")}) WHERE state.status NOT IN ({_OPEN}))""",
    """
    DELETE FROM webhook_attempts WHERE settled_at < make_timestamp(?)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE id = delivery_id)""",
)
_FORGET_OF: Final = f"DELETE FROM webhook_deliveries WHERE created_at < make_timestamp(?) AND endpoint_id IN {TEXTS}"

OPEN_IDS: Final = f"""
    SELECT id FROM webhook_deliveries LEFT JOIN ({_STATE.format(where="true")}) AS states ON delivery_id = id
    WHERE state IS NULL OR state.status IN ({_OPEN})"""
"""The ids of the deliveries that are still to be made."""


class StoredDelivery(msgspec.Struct, frozen=True):
    """A delivery and its present state."""

    row: WebhookDeliveryRow
    state: DeliveryState


DueDelivery = tuple[str, str, str, int, DeliveryState]
"""A waiting delivery without its body: id, event, event id, creation, state."""


class WebhookDeliveries(CommittedRows):
    def list_newest(
        self, tenant_id: str, endpoint_id: str, limit: int, *, before: WebhookDeliveryRow | None = None
    ) -> list[StoredDelivery]:
        """Newest first; ``before``: only those after this one in that order."""
        place = [] if before is None else [before.created_at, before.created_at, before.id]
        query = _LIST.format(before="" if before is None else _BEFORE)
        tuples = self._read(query, [tenant_id, endpoint_id, *place, limit, limit, endpoint_id])
        return [_stored(each) for each in tuples]

    def find(self, tenant_id: str, endpoint_id: str, delivery_id: str) -> StoredDelivery | None:
        row = self._first(_FIND, [delivery_id, tenant_id, endpoint_id, delivery_id])
        return None if row is None else _stored(row)

    def waiting(self, endpoint_id: str, limit: int) -> list[DueDelivery]:
        """The open deliveries of an endpoint, first due first."""
        due: list[DueDelivery] = []
        with self._connection.cursor() as cursor:
            cursor.execute(_DUE, [endpoint_id, endpoint_id, limit])
            while tuples := cursor.fetchmany(_ROWS_AT_ONCE):
                due += [
                    (id_, event, event_id, created_at, _state(state, created_at=created_at))
                    for id_, event, event_id, created_at, state in tuples
                ]
        return due

    def bodies(self, endpoint_id: str, deliveries: Sequence[tuple[str, int]]) -> dict[str, bytes]:
        """The bodies of deliveries, given by id and creation time."""
        instants = [created_at for _, created_at in deliveries]
        values = [endpoint_id, min(instants), max(instants), listed([delivery_id for delivery_id, _ in deliveries])]
        return {delivery_id: body.encode() for delivery_id, body in self._read(_BODIES, values)}

    def past_of(self, endpoint_id: str) -> tuple[int | None, int | None]:
        """When an endpoint last accepted a delivery, and when one was last exhausted; None for never."""
        ((accepted_at, exhausted_at),) = self._read(_HEALTH, [endpoint_id])
        return accepted_at, exhausted_at

    def forget_settled(self, before: int) -> None:
        """Delete ended deliveries from before an instant."""
        with self._connection.cursor() as cursor:
            for statement in _FORGET:
                cursor.execute(statement, [before])

    def forget_of(self, endpoint_ids: Sequence[str], before: int) -> None:
        """Delete these endpoints' deliveries from before an instant, in any state."""
        with self._connection.cursor() as cursor:
            cursor.execute(_FORGET_OF, [before, listed(endpoint_ids)])


def _stored(values: Sequence[Any]) -> StoredDelivery:
    row = _ROW(values[:-1])
    return StoredDelivery(row, _state(values[-1], created_at=row.created_at))


def _state(stored: dict[str, Any] | None, *, created_at: int) -> DeliveryState:
    return DeliveryState(next_attempt_at=created_at) if stored is None else msgspec.convert(stored, DeliveryState)
