"""People and businesses that do not exist, with ids that count up under one tag."""

from typing import Final

from features.sandbox.draw import Draw
from features.sandbox.parties import Other, Party

HOME: Final = "US"

_FIRST_NAMES: Final = ("Ada", "Bo", "Cleo", "Dara", "Eli", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lena")
_LAST_NAMES: Final = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Juniper", "Larch")
_TRADES: Final = ("Bakery", "Books", "Cycles", "Dental", "Grocery", "Hardware", "Market", "Motors", "Paper", "Tools")
_PLACES: Final = (("Boise", "ID"), ("Miami", "FL"), ("Austin", "TX"), ("Tucson", "AZ"), ("Salem", "OR"))


class Casting:
    """Makes the parties of one run. ``tag`` keeps their ids apart from those of every other run."""

    def __init__(self, draw: Draw, tag: str, *, home: str = HOME) -> None:
        self.draw, self.tag, self.home = draw, tag, home
        self._count = 0

    def customer(self) -> Party:
        """A person who banks on the program."""
        city, state = self.draw.one_of(_PLACES)
        return Party(
            id=self.fresh_id("enti"),
            name=self._person(),
            business=False,
            account_id=self.fresh_id("bacc"),
            city=city,
            state=state,
            country=self.home,
        )

    def person(self, *, country: str | None = None) -> Other:
        return self._other(self._person(), business=False, country=country or self.home)

    def shop(self) -> Other:
        name = f"{self.draw.one_of(_LAST_NAMES)} {self.draw.one_of(_TRADES)}"
        return self._other(name, business=True, country=self.home)

    def fresh_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self.tag}{self._count:04d}"

    def _person(self) -> str:
        return f"{self.draw.one_of(_FIRST_NAMES)} {self.draw.one_of(_LAST_NAMES)}"

    def _other(self, name: str, *, business: bool, country: str) -> Other:
        routing = f"{self.draw.between(10_000_000, 99_999_999)}9" if country == HOME else f"SAND{country}22XXX"
        return Other(
            id=self.fresh_id("cpty"),
            name=name,
            business=business,
            routing=routing,
            account_number=str(self.draw.between(10**9, 10**10 - 1)),
            city="Reno" if country == HOME else "Harbour",
            country=country,
        )
