"""Examples of entities for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID

ENTITY: Final[dict[str, Any]] = {
    "id": "enti_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "type": "PERSON",
    "name": "Ada Example",
    "verificationStatus": "VERIFIED",
    "isHighRisk": False,
    "pepStatus": "no",
    "requiresScreening": True,
    "reviewReasons": [],
    "lastScreenedAt": "2026-02-20T08:00:00.000Z",
    "countryCode": "US",
    "legalType": None,
    "expectedPaymentRails": [],
    "raw": {"id": "enti_2zExample0001", "type": "PERSON", "verification_status": "VERIFIED"},
    "createdAt": "2026-02-20T07:59:00.000Z",
    "updatedAt": "2026-02-20T08:00:02.000Z",
}
