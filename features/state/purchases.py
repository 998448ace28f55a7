"""A program's purchases by number, and what its card payments of one merchant category usually are."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import astuple

from clearhold.features.bank.purchases import NOTHING_STATED, Purchase
from clearhold.features.core.in_memory import shared
from clearhold.features.windows.baseline import Baseline
from clearhold.features.windows.id_index import sliced

NOTHING: Final = 0


class PurchaseTable:
    """The statements of card transfers by number, in the order in which they first came; 0 stands for none.

    A program may use at most ``LIMIT`` different ones; later ones are read as none.

    >>> table = PurchaseTable()
    >>> table.number(Purchase("5816", "TX")), table.number(NOTHING_STATED), table.number(Purchase("5816", "TX"))
    (1, 0, 1)
    """

    LIMIT: Final = 131_071

    __slots__ = ("_numbers", "all")

    def __init__(self) -> None:
        self.all = [NOTHING_STATED]
        self._numbers = {NOTHING_STATED: NOTHING}

    def number(self, purchase: Purchase) -> int:
        if purchase is NOTHING_STATED:
            return NOTHING
        number = self._numbers.get(purchase)
        if number is None:
            if len(self.all) > self.LIMIT:
                return NOTHING
            number = self._numbers[purchase] = len(self.all)
            self.all.append(purchase)
        return number

    def dump(self) -> Iterator[list[Any]]:
        return sliced(astuple(purchase) for purchase in self.all[1:])

    def load(self, dumped: Any) -> None:
        """Restore one slice."""
        for each in dumped:
            self.number(Purchase(*map(shared, each)))


class CategoryUsual:
    """The card payments of a program by merchant category: at most 10,000, as a category is four digits."""

    __slots__ = ("_of_category",)

    def __init__(self) -> None:
        self._of_category: dict[str, Baseline] = {}

    def enter(self, category: str, at: int, cents: int | None, *, known_at: int | None) -> None:
        baseline = self._of_category.get(category)
        if baseline is None:
            baseline = self._of_category[category] = Baseline()
        baseline.advance(at)
        baseline.add(at, cents, 0, known_at=known_at)

    def leave(self, category: str, at: int, cents: int | None, *, known_at: int) -> None:
        self._of_category[category].remove(at, cents, 0, known_at=known_at)

    def median_cents(self, category: str, at: int, *, but: int | None) -> int | None:
        """Of 90 days, as known at ``at``; ``but`` is an amount in them that is left out. None below five amounts."""
        baseline = self._of_category.get(category)
        return None if baseline is None else baseline.measure(at, 0, but=but).median_cents

    def dump(self) -> Iterator[tuple[str, Any]]:
        return ((category, baseline.dump()) for category, baseline in self._of_category.items())

    def load(self, dumped: Any) -> None:
        """Restore one category."""
        category, baseline = dumped
        self._of_category[shared(category)] = of_category = Baseline()
        of_category.load(baseline)
