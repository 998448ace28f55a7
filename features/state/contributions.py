"""What one transfer adds to the figures that a program keeps of all its transfers."""

import msgspec


class KriContribution(msgspec.Struct, frozen=True, gc=False):
    """What the key risk indicators count; ``leaving_cents`` is what it paid the counterparty, -1 for none."""

    counts: tuple[int, ...]
    leaving_cents: int
    counterparty: int


class DayContribution(msgspec.Struct, frozen=True, gc=False):
    """What one transfer adds to its day."""

    day: int
    cents: int  # 0 for an attempt, and where the amount in US dollars is not known
    returned: bool
    unauthorized: bool
    band: int
    flags: int
