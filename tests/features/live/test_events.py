"""The live events of committed rows: their order, numbers, kinds and content, and what their JSON leaves out."""

import random
from collections.abc import Iterable
from typing import Any

import msgspec

from clearhold.features.core.rows.alerts import ActionRow, AlertBodyRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.live.events import LIVE_COLUMNS, columns_of_rows, live_events, marked_simulated
from clearhold.features.live.payloads import LiveEvent, LiveKind
from clearhold.store.tables import columns_by_type, row_tables
from tests.support.duck_rows import (
    AT,
    PROGRAM,
    TENANT,
    a_disposition,
    a_score,
    a_snapshot,
    a_step,
    a_transfer,
    an_alert,
)

OTHER = "00000000-0000-4000-8000-00000000b009"
KRIS = '{"ach_return_rate":{"value":0.2,"n":50,"unit":"ratio","threshold":0.15,"status":"breach","note":"few"}}'


def a_body(alert_id: str, offset: int) -> AlertBodyRow:
    return AlertBodyRow(TENANT, PROGRAM, alert_id, 3, offset, "{}", "0" * 64, AT)


def an_action(**over: Any) -> ActionRow:
    usual: dict[str, Any] = dict.fromkeys(ActionRow.__struct_fields__) | {
        "tenant_id": TENANT,
        "program_id": PROGRAM,
        "id": "act_1",
        "shard": 3,
        "offset": 1,
        "type": "block_card",
        "target_type": "card",
        "target_id": "crd_1",
        "requested_by": "operator:ann",
        "status": "requested",
        "created_at": AT,
        "updated_at": AT,
    }
    return ActionRow(**usual | over)


def events_of(*rows: msgspec.Struct, simulated: Iterable[str] = ()) -> list[LiveEvent]:
    by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        by_type.setdefault(type(row), []).append(row)
    is_simulated = set(simulated).__contains__
    events = live_events(columns_by_type(row_tables(by_type), LIVE_COLUMNS), is_simulated)
    scored = [each for each in by_type.get(TransferRow, ()) if isinstance(each, TransferRow)]
    if all(each.scored_offset == each.offset for each in scored):
        assert live_events(columns_of_rows(by_type), is_simulated) == events, "as a scorer makes them"
    return events


def test_given_rows_of_entries_in_any_order_then_events_follow_offset_kind_and_id() -> None:
    rows = [
        a_transfer(offset=5, scored_offset=5, id="trf_2"),
        a_transfer(offset=7, scored_offset=7),
        a_score(offset=5, id="scr_b"),
        a_score(offset=5, id="scr_a", subject_type="counterparty"),
        a_score(offset=5, id="scr_p", subject_type="program"),
        an_alert(offset=5),
        a_body("alr_1", 5),
        a_disposition(offset=5),
        an_action(offset=6),
        a_snapshot(6, kris=KRIS),
    ]
    random.Random(7).shuffle(rows)
    events = events_of(*rows)
    assert [(each.offset, each.index, each.kind.value) for each in events] == [
        (5, 0, "transfer.scored"),
        (5, 1, "actor.scored"),
        (5, 2, "actor.scored"),
        (5, 3, "program.scored"),
        (5, 4, "alert.opened"),
        (5, 5, "disposition.created"),
        (6, 0, "kri.snapshot"),
        (6, 1, "action.changed"),
        (7, 0, "transfer.scored"),
    ]
    assert [msgspec.json.decode(each.body)["data"]["scoreId"] for each in events[1:3]] == ["scr_a", "scr_b"]


def test_given_two_programs_of_one_entry_then_each_is_numbered_alone_and_the_simulated_one_is_marked() -> None:
    events = events_of(a_score(offset=5), a_score(offset=5, program_id=OTHER), simulated=[OTHER])
    marks = {each.program_id: msgspec.json.decode(each.body).get("simulated") for each in events}
    assert [each.index for each in events] == [0, 0]
    assert marks == {PROGRAM: None, OTHER: True}


def test_given_rows_of_a_step_of_a_backfill_then_their_cause_says_so() -> None:
    events = events_of(a_step(6), a_transfer(offset=5, scored_offset=5), a_transfer(offset=6, scored_offset=6))
    assert [msgspec.json.decode(each.body)["cause"] for each in events] == ["stream", "backfill"]


def test_given_versions_of_alerts_then_only_the_one_with_a_body_opens_it() -> None:
    events = events_of(an_alert(offset=5), a_body("alr_1", 5), an_alert(offset=6), an_alert(offset=5, id="alr_2"))
    assert [(each.offset, each.kind) for each in events] == [
        (5, LiveKind.ALERT_OPENED),
        (5, LiveKind.ALERT_CHANGED),
        (6, LiveKind.ALERT_CHANGED),
    ]


def test_given_rows_of_each_kind_then_the_body_is_in_the_words_of_the_api_without_text_by_a_person() -> None:
    events = events_of(
        a_transfer(amount_cents=9_850), an_alert(), a_body("alr_1", 1), a_disposition(), a_snapshot(1, kris=KRIS)
    )
    transfer, snapshot, alert, disposition = (msgspec.json.decode(each.body) for each in events)
    assert transfer == {
        "kind": "transfer.scored",
        "tenantId": TENANT,
        "programId": PROGRAM,
        "at": "2026-03-01T21:20:00.000Z",
        "cause": "stream",
        "band": "clear",
        "data": {
            "transferId": "trf_1",
            "rail": "ach",
            "direction": "outgoing",
            "type": "CREDIT",
            "amountCents": "9850",
            "currency": "USD",
            "status": "posted",
            "entityId": "ent_1",
            "accountId": "acc_1",
            "counterpartyId": "cpt_1",
            "returnCode": None,
            "score": 12,
            "band": "clear",
            "version": "trs-v1",
            "n": 40,
            "confidence": 0.5,
            "bankCreatedAt": "2026-03-01T21:20:00.000Z",
            "scoredAt": "2026-03-01T21:20:00.000Z",
        },
    }
    assert snapshot["data"]["kris"] == {
        "ach_return_rate": {"value": 0.2, "n": 50, "unit": "ratio", "threshold": 0.15, "status": "breach"}
    }
    assert (alert["severity"], alert["band"], alert["data"]["hardSignal"]) == ("high", "review", False)
    assert alert["data"]["closedAt"] is None
    assert disposition["data"]["decidedByKind"] == "person"
    everything = b"".join(each.body for each in events)
    assert b"ann" not in everything
    assert b"It was explained." not in everything
    assert b"Something was seen." not in everything


def test_given_a_whole_confidence_then_it_is_written_as_the_table_has_it() -> None:
    (event,) = events_of(a_score(confidence=1))
    assert b'"confidence":1.0' in event.body


def test_given_rows_of_each_kind_when_they_are_marked_later_then_they_are_those_of_a_simulated_program() -> None:
    rows = (a_transfer(offset=1, scored_offset=1), a_score(), a_snapshot(1, kris=KRIS), an_alert(), a_disposition())
    plain, marked = events_of(*rows), events_of(*rows, simulated=[PROGRAM])
    assert [marked_simulated(each.body) for each in plain] == [each.body for each in marked]


def test_given_many_rows_then_questions_are_looked_for_between_them() -> None:
    rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {
        TransferRow: [a_transfer(id=f"trf_{number}", scored_offset=1) for number in range(200)]
    }
    looks: list[int] = []
    live_events(columns_of_rows(rows), lambda _: False, between=lambda: looks.append(1))
    assert len(looks) >= 2 * 200 // 32
