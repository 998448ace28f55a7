"""The few who are up to something. Each story is a list of moves that begins at ``at``, ``gap`` microseconds apart."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec

from demo.cast import LENDING, PAYROLL, REMITTANCE, Other, Party, Program, Registrar
from demo.moves import Ending, Family, Move

Story = Callable[["Strangers", dict[str, Program], int, int], list[Move]]


class Strangers(msgspec.Struct, frozen=True):
    """Where new counterparties come from."""

    rng: Random
    registrar: Registrar

    def someone(self, *, country: str = "US") -> Other:
        return self.registrar.other(self.registrar.person_name(), country=country)

    def imposter(self, vendor: Other) -> Other:
        """The vendor's name over another account."""
        return self.registrar.other(vendor.name, business=vendor.business)


def just_under_10k(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[REMITTANCE].crew["structurer_10k"]
    return [
        _out(party, strangers.someone(), at + place * gap, story="structuring under $10,000")(
            program=REMITTANCE, family=Family.WIRE, cents=strangers.rng.randrange(920_000, 999_000)
        )
        for place in range(5)
    ]


def just_under_3k(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[REMITTANCE].crew["structurer_3k"]
    return [
        _out(party, strangers.someone(), at + place * gap, story="structuring under $3,000")(
            program=REMITTANCE, family=Family.REALTIME, cents=strangers.rng.randrange(275_000, 299_900)
        )
        for place in range(6)
    ]


def velocity_burst(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[REMITTANCE].crew["burst"]
    crowd = [strangers.someone() for _ in range(7)]
    return [
        _out(party, strangers.rng.choice(crowd), at + place * gap // 6, story="velocity burst")(
            program=REMITTANCE, family=Family.REALTIME, cents=strangers.rng.randrange(40_000, 90_000)
        )
        for place in range(16)
    ]


def denied_but_moving(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[REMITTANCE].crew["denied"]
    return [
        _out(party, party.others[0], at + place * gap, story="denied entity moves money")(
            program=REMITTANCE,
            family=Family.REALTIME if party.others[0].country == "US" else Family.SWIFT,
            cents=strangers.rng.randrange(60_000, 240_000),
        )
        for place in range(2)
    ]


def undeclared_country(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    return _abroad(strangers, cast, at, gap, role="undeclared", countries=("AE", "TR"), story="undeclared country")


def called_for_action(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    return _abroad(
        strangers, cast, at, gap, role="called_for_action", countries=("IR", "MM"), story="call-for-action country"
    )


def dormant_employer(strangers: Strangers, cast: dict[str, Program], at: int, _gap: int) -> list[Move]:
    return [_woken(strangers, cast[PAYROLL].crew["dormant"], at)]


def second_dormant_employer(strangers: Strangers, cast: dict[str, Program], at: int, _gap: int) -> list[Move]:
    return [_woken(strangers, cast[PAYROLL].crew["dormant_2"], at)]


def changed_account(strangers: Strangers, cast: dict[str, Program], at: int, _gap: int) -> list[Move]:
    party = cast[PAYROLL].crew["invoice"]
    imposter = strangers.imposter(party.others[0])
    make = _out(party, imposter, at, story="changed account details")
    return [make(program=PAYROLL, family=Family.WIRE, cents=4_850_000 + strangers.rng.randrange(90_000))]


def card_testing(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[PAYROLL].crew["cards"]
    shop = strangers.registrar.other(strangers.registrar.business_name(), business=True)
    reasons = ("INVALID_CARD_DETAILS", "SUSPECTED_FRAUD", "INCORRECT_PIN")
    return [
        _out(party, shop, at + place * gap // 6, story="card declines")(
            program=PAYROLL,
            family=Family.CARD,
            cents=strangers.rng.randrange(100, 499),
            ending=Ending.DECLINED,
            code=strangers.rng.choice(reasons),
        )
        for place in range(6)
    ]


def unauthorized_debits(strangers: Strangers, cast: dict[str, Program], at: int, gap: int) -> list[Move]:
    party = cast[LENDING].crew["unauthorized"]
    return [
        _out(party, strangers.rng.choice(party.others), at + place * gap, story="unauthorized returns")(
            program=LENDING,
            family=Family.ACH,
            cents=strangers.rng.randrange(20_000, 90_000),
            debit=True,
            sec_code="WEB",
            ending=Ending.RETURNED,
            code=strangers.rng.choice(("R10", "R07", "R29")),
        )
        for place in range(3)
    ]


EVERY_STORY: Final[tuple[Story, ...]] = (
    just_under_10k,
    denied_but_moving,
    called_for_action,
    velocity_burst,
    changed_account,
    unauthorized_debits,
    just_under_3k,
    card_testing,
    undeclared_country,
)
TOLD_ONCE: Final[tuple[Story, ...]] = (dormant_employer, second_dormant_employer)
TOLD_IN_HISTORY: Final[tuple[Story, ...]] = (unauthorized_debits, just_under_3k, undeclared_country, card_testing)


def _out(party: Party, other: Other, at: int, *, story: str) -> Callable[..., Move]:
    def make(**rest: Any) -> Move:
        return Move(at=at, party=party, other=other, story=story, note="transfer", **rest)

    return make


def _abroad(
    strangers: Strangers,
    cast: dict[str, Program],
    at: int,
    gap: int,
    *,
    role: str,
    countries: tuple[str, ...],
    story: str,
) -> list[Move]:
    party = cast[REMITTANCE].crew[role]
    return [
        _out(party, strangers.someone(country=country), at + place * gap, story=story)(
            program=REMITTANCE, family=Family.SWIFT, cents=strangers.rng.randrange(180_000, 750_000)
        )
        for place, country in enumerate(countries)
    ]


def _woken(strangers: Strangers, party: Party, at: int) -> Move:
    make = _out(party, strangers.someone(), at, story="dormant account wakes up")
    return make(program=PAYROLL, family=Family.WIRE, cents=6_200_000 + strangers.rng.randrange(500_000))
