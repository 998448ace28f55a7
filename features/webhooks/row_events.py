"""Makes the event for endpoints from a committed row, one function a type of row; its ids follow from the cause."""

from typing import Final

import msgspec

from clearhold.features.catalogue.kris import read_kris
from clearhold.features.core.canonical import WEBHOOK_DELIVERY_IDS, WEBHOOK_EVENT_IDS, json_text
from clearhold.features.core.entries.commands import DecisionWarning
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ObjectRow, copied
from clearhold.features.core.principal import Simulated
from clearhold.features.core.rows.alerts import ActionRow, AlertRow, DispositionRow, LabelRow
from clearhold.features.core.rows.events import PreflightRow, TransferRow
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.webhooks.payloads import (
    ActionApproved,
    ActionCreated,
    AlertOpened,
    DispositionSigned,
    EventType,
    KriSnapshotTaken,
    LabelRecorded,
    Payload,
    Ping,
    PreflightScored,
    TransferScored,
    WebhookEvent,
)

_ENCODE: Final = msgspec.json.Encoder().encode
_PREFLIGHT: Final = msgspec.json.Decoder(PreflightRecord)
_KINDS: Final = {"key:": "key", "policy:": "policy"}
_PERSON: Final = "person"


def simulated(is_simulated: bool) -> Simulated:  # noqa: FBT001 - the subject of the function
    """The mark of a simulated program's rows."""
    return True if is_simulated else msgspec.UNSET


def alert_opened(row: AlertRow, mark: Simulated) -> WebhookEvent:
    due_at = None if row.due_at is None else format_instant(row.due_at)
    opened_at = format_instant(row.opened_at)
    data = copied(AlertOpened, row, simulated=mark, alert_id=row.id, opened_at=opened_at, due_at=due_at)
    return _of_row(EventType.ALERT_OPENED, row, data, row.opened_at)


def disposition_signed(row: DispositionRow, mark: Simulated) -> WebhookEvent:
    data = copied(
        DispositionSigned,
        row,
        simulated=mark,
        disposition_id=row.id,
        warnings=msgspec.json.decode(row.warnings or "[]", type=tuple[DecisionWarning, ...]),
        decided_by_kind=next((kind for prefix, kind in _KINDS.items() if row.decided_by.startswith(prefix)), _PERSON),
        created_at=format_instant(row.created_at),
    )
    return _of_row(EventType.DISPOSITION_SIGNED, row, data, row.created_at)


def action_created(row: ActionRow, mark: Simulated) -> WebhookEvent:
    data = copied(ActionCreated, row, simulated=mark, action_id=row.id, created_at=format_instant(row.created_at))
    return _of_row(EventType.ACTION_CREATED, row, data, row.created_at)


def action_approved(row: ActionRow, approved_at: int, mark: Simulated) -> WebhookEvent:
    instants = {"created_at": format_instant(row.created_at), "approved_at": format_instant(approved_at)}
    data = copied(ActionApproved, row, simulated=mark, action_id=row.id, **instants)
    return _of_row(EventType.ACTION_APPROVED, row, data, approved_at)


def preflight_scored(row: PreflightRow, mark: Simulated) -> WebhookEvent:
    record = _PREFLIGHT.decode(row.body)
    answer, proposed = record.answer, record.transfer
    data = copied(
        PreflightScored,
        row,
        simulated=mark,
        preflight_id=row.id,
        version=answer.version,
        n=answer.n,
        confidence=answer.confidence,
        rail=proposed.rail,
        direction=proposed.direction,
        type=proposed.type,
        amount_cents=proposed.amount_cents,
        currency=proposed.currency,
        entity_id=record.resolved.entity_id,
        counterparty_id=record.resolved.counterparty_id,
        limits_hit=tuple(dict.fromkeys(hit.limit for hit in answer.limits_hit)),
        created_at=format_instant(row.created_at),
    )
    return _of_row(EventType.PREFLIGHT_SCORED, row, data, row.created_at)


def transfer_scored(row: TransferRow, mark: Simulated) -> WebhookEvent:
    scored_at = row.updated_at if row.scored_at is None else row.scored_at
    data = copied(
        TransferScored,
        row,
        simulated=mark,
        transfer_id=row.id,
        amount_cents=str(row.amount_cents),
        band=row.score_band,
        version=row.score_version,
        n=row.score_n,
        confidence=row.score_confidence,
        bank_created_at=format_instant(row.bank_created_at),
        scored_at=format_instant(scored_at),
    )
    cause = f"{row.program_id}/{row.id}/{row.scored_offset}"
    return _event(EventType.TRANSFER_SCORED, cause, row.tenant_id, row.program_id, scored_at, data)


def label_recorded(row: LabelRow, mark: Simulated) -> WebhookEvent:
    data = copied(LabelRecorded, row, simulated=mark, label_id=row.id, created_at=format_instant(row.created_at))
    return _of_row(EventType.LABEL_RECORDED, row, data, row.created_at)


def kri_snapshot(row: KriSnapshotRow, mark: Simulated) -> WebhookEvent:
    """The indicators without their notes."""
    kris = {name: msgspec.structs.replace(kri, note=msgspec.UNSET) for name, kri in read_kris(row.kris).items()}
    data = copied(
        KriSnapshotTaken, row, simulated=mark, snapshot_id=row.id, as_of=format_instant(row.as_of_at), kris=kris
    )
    return _of_row(EventType.KRI_SNAPSHOT, row, data, row.created_at)


def ping(
    cause: str, *, tenant_id: str, program_id: str | None, endpoint_id: str, at: int, mark: Simulated
) -> WebhookEvent:
    """``cause`` names the request for it."""
    data = Ping(endpoint_id=endpoint_id, simulated=mark)
    return _event(EventType.PING, cause, tenant_id, program_id or tenant_id, at, data)


def body_of(event: WebhookEvent, tenant_slug: str) -> str:
    """The text that is stored, signed and sent, the same for all endpoints."""
    payload = Payload(
        id=event.id,
        type=event.type,
        created_at=format_instant(event.created_at),
        tenant=tenant_slug,
        program=event.program_id,
        data=msgspec.Raw(_ENCODE(event.data)),
    )
    return json_text(payload)


def delivery_id_of(event_id: str, endpoint_id: str) -> str:
    return WEBHOOK_DELIVERY_IDS.id_of(f"{event_id}/{endpoint_id}")


def _of_row(type_: EventType, row: ObjectRow, data: msgspec.Struct, at: int) -> WebhookEvent:
    return _event(type_, row.id, row.tenant_id, row.program_id, at, data)


def _event(
    type_: EventType, cause: str, tenant_id: str, program_id: str, created_at: int, data: msgspec.Struct
) -> WebhookEvent:
    return WebhookEvent(
        id=WEBHOOK_EVENT_IDS.id_of(f"{type_}/{cause}"),
        type=type_,
        tenant_id=tenant_id,
        program_id=None if program_id == tenant_id else program_id,
        created_at=created_at,
        data=data,
    )
