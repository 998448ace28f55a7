"""How new the two sides of a transfer are to each other."""

from typing import Final

import msgspec


class Novelty(msgspec.Struct, frozen=True, gc=False):
    """Whether the pair is new, and the acquaintances of payer and payee in 90 days, this one included; None: unknown.

    ``met_at`` is the instant of their first meeting; None without one, or when unknown.
    """

    is_new_pair: bool | None
    of_payer: int | None
    of_payee: int | None
    met_at: int | None = None


UNKNOWN: Final = Novelty(None, None, None)
