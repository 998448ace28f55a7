"""The type of a bank event, ``family.resource.suffix``, split into its parts; the families of types, and the types that
the bank is known to send. It may send others, which are read too.

Source  the bank's public event pages; ``card`` and ``counterparty`` events come from a program's own systems
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from clearhold.features.bank.events import BankObject
from clearhold.features.bank.transfers import EventKind
from clearhold.features.core.vocabulary import Rail

_ACH_RETURNS: Final = ("returned", "return_dishonored", "return_contested")
_RECALL: Final = ("cancellation_requested", "cancellation_accepted", "cancellation_rejected", "tracking_updated")
_REVIEW: Final = ("manual_review", "rejected")
_RECLEAR: Final = ("pending_reclear", "recleared")

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "ach.outgoing_transfer": (
        "initiated",
        "manual_review",
        "pending_submission",
        "submitted",
        "settled",
        "completed",
        *_ACH_RETURNS,
        "canceled",
        "noc",
    ),
    "ach.incoming_transfer": ("scheduled", "settled", "nsf", "completed", *_ACH_RETURNS),
    "wire.outgoing_transfer": ("initiated", "submitted", "completed", *_REVIEW),
    "wire.incoming_transfer": ("completed",),
    "wire.incoming_return_request": ("initiated", "approved", "completed", *_REVIEW),
    "wire.outgoing_return_request": ("initiated", "scheduled", "sent", "approved", "completed", *_REVIEW),
    "wire.incoming_drawdown_request": ("received", "approved", "denied"),
    "swift.outgoing_transfer": (
        "initiated",
        "manual_review",
        "submitted",
        "completed",
        "pending_return",
        "returned",
        *_RECALL,
        "amendment_request_received",
    ),
    "swift.incoming_transfer": ("initiated", "completed", "pending_return", "returned", *_RECALL),
    "realtime.outgoing_transfer": (
        "initiated",
        "completed",
        *_REVIEW,
        "manual_review_approved",
        "manual_review_rejected",
    ),
    "realtime.incoming_transfer": ("completed",),
    "realtime.incoming_return_request": ("pending", "accepted", "rejected"),
    "realtime.outgoing_return_request": ("pending", "accepted", "rejected"),
    "book.transfer": ("initiated", "completed", "hold_created", "updated", "canceled"),
    "check.incoming_debit": (
        "initiated",
        "issued",
        "pending_deposit",
        "settled",
        "returned",
        "pending_first_return",
        "first_return",
        *_RECLEAR,
        "pending_second_return",
        "second_return",
        "user_initiated_return_submitted",
        "user_initiated_returned",
        "user_initiated_return_dishonored",
        "pending_stop",
        "stopped",
        *_REVIEW,
    ),
    "check.outgoing_debit": ("initiated", *_REVIEW, "pending_debit", "deposited", "settled", "returned", *_RECLEAR),
    "card.authorization": ("approved", "declined", "updated", "reversed", "expired"),
    "card.transaction": ("settled", "refunded"),
    "card.dispute": ("opened", "closed"),
    "card.account": ("suspended", "reinstated", "closed"),
    "card": ("paused", "activated", "closed"),
    "identity": ("created",),
    "identity.verification": ("pending", "manual_review", "verified", "denied"),
    "account": ("overdrafted", "overdraft_released", "overdraft_cleared", "frozen", "unfrozen"),
    "counterparty": ("created", "updated", "deleted"),
    "loan": ("created", "updated", "in_dispute", "delinquent"),
    "loan.payment": ("completed",),
    "reporting.bank_account_summary": ("completed",),
    "reporting.bank_account_transaction": ("completed",),
}
"""By the type without its last part."""

LISTED_TYPES: Final = frozenset(f"{resource}.{state}" for resource, states in STATES.items() for state in states)
DELIVERY_OF_CHECKS: Final = "check.incoming_debit.delivery."
"""The start of types that report where the post has a check; they do not change its status."""


RAIL_OF_FAMILY: Final = {
    "ach": Rail.ACH,
    "wire": Rail.WIRE,
    "swift": Rail.INTL_WIRE,
    "realtime": Rail.REALTIME,
    "book": Rail.BOOK,
    "check": Rail.CHECK,
    "card": Rail.CARD,
}
READ_FAMILIES: Final = frozenset({*RAIL_OF_FAMILY, "identity", "account", "counterparty"})
"""The families whose objects are read; the others are kept in the log and change nothing."""

KNOWN_FAMILIES: Final = READ_FAMILIES | {"loan", "reporting"}

# The middle parts of event types whose object is a transfer. Events with other middle parts (return requests,
# drawdowns, disputes, card states) have another object.
_OF_TRANSFERS: Final = ("transfer", "debit", "card.authorization", "card.transaction")
TRANSFER_RESOURCES: Final = frozenset(resource for resource in STATES if resource.endswith(_OF_TRANSFERS))
# An unlisted resource of a rail's family still is a transfer when its id says so, it carries an amount and it is known
# who originated it; unless its type says that it only reports on one.
TRANSFER_ID_PREFIXES: Final = ("acht_", "wire_", "swft_", "rttr_", "book_", "chkt_", "ctxn_")
_REPORTS: Final = re.compile("alert|exception|positive_pay|notification|inquiry|request|dispute")
_ONE_WAY: Final = frozenset({Rail.BOOK, Rail.CARD})


_CHECK: Final = "check"
_CACHED_TYPES: Final = 4_096


class BankEventType(NamedTuple):
    """An event type in its parts; ``kind`` is set when its family is a rail's."""

    family: str
    suffix: str
    kind: EventKind | None
    is_transfer: bool = False
    is_request: bool = False  # a request to return or draw money, which names a transfer but is not one
    is_dispute: bool = False  # a dispute of a card payment, likewise
    is_listed: bool = False  # the bank is known to send it
    may_be_transfer: bool = False  # an unlisted resource whose object may be a transfer
    states_direction: bool = False

    def has_transfer(self, data: BankObject) -> bool:
        """Whether the event's object is a transfer."""
        if self.is_transfer or not self.may_be_transfer:
            return self.is_transfer
        is_known = self.states_direction or (self.family != _CHECK and data.is_incoming is not None)
        return is_known and data.amount is not None and (data.id or "").startswith(TRANSFER_ID_PREFIXES)


@lru_cache(maxsize=_CACHED_TYPES)
def event_type(text: str) -> BankEventType:
    """``check.incoming_debit.delivery.mailed`` is family check, a transfer, suffix ``delivery.mailed``."""
    family, _, rest = text.partition(".")
    middle, _, suffix = rest.partition(".")
    rail = RAIL_OF_FAMILY.get(family)
    is_listed = text in LISTED_TYPES or text.startswith(DELIVERY_OF_CHECKS)
    if rail is None:
        return BankEventType(family, suffix=rest, kind=None, is_listed=is_listed)
    return BankEventType(
        family,
        suffix=rest,
        kind=EventKind(rail, middle, suffix),
        is_transfer=f"{family}.{middle}" in TRANSFER_RESOURCES,
        is_request=middle.endswith("_request"),
        is_dispute=middle == "dispute",
        is_listed=is_listed,
        may_be_transfer=_REPORTS.search(rest) is None,
        states_direction=rail in _ONE_WAY or middle.startswith(("incoming", "outgoing")),
    )
