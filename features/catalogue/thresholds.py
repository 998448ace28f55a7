"""Lines that windows, features and scorers share: lines that policy sets, and lines in the names of features.

``Thresholds`` are the ones in force for a program at an instant (``features/policy/in_force.py``): the reporting
thresholds that amounts are split to stay under, and the regulators' lists of countries. The constants below belong to
the meaning of a feature, and change with its version only. A line of one scorer is in its module.

Unit    cents, and counts where the name says so
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

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
# Proposed here: a clean history has 60 transfers, and a party is known to an entity from 5 of its newest 64 on.
CLEAN_TRANSFERS: Final = 60
KNOWN_PARTY_TRANSFERS: Final = 5

# Proposed here: what more than 30 of 1,000 of a program's transfers do is common in that program.
COMMON_FROM_PERMILLE: Final = 31
COUNTED_SIGNALS: Final = (
    *("TRS-AMT-02", "TRS-AMT-03", "TRS-AMT-04", "TRS-AMT-05", "TRS-AMT-07", "TRS-AMT-08", "TRS-AMT-09"),
    *("TRS-VEL-01", "TRS-VEL-02", "TRS-VEL-03", "TRS-VEL-04", "TRS-VEL-05"),
    *("TRS-CPY-01", "TRS-CPY-02", "TRS-CPY-04", "TRS-CPY-06", "TRS-CPY-07", "TRS-CPY-08", "TRS-CPY-09", "TRS-CPY-10"),
    *("TRS-FLO-01", "TRS-FLO-02", "TRS-FLO-03", "TRS-FLO-04", "TRS-FLO-05", "TRS-FLO-07", "TRS-FLO-08", "TRS-FLO-09"),
    *("TRS-FLO-10", "TRS-FLO-11", "TRS-FLO-12", "TRS-CRD-03"),
)
"""The signals of which a program's transfers are counted: those of counts, spans and shapes, which say something where
they are seldom. Statements of the bank, returns, lists and evasions of the law are not among them.
"""

CALL_FOR_ACTION: Final = "call_for_action"
COMPREHENSIVELY_SANCTIONED: Final = "comprehensively_sanctioned"
INCREASED_MONITORING: Final = "increased_monitoring"
COUNTRY_LISTS: Final = (CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING)


class Lines:
    """Reporting thresholds, and the amounts that lie just under one; built once for each set of thresholds."""

    def __init__(self, thresholds_cents: Iterable[int]) -> None:
        self.cents: Final = tuple(sorted(set(thresholds_cents)))
        self.text: Final = ",".join(map(str, self.cents))
        self.zone_edges, self._zones = _steps(self.cents, STRUCTURING_ZONE_FROM_PERCENT)
        self.just_below_edges, self._just_below = _steps(self.cents, JUST_BELOW_FROM_PERCENT)

    def zones(self, amount_cents: int | None) -> tuple[int, ...]:
        """The thresholds that an amount stays just under, in [0.80, 1.00) of each; empty for an unknown amount."""
        return () if amount_cents is None else self._zones[bisect_right(self.zone_edges, amount_cents)]

    def is_just_below(self, amount_cents: int) -> bool:
        """True in [0.90, 1.00) of any threshold."""
        return bool(self._just_below[bisect_right(self.just_below_edges, amount_cents)])


class Thresholds:
    """The lines and the lists of countries of one version."""

    def __init__(self, version: str, thresholds_cents: Iterable[int], lists: Mapping[str, Iterable[str]]) -> None:
        self.version: Final = version
        self.lines: Final = Lines(thresholds_cents)
        self.lists: Final = {name: frozenset(countries) for name, countries in lists.items()}
        listed = frozenset[str]().union(*self.lists.values())
        self._lists_of = {
            country: ",".join(name for name in COUNTRY_LISTS if country in self.lists.get(name, ()))
            for country in listed
        }

    def lists_of(self, country: str | None) -> str | None:
        """The names of the lists that a country is on, comma-separated; None for an unknown country."""
        return None if country is None else self._lists_of.get(country, "")

    def with_lines(self, version: str, more_cents: Iterable[int]) -> "Thresholds":
        """The same with further thresholds, such as a program's caps."""
        return Thresholds(version, (*self.lines.cents, *more_cents), self.lists)


@lru_cache(maxsize=1_024)
def lines_of(text: str) -> Lines:
    """The lines that a vector carries; few texts are in use at a time."""
    return Lines(int(line) for line in text.split(",")) if text else Lines(())


def is_round(amount_cents: int) -> bool:
    """True for a multiple of $1,000 from $5,000 on."""
    return amount_cents >= ROUND_FROM_CENTS and amount_cents % ROUND_STEP_CENTS == 0


def _steps(thresholds: tuple[int, ...], from_percent: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The amounts at which the answer changes, and the thresholds that each stretch between them lies just under."""
    zones = [(-(-line * from_percent // 100), line) for line in thresholds]
    edges = tuple(sorted({edge for zone in zones for edge in zone}))
    return edges, ((), *(tuple(line for first, line in zones if first <= edge < line) for edge in edges))
