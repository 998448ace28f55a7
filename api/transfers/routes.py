"""Reading transfers; only ingest writes them."""

from typing import Any, Final

from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, export_operation, export_route, list_operation
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.api.transfers.service import (
    ExportQuery,
    Transfer,
    TransferPage,
    TransferQuery,
    TransferService,
    TransfersQuery,
    TransferSummary,
    amounts_in_order,
)
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.scorers.trs_v1.scorer import DEFAULT

REASON: Final[dict[str, Any]] = {
    "id": "TRS-CPY-01",
    "signal": "first_time_counterparty",
    "weight": 5,
    "hard": False,
    "sentence": "First transfer with this counterparty on the program.",
}
STRUCTURING_REASON: Final[dict[str, Any]] = {
    "id": "TRS-AMT-01",
    "signal": "structuring_pattern",
    "weight": 30,
    "hard": False,
    "sentence": "3 transfers in 24 h and 3 in 7 days lie between 80 % and 100 % of one reporting threshold.",
}
TRANSFER_SUMMARY: Final[dict[str, Any]] = {
    "id": "acht_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "rail": "ach",
    "direction": "outgoing",
    "type": "CREDIT",
    "amountCents": "285000",
    "currency": "USD",
    "status": "SETTLED",
    "entityId": "enti_2zExample0001",
    "accountId": "bacc_2zExample0001",
    "counterpartyId": "cpty_2zExample0001",
    "counterpartyCountry": "US",
    "secCode": "PPD",
    "returnCode": None,
    "returnedAt": None,
    "effectiveAt": "2026-03-03T00:00:00.000Z",
    "bankCreatedAt": "2026-03-02T15:04:05.000Z",
    "score": 35,
    "scoreBand": "review",
    "scoreVersion": "trs-v1",
    "scoreN": 42,
    "scoreConfidence": 0.84,
    "scoreInputs": {
        "card": {"version": "trs-v1", "sha256": DEFAULT.sha256},
        "featureVersion": "1",
        "features": {"counterparty.firstTime": True},
        "reasons": [STRUCTURING_REASON, REASON],
        "degraded": False,
    },
    "scoredAt": "2026-03-02T15:04:05.120Z",
    "updatedAt": "2026-03-03T06:00:00.000Z",
    "usdRate": None,
    "alertIds": [],
}
TRANSFER: Final = TRANSFER_SUMMARY | {"raw": {"id": "acht_2zExample0001", "status": "SETTLED"}}


_TAG: Final = "transfers"

_LIST: Final = list_operation(
    "listTransfers",
    tag=_TAG,
    summary="Transfers, newest first by the bank's creation time.",
    scope=KeyScope.ALERTS_READ,
    page=TransferPage,
    query=TransfersQuery,
    example=TRANSFER_SUMMARY,
    rules=amounts_in_order,
)
_EXPORT: Final = export_operation(
    "exportTransfers",
    tag=_TAG,
    summary="Downloads all transfers of a list: one TransferSummary a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=TransferSummary,
    query=ExportQuery,
    example=TRANSFER_SUMMARY,
    rules=amounts_in_order,
)
_READ: Final = Operation(
    id="getTransfer",
    tag=_TAG,
    summary="One transfer with the inputs of its score and the bank's own object. "
    "400 if several programs have a transfer of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Transfer},
    refusals=(ErrorCode.PROGRAM_REQUIRED, ErrorCode.TRANSFER_NOT_FOUND, ErrorCode.OBJECT_LOST, ErrorCode.UNAVAILABLE),
    answer_example=TRANSFER,
    query=RequestSchema(TransferQuery),
)


AREA: Final = Area(
    routes=(
        answer_route("/api/transfers", _LIST, _TAG, TransferService.page),
        export_route("/api/transfers/export", _EXPORT, _TAG, TransferService.export),
        answer_route("/api/transfers/{transfer_id:str}", _READ, _TAG, TransferService.read),
    ),
    provide={_TAG: TransferService},
)
