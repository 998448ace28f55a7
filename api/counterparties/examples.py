"""Examples of counterparties for the OpenAPI document; none of them exists."""

from typing import Any, Final

from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID

COUNTERPARTY: Final[dict[str, Any]] = {
    "id": "cpty_2zExample0001",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "name": "Example Supplies",
    "routingNumber": "121145307",
    "accountLast4": "6789",
    "countryCode": "US",
    "raw": {"id": "cpty_2zExample0001", "name": "Example Supplies", "account_number": "6789"},
    "firstSeenAt": "2026-03-02T15:04:05.000Z",
}
