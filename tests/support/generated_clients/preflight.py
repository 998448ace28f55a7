"""A pre-flight by the client that openapi-python-client made of the document: address, token and program are given."""

import sys

from clearhold_client import AuthenticatedClient  # type: ignore[import-not-found]  # installed where this is run
from clearhold_client.api.preflight import submit_preflight  # type: ignore[import-not-found]
from clearhold_client.models import (  # type: ignore[import-not-found]
    Direction,
    ErrorEnvelope,
    Preflight,
    PreflightRequest,
    Rail,
    TransferRequest,
)

url, token, slug = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)
transfer = TransferRequest(rail=Rail.WIRE, direction=Direction.OUTGOING, amount_cents="985000")
request = PreflightRequest(transfer=transfer, program_slug=slug)
answer = submit_preflight.sync(client=client, body=request, x_operator="ann")
assert isinstance(answer, Preflight), answer
refusal = submit_preflight.sync(client=client, body=PreflightRequest(transfer=transfer), x_operator="ann")
assert isinstance(refusal, ErrorEnvelope), refusal
print(answer.decision.value, refusal.code.value, *(f"{each.path}:{each.code.value}" for each in refusal.fields))
