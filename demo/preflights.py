"""The pre-flight of a move."""

from typing import Any

from clearhold.demo.moves import Move
from clearhold.features.bank.event_types import RAIL_OF_FAMILY
from clearhold.features.sandbox.parties import EventFamily


def preflight_request(program_id: str, move: Move, *, on_file: bool) -> dict[str, Any]:
    """A PreflightRequest; a counterparty that is not on file is described instead of named."""
    proposed: dict[str, Any] = {
        "rail": RAIL_OF_FAMILY[move.family].value,
        "direction": "incoming" if move.incoming else "outgoing",
        "amountCents": str(move.cents),
        "entityId": move.party.id,
        "description": move.note,
    }
    if move.family is EventFamily.ACH:
        proposed["type"] = "DEBIT" if move.debit else "CREDIT"
    if on_file:
        proposed["counterpartyId"] = move.other.id
    else:
        proposed["counterparty"] = {
            "name": move.other.name,
            "routingNumber": move.other.routing,
            "accountLast4": move.other.account_number[-4:],
            "countryCode": move.other.country,
        }
    return {"programId": program_id, "transfer": proposed}
