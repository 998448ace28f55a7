"""The bank's event families: which one is which rail, and which event types carry a transfer.

Source  the bank's public event pages
"""

from typing import Final

from clearhold.features.core.vocabulary import Rail

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
TRANSFER_RESOURCES: Final = frozenset(
    {
        "ach.outgoing_transfer",
        "ach.incoming_transfer",
        "wire.outgoing_transfer",
        "wire.incoming_transfer",
        "swift.outgoing_transfer",
        "swift.incoming_transfer",
        "realtime.outgoing_transfer",
        "realtime.incoming_transfer",
        "book.transfer",
        "check.incoming_debit",
        "check.outgoing_debit",
        "card.authorization",
        "card.transaction",
    }
)
# An unlisted resource of a rail's family still is a transfer when its id says so and it carries an amount.
TRANSFER_ID_PREFIXES: Final = ("acht_", "wire_", "swft_", "rttr_", "book_", "chkt_", "ctxn_")
