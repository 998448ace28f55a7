"""Which deliveries follow from the rows of a commit, and what a row that makes no event holds up: nothing."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from clearhold.features.core.rows.alerts import BackfillRow, LabelRow
from clearhold.features.core.rows.events import PreflightRow, TransferRow, WebhookDeliveryRow
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.features.webhooks.payloads import EventType
from clearhold.flows.webhooks.outbox import WebhookOutbox
from clearhold.store.tables import row_tables, rows_in
from tests.support.clock import T0
from tests.support.webhook_bank import PROGRAM, SIMULATED, TENANT, WebhookBank

OTHER_TENANT = "00000000-0000-4000-8000-00000000a002"
OTHER_PROGRAM = "00000000-0000-4000-8000-00000000b003"


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[WebhookBank]:
    opened = WebhookBank(tmp_path)
    opened.add_tenant(OTHER_TENANT, "second-bank", {OTHER_PROGRAM: ProgramSource.BANK})
    with closing(opened.database):
        yield opened


def a_label(number: int, *, tenant_id: str = TENANT, program_id: str = PROGRAM) -> LabelRow:
    return LabelRow(
        tenant_id=tenant_id,
        program_id=program_id,
        id=f"label-{number}",
        shard=0,
        offset=number,
        transfer_id="acht_1",
        label="bad",
        reason="Ann said so.",
        source="person",
        recorded_by="ann",
        created_at=T0,
    )


def a_transfer(transfer_id: str, offset: int, *, scored_offset: int | None) -> TransferRow:
    empty = {field.name: None for field in msgspec.structs.fields(TransferRow)}
    stated = {
        "tenant_id": TENANT,
        "program_id": PROGRAM,
        "id": transfer_id,
        "shard": 1,
        "offset": offset,
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amount_cents": 9_850,
        "currency": "USD",
        "status": "SUBMITTED",
        "bank_created_at": T0,
        "scored_at": T0,
        "scored_offset": scored_offset,
        "raw_offset": 1,
        "updated_at": T0,
        "number": 0,
    }
    return TransferRow(**{**empty, **stated})  # type: ignore[arg-type]


def a_backfill(offset: int) -> BackfillRow:
    numbers = dict.fromkeys(BackfillRow.__struct_fields__, 0)
    texts = dict.fromkeys(("id", "subjects", "stage", "feature_version", "score_version"), "x")
    place = {"tenant_id": TENANT, "program_id": PROGRAM, "shard": 1, "offset": offset, "replaying": False}
    return BackfillRow(**{**numbers, **texts, **place})  # type: ignore[arg-type]


def deliveries(outbox: WebhookOutbox, *rows: msgspec.Struct) -> list[WebhookDeliveryRow]:
    by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        by_type.setdefault(type(row), []).append(row)
    tables = outbox.deliveries_for(row_tables(by_type))
    table = tables.get(WebhookDeliveryRow.__name__)
    return [] if table is None else [*rows_in(WebhookDeliveryRow, table)]


def test_given_two_tenants_then_each_endpoint_hears_of_its_own_tenant_and_program_alone(bank: WebhookBank) -> None:
    everything, simulated = bank.register(), bank.register(program_id=SIMULATED)
    theirs = bank.register(tenant_id=OTHER_TENANT)
    ours, of_simulated = a_label(1), a_label(2, program_id=SIMULATED)
    of_theirs = a_label(3, tenant_id=OTHER_TENANT, program_id=OTHER_PROGRAM)

    rows = deliveries(bank.outbox, ours, of_simulated, of_theirs)

    heard = {(row.endpoint_id, msgspec.json.decode(row.body)["data"]["labelId"]) for row in rows}
    assert heard == {
        (everything.id, "label-1"),
        (everything.id, "label-2"),
        (simulated.id, "label-2"),
        (theirs.id, "label-3"),
    }
    assert {row.tenant_id for row in rows if row.endpoint_id == theirs.id} == {OTHER_TENANT}
    marked = {msgspec.json.decode(row.body)["data"].get("simulated") for row in rows if row.program_id == SIMULATED}
    assert marked == {True}
    assert deliveries(bank.outbox, ours, of_simulated, of_theirs) == rows  # a commit that is tried again


def test_given_versions_of_transfers_then_those_scored_by_the_stream_are_events_and_others_are_not(
    bank: WebhookBank,
) -> None:
    bank.register(EventType.TRANSFER_SCORED)
    rows = deliveries(
        bank.outbox,
        a_transfer("acht_new", 10, scored_offset=10),
        a_transfer("acht_moved_on", 11, scored_offset=4),
        a_transfer("acht_of_backfill", 12, scored_offset=12),
        a_transfer("acht_unscored", 13, scored_offset=None),
        a_transfer("acht_new", 14, scored_offset=14),
        a_backfill(12),
    )

    scored = [msgspec.json.decode(row.body)["data"]["transferId"] for row in rows]
    assert scored == ["acht_new", "acht_new"]
    assert len({row.event_id for row in rows}) == 2


def test_given_a_row_that_makes_no_event_then_it_is_counted_and_the_others_are_told(bank: WebhookBank) -> None:
    bank.register()
    broken = PreflightRow(TENANT, PROGRAM, "p", 0, 1, "clear", None, "clear", False, 1, None, "{", T0)  # noqa: FBT003

    rows = deliveries(bank.outbox, broken, a_label(1))

    assert [row.event for row in rows] == ["label.recorded"]
    assert bank.outbox._counts.events_lost == 1


def test_given_a_body_that_would_be_too_long_then_it_is_not_told(
    bank: WebhookBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.register()
    monkeypatch.setattr("clearhold.flows.webhooks.outbox.MAX_BODY_BYTES", 100)

    assert deliveries(bank.outbox, a_label(1)) == []
    assert bank.outbox._counts.events_lost == 1
