"""The simulated bank's three programs, their entities with an account each, and the other sides.

Everything here follows from the seed; names are invented from short lists.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from clearhold.features.sandbox import parties as sides

PAYROLL: Final = "payroll"
REMITTANCE: Final = "remittance"
LENDING: Final = "lending"

FIRST_NAMES: Final = ("Dana", "Luis", "Mei", "Omar", "Priya", "Sam", "Tova", "Uma", "Vera", "Wade", "Ximena", "Yusuf")
LAST_NAMES: Final = (
    "Abara",
    "Brand",
    "Castro",
    "Dunn",
    "Eze",
    "Frost",
    "Garza",
    "Hale",
    "Ito",
    "Jansen",
    "Khan",
    "Lund",
)
TRADES: Final = ("Bakery", "Carpentry", "Clinic", "Dairy", "Foundry", "Garden", "Labs", "Logistics", "Media", "Tiles")
INITIALS: Final = tuple(f"{letter}." for letter in "ABCDEFGHJKLMNPRSTW")
FORMS: Final = ("LLC", "Inc", "Co", "Partners", "Group")
PLACES: Final = (("Boise", "ID"), ("Miami", "FL"), ("Austin", "TX"), ("Tucson", "AZ"), ("Salem", "OR"), ("Akron", "OH"))
CITY_OF_COUNTRY: Final = {
    "MX": "Puebla",
    "PH": "Cebu",
    "GT": "Antigua",
    "CO": "Cali",
    "AE": "Sharjah",
    "TR": "Izmir",
    "IR": "Shiraz",
    "MM": "Bago",
}


class Other(sides.Other, frozen=True, kw_only=True):
    """A counterparty. ``pay_cents`` is its usual payment."""

    pay_cents: int = 0


class Party(sides.Party, frozen=True, kw_only=True):
    """An entity of a program with its bank account. ``pay_cents`` is its usual transfer."""

    pay_cents: int
    others: tuple[Other, ...] = ()
    own_bank: Other


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program as declared to the service, with its people. ``crew`` are the fraudulent ones."""

    slug: str
    name: str
    rails: tuple[str, ...]
    countries: tuple[str, ...]
    monthly_cents: int
    everyday: tuple[Party, ...]
    crew: dict[str, Party]


class Registrar:
    """Makes parties and other sides with ids that count up."""

    def __init__(self, rng: Random, tag: str) -> None:
        self.rng = rng
        self._tag = tag
        self._count = 0
        self._taken: set[str] = set()

    def person_name(self) -> str:
        return self._unlike_any(lambda: " ".join(map(self.rng.choice, (FIRST_NAMES, INITIALS, LAST_NAMES))))

    def business_name(self) -> str:
        return self._unlike_any(lambda: " ".join(map(self.rng.choice, (LAST_NAMES, TRADES, FORMS))))

    def other(self, name: str, *, business: bool = False, country: str = "US", pay_cents: int = 0) -> Other:
        number = self._next()
        return Other(
            id=f"cpty_{self._tag}{number:06d}",
            name=name,
            business=business,
            routing=f"{self.rng.randrange(10_000_000, 99_999_999)}9" if country == "US" else f"SIMU{country}22XXX",
            account_number=f"{self.rng.randrange(10**9, 10**10)}",
            city=CITY_OF_COUNTRY.get(country, "Reno"),
            country=country,
            pay_cents=pay_cents,
        )

    def party(self, *, business: bool, pay_cents: int, others: tuple[Other, ...] = ()) -> Party:
        number = self._next()
        name = self.business_name() if business else self.person_name()
        city, state = self.rng.choice(PLACES)
        return Party(
            id=f"enti_{self._tag}{number:06d}",
            name=name,
            business=business,
            account_id=f"bacc_{self._tag}{number:06d}",
            city=city,
            state=state,
            pay_cents=pay_cents,
            others=others,
            own_bank=self.other(name, business=business),
        )

    def _unlike_any(self, draw: Callable[[], str]) -> str:
        """An unused name: one name over two accounts is the mark of invoice fraud."""
        name = draw()
        while name in self._taken:
            name = draw()
        self._taken.add(name)
        return name

    def _next(self) -> int:
        self._count += 1
        return self._count


def account_of(party: Party) -> Other:
    """The party as the other side of a book transfer, which names its account."""
    counterparty_id = party.account_id.replace("bacc_", "cpty_")
    return msgspec.structs.replace(party.own_bank, id=counterparty_id)


def payroll(rng: Random) -> Program:
    """Employers that pay their people twice a month, and a vendor each."""
    registrar = Registrar(rng, "P")

    def employer(people: int) -> Party:
        staff = tuple(
            registrar.other(registrar.person_name(), pay_cents=rng.randrange(140_000, 420_000)) for _ in range(people)
        )
        vendor = registrar.other(registrar.business_name(), business=True, pay_cents=rng.randrange(200_000, 900_000))
        return registrar.party(business=True, pay_cents=250_000, others=(vendor, *staff))

    return Program(
        slug=PAYROLL,
        name="Evenpay Payroll",
        rails=("ach", "wire", "book", "card"),
        countries=("US",),
        monthly_cents=160_000_000,
        everyday=tuple(employer(rng.randrange(6, 13)) for _ in range(24)),
        crew={"dormant": employer(2), "dormant_2": employer(2), "invoice": employer(4), "cards": employer(3)}
        | {role: employer(2) for role in ("float", "ring_1", "ring_2", "ring_3")},
    )


def remittance(rng: Random) -> Program:
    """People who send money home every few weeks."""
    registrar = Registrar(rng, "R")

    def sender() -> Party:
        family = tuple(
            registrar.other(registrar.person_name(), country=rng.choice(("MX", "MX", "PH", "GT", "CO", "US")))
            for _ in range(rng.randrange(1, 4))
        )
        return registrar.party(business=False, pay_cents=rng.randrange(9_000, 70_000), others=family)

    crew = ("structurer_10k", "structurer_3k", "burst", "denied", "undeclared", "called_for_action", "mule")
    return Program(
        slug=REMITTANCE,
        name="Puente Remittances",
        rails=("realtime", "intl_wire", "wire"),
        countries=("US", "MX", "PH", "GT", "CO"),
        monthly_cents=60_000_000,
        everyday=tuple(sender() for _ in range(220)),
        crew={name: sender() for name in crew},
    )


def lending(rng: Random) -> Program:
    """Borrowers who get a loan and pay it back by ACH debit, and a few checks."""
    registrar = Registrar(rng, "L")

    def borrower() -> Party:
        shop = registrar.other(registrar.business_name(), business=True)
        return registrar.party(business=False, pay_cents=rng.randrange(12_000, 60_000), others=(shop,))

    merchant = registrar.party(
        business=True,
        pay_cents=30_000,
        others=tuple(registrar.other(registrar.person_name()) for _ in range(12)),
    )
    return Program(
        slug=LENDING,
        name="Brickyard Lending",
        rails=("ach", "check"),
        countries=("US",),
        monthly_cents=80_000_000,
        everyday=tuple(borrower() for _ in range(170)),
        crew={"unauthorized": merchant, "prober": borrower(), "micro": borrower()},
    )


def cast_of(seed: int) -> dict[str, Program]:
    """The three programs by slug."""
    makers = {PAYROLL: payroll, REMITTANCE: remittance, LENDING: lending}
    return {slug: make(Random(f"{seed}:{slug}")) for slug, make in makers.items()}
