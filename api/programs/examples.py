"""Examples of programs for the OpenAPI document; none of them exists."""

from typing import Any, Final

PROGRAM_ID: Final = "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10"
TENANT_ID: Final = "c2a5a1de-52a5-4c53-9b7e-0d5c8a3f6e21"

PROGRAM: Final[dict[str, Any]] = {
    "id": PROGRAM_ID,
    "tenantId": TENANT_ID,
    "slug": "payroll",
    "name": "Example Payroll",
    "webhookEndpointId": None,
    "signatureHeader": "Bank-Signature",
    "declaredMonthlyVolumeCents": "250000000",
    "declaredRails": ["ach", "wire"],
    "declaredCountries": ["US"],
    "programReserveAccountId": None,
    "source": "bank",
    "createdAt": "2026-01-05T09:00:00.000Z",
}
