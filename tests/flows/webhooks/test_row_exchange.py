"""Rows of deliveries between the event loop and the committer: a failure on either side loses no row."""

import asyncio
from typing import Any

import pytest

from clearhold.features.core.rows.events import WebhookAttemptRow
from clearhold.flows.webhooks import row_exchange
from clearhold.flows.webhooks.row_exchange import RowExchange, WebhookRow
from clearhold.store.tables import RowTables, rows_in

WITHIN_S = 10.0


def a_row(delivery_id: str) -> WebhookAttemptRow:
    return WebhookAttemptRow(
        tenant_id="ten_1",
        endpoint_id="end_1",
        delivery_id=delivery_id,
        version=1,
        status="delivered",
        attempts=1,
        next_attempt_at=1,
        last_status_code=200,
        last_error=None,
        delivered_at=1,
        settled_at=1,
    )


def ids_in(tables: RowTables) -> list[str]:
    table = tables.get(WebhookAttemptRow.__name__)
    return [] if table is None else [row.delivery_id for row in [*rows_in(WebhookAttemptRow, table)]]


@pytest.mark.parametrize("failures", [1, 3])
def test_given_commits_that_fail_when_rows_are_written_then_all_are_written_in_order_once_they_succeed(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_exchange, "FIRST_PAUSE_S", 0.001)
    written: list[str] = []
    left = iter(range(failures))

    def commit(tables: RowTables) -> None:
        if next(left, None) is not None:
            raise RuntimeError("the disk is full")
        written.extend(ids_in(tables))

    async def main() -> None:
        exchange = RowExchange(lambda _: None)
        exchange.attach(commit)
        for name in ("a", "b", "c"):
            exchange.write(a_row(name))
            await asyncio.sleep(0)
        assert exchange._writing is not None
        await asyncio.wait_for(exchange._writing, WITHIN_S)
        await exchange.stop()

    asyncio.run(main())

    assert written == ["a", "b", "c"]


def test_given_commits_that_always_fail_when_it_stops_then_the_stop_ends() -> None:
    def commit(_: RowTables) -> None:
        raise RuntimeError("the disk is full")

    async def main() -> None:
        exchange = RowExchange(lambda _: None)
        exchange.attach(commit)
        exchange.write(a_row("a"))
        async with asyncio.timeout(WITHIN_S):
            await exchange.stop()

    asyncio.run(main())


def test_given_a_row_that_cannot_be_taken_when_others_follow_then_those_are_taken_and_confirmed() -> None:
    taken: list[str] = []

    def take(row: WebhookRow) -> None:
        assert isinstance(row, WebhookAttemptRow)
        if row.delivery_id == "a":
            raise RuntimeError("no such queue")
        taken.append(row.delivery_id)

    async def main() -> None:
        exchange: Any = RowExchange(take)
        exchange.attach(exchange.on_commit)
        exchange.write(a_row("a"))
        await exchange.write_and_confirm(a_row("b"))
        await exchange.stop()

    asyncio.run(main())

    assert taken == ["b"]
