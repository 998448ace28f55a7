"""The bank's endpoint for each type of action, and the targets that an action may have.

The prefix of an id names its object. Only ids in the bank's form go into a path, as one quoted segment. Endpoints that
the bank documents are marked; the others are assumed, and a bank without one answers with a 4xx.

Source  the documentation of Column's API: cancel an ACH transfer, cancel an outgoing international wire, clear and
        cancel a book transfer, stop a check transfer. Cards and card accounts are those of the issuer's processor
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final
from urllib.parse import quote

import msgspec

from clearhold.features.core.entries.actions import ActionType


class TargetType(StrEnum):
    """The kind of object that an action is for."""

    TRANSFER = "transfer"
    ACCOUNT = "account"
    CARD = "card"
    CARD_ACCOUNT = "card_account"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    PROGRAM = "program"
    ALERT = "alert"


class BankEndpoint(msgspec.Struct, frozen=True):
    """Where an action on objects with this prefix goes. ``path`` has ``{}`` for the id."""

    prefix: str
    path: str
    body: Mapping[str, str] = msgspec.field(default_factory=dict)


class BankAction(msgspec.Struct, frozen=True):
    """A type of action with its targets and endpoints; an action on the record alone has no endpoint."""

    targets: tuple[TargetType, ...]
    endpoints: tuple[BankEndpoint, ...] = ()


class BankRequest(msgspec.Struct, frozen=True):
    """The request to the bank for one action; every endpoint takes a POST."""

    path: str
    body: Mapping[str, str]


_ANYTHING: Final = tuple(TargetType)
_TRANSFER: Final = (TargetType.TRANSFER,)

BANK_ACTIONS: Final[Mapping[ActionType, BankAction]] = {
    ActionType.CLEAR_HOLD: BankAction(
        _TRANSFER,
        (
            BankEndpoint("book_", "/transfers/book/{}/clear"),  # documented
            BankEndpoint("acht_", "/transfers/ach/{}/clear"),
            BankEndpoint("wire_", "/transfers/wire/{}/clear"),
            BankEndpoint("swft_", "/transfers/international-wire/{}/clear"),
            BankEndpoint("rttr_", "/transfers/realtime/{}/clear"),
            BankEndpoint("chkt_", "/transfers/checks/{}/clear"),
        ),
    ),
    ActionType.CANCEL_TRANSFER: BankAction(
        _TRANSFER,
        (
            BankEndpoint("acht_", "/transfers/ach/{}/cancel"),  # documented
            BankEndpoint("book_", "/transfers/book/{}/cancel"),  # documented
            BankEndpoint(  # documented
                "swft_",
                "/transfers/international-wire/{}/cancel",
                {"cancellation_reason": "requested_by_originator"},
            ),
            BankEndpoint("chkt_", "/transfers/checks/{}/stop-payment"),  # documented
            BankEndpoint("wire_", "/transfers/wire/{}/cancel"),
            BankEndpoint("rttr_", "/transfers/realtime/{}/cancel"),
        ),
    ),
    ActionType.PAUSE_CARD: BankAction((TargetType.CARD,), (BankEndpoint("card_", "/cards/{}/pause"),)),
    ActionType.SUSPEND_CARD_ACCOUNT: BankAction(
        (TargetType.CARD_ACCOUNT, TargetType.ACCOUNT), (BankEndpoint("cacc_", "/card-accounts/{}/suspend"),)
    ),
    ActionType.FREEZE_ACCOUNT: BankAction((TargetType.ACCOUNT,), (BankEndpoint("bacc_", "/bank-accounts/{}/freeze"),)),
    ActionType.REQUEST_TO_PROGRAM: BankAction(_ANYTHING),
    ActionType.PERIODIC_REVIEW: BankAction(_ANYTHING),
}

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def bank_request(action_type: ActionType, target_id: str) -> BankRequest | None:
    """The request for a target; None for an id that no endpoint of the type takes.

    >>> bank_request(ActionType.CANCEL_TRANSFER, "acht_1").path
    '/transfers/ach/acht_1/cancel'
    """
    if not _ID.fullmatch(target_id):
        return None
    for endpoint in BANK_ACTIONS[action_type].endpoints:
        if target_id.startswith(endpoint.prefix):
            return BankRequest(endpoint.path.format(quote(target_id, safe="")), endpoint.body)
    return None
