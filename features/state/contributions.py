"""The contribution of one transfer to the figures over all transfers of a program."""

import msgspec


class KriContribution(msgspec.Struct, frozen=True, gc=False):
    """The part for key risk indicators; ``leaving_cents`` went to the counterparty, -1 for none."""

    counts: tuple[int, ...]
    leaving_cents: int
    counterparty: int


class DayContribution(msgspec.Struct, frozen=True, gc=False):
    """The part for the transfer's day."""

    day: int
    cents: int  # 0 for an attempt, and where the amount in US dollars is not known
    returned: bool
    unauthorized: bool
    band: int
    flags: int
