"""Where the money goes: every rail, direction and type written out; a direction alone only says who began it."""

from typing import Final, Literal

Flow = Literal["in", "out"]

FLOWS: Final[dict[tuple[str, str, str | None], Flow]] = {
    ("ach", "outgoing", "CREDIT"): "out",  # we push
    ("ach", "outgoing", "DEBIT"): "in",  # we pull
    ("ach", "outgoing", None): "out",
    ("ach", "incoming", "CREDIT"): "in",  # they push
    ("ach", "incoming", "DEBIT"): "out",  # they pull
    ("ach", "incoming", None): "in",
    ("wire", "outgoing", None): "out",
    ("wire", "incoming", None): "in",
    ("intl_wire", "outgoing", None): "out",
    ("intl_wire", "incoming", None): "in",
    ("realtime", "outgoing", None): "out",
    ("realtime", "incoming", None): "in",
    ("book", "outgoing", None): "out",  # always out of the sender's account
    ("book", "incoming", None): "in",  # in a question only
    ("check", "outgoing", None): "out",  # check.incoming_debit: one that we issued
    ("check", "incoming", None): "in",  # check.outgoing_debit: one that we deposited
    ("card", "outgoing", None): "out",  # a purchase
    ("card", "incoming", None): "in",  # a refund
}


def flow_of(rail: str, direction: str, ach_type: str | None) -> Flow:
    return FLOWS[rail, direction, ach_type]
