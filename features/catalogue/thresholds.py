"""Dated lists and thresholds that the windows, features and scorers share, with their public sources.

A threshold that only one scorer reads stands with that scorer. These are defaults that policy data may replace.

Unit    cents, and counts where the name says so
"""

from bisect import bisect_right
from typing import Final, NamedTuple

# 31 CFR 1010.410 and 1020.410 (funds transfer record and travel rule) and 31 CFR 1010.311 (currency reports).
STRUCTURING_THRESHOLDS_CENTS: Final = (300_000, 1_000_000)
STRUCTURING_ZONE_FROM_PERCENT: Final = 80
JUST_BELOW_FROM_PERCENT: Final = 90

# Nacha Operating Rules, Micro-Entries: ACH entries under $1 that verify an account.
MICRO_BELOW_CENTS: Final = 100
# Proposed here: a round amount is a multiple of $1,000 from $5,000 on; an attempt under $5 may be testing a card.
ROUND_STEP_CENTS: Final = 100_000
ROUND_FROM_CENTS: Final = 500_000
SMALL_CARD_BELOW_CENTS: Final = 500
# Proposed here: a node is busy from three times its usual week on, and a scatter-gather has three middlemen at least.
USUAL_WEEK_FACTOR: Final = 3
SCATTER_GATHER_MIDDLES: Final = 3


class CountryList(NamedTuple):
    """A regulator's list in force since ``as_of``; a new one replaces it as a whole."""

    as_of: str
    source: str
    countries: frozenset[str]


CALL_FOR_ACTION: Final = CountryList(
    "2026-06-19",
    "FATF, High-Risk Jurisdictions subject to a Call for Action, 13 February and 19 June 2026",
    frozenset({"IR", "KP", "MM"}),
)
# The Syrian program ended on the first day of this list (Executive Order 14312); embargoed regions have no ISO code.
COMPREHENSIVELY_SANCTIONED: Final = CountryList(
    "2025-07-01",
    "OFAC country programs: 31 CFR parts 510 (KP), 515 (CU) and 560 (IR)",
    frozenset({"CU", "IR", "KP"}),
)
INCREASED_MONITORING: Final = CountryList(
    "2026-06-19",
    "FATF, Jurisdictions under Increased Monitoring, 19 June 2026",
    frozenset(
        (
            "AO",
            "BA",
            "BG",
            "BO",
            "CD",
            "CI",
            "CM",
            "HT",
            "IQ",
            "KE",
            "KW",
            "LA",
            "LB",
            "MC",
            "NP",
            "PG",
            "SS",
            "SY",
            "VE",
            "VG",
            "VN",
            "YE",
        )
    ),
)


def structuring_zones(amount_cents: int | None) -> tuple[int, ...]:
    """The thresholds that an amount stays just under, in [0.80, 1.00) of each; none where it is not known."""
    return () if amount_cents is None else _ZONES[bisect_right(STRUCTURING_EDGES_CENTS, amount_cents)]


def is_just_below(amount_cents: int) -> bool:
    """True in [0.90, 1.00) of any threshold."""
    return bool(_JUST_BELOW[bisect_right(JUST_BELOW_EDGES_CENTS, amount_cents)])


def is_round(amount_cents: int) -> bool:
    """True for a multiple of $1,000 from $5,000 on."""
    return amount_cents >= ROUND_FROM_CENTS and amount_cents % ROUND_STEP_CENTS == 0


def _steps(from_percent: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The amounts at which the answer changes, and the thresholds that each stretch between them lies just under."""
    zones = [(-(-line * from_percent // 100), line) for line in STRUCTURING_THRESHOLDS_CENTS]
    edges = tuple(sorted({edge for zone in zones for edge in zone}))
    return edges, ((), *(tuple(line for first, line in zones if first <= edge < line) for edge in edges))


STRUCTURING_EDGES_CENTS, _ZONES = _steps(STRUCTURING_ZONE_FROM_PERCENT)
JUST_BELOW_EDGES_CENTS, _JUST_BELOW = _steps(JUST_BELOW_FROM_PERCENT)
