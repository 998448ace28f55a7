"""Stories of fraud by amounts, places, identities, cards and unauthorized debits."""

from clearhold.demo.moves import Move
from clearhold.demo.parties import LENDING, PAYROLL, REMITTANCE, Party
from clearhold.demo.story import Cast, Strangers, Tempo, out
from clearhold.features.sandbox.parties import Ending, EventFamily


def just_under_10k(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[REMITTANCE].crew["structurer_10k"]
    return [
        out(party, strangers.someone(), at + place * tempo.gap_us)(
            program=REMITTANCE, family=EventFamily.WIRE, cents=strangers.rng.randrange(920_000, 999_000)
        )
        for place in range(5)
    ]


def just_under_3k(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[REMITTANCE].crew["structurer_3k"]
    return [
        out(party, strangers.someone(), at + place * tempo.gap_us)(
            program=REMITTANCE, family=EventFamily.REALTIME, cents=strangers.rng.randrange(275_000, 299_900)
        )
        for place in range(6)
    ]


def velocity_burst(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[REMITTANCE].crew["burst"]
    crowd = [strangers.someone() for _ in range(7)]
    return [
        out(party, strangers.rng.choice(crowd), at + place * tempo.gap_us // 6)(
            program=REMITTANCE, family=EventFamily.REALTIME, cents=strangers.rng.randrange(40_000, 90_000)
        )
        for place in range(16)
    ]


def denied_but_moving(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[REMITTANCE].crew["denied"]
    return [
        out(party, party.others[0], at + place * tempo.gap_us)(
            program=REMITTANCE,
            family=EventFamily.REALTIME if party.others[0].country == "US" else EventFamily.SWIFT,
            cents=strangers.rng.randrange(60_000, 240_000),
        )
        for place in range(2)
    ]


def undeclared_country(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    return _abroad(strangers, cast, at, tempo, role="undeclared", countries=("AE", "TR"))


def called_for_action(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    return _abroad(strangers, cast, at, tempo, role="called_for_action", countries=("IR", "MM"))


def dormant_employer(strangers: Strangers, cast: Cast, at: int, _tempo: Tempo) -> list[Move]:
    return [_woken(strangers, cast[PAYROLL].crew["dormant"], at)]


def second_dormant_employer(strangers: Strangers, cast: Cast, at: int, _tempo: Tempo) -> list[Move]:
    return [_woken(strangers, cast[PAYROLL].crew["dormant_2"], at)]


def changed_account(strangers: Strangers, cast: Cast, at: int, _tempo: Tempo) -> list[Move]:
    party = cast[PAYROLL].crew["invoice"]
    imposter = strangers.imposter(party.others[0])
    make = out(party, imposter, at)
    return [make(program=PAYROLL, family=EventFamily.WIRE, cents=4_850_000 + strangers.rng.randrange(90_000))]


def card_testing(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[PAYROLL].crew["cards"]
    shop = strangers.registrar.other(strangers.registrar.business_name(), business=True)
    reasons = ("INVALID_CARD_DETAILS", "SUSPECTED_FRAUD", "INCORRECT_PIN")
    return [
        out(party, shop, at + place * tempo.gap_us // 6)(
            program=PAYROLL,
            family=EventFamily.CARD,
            cents=strangers.rng.randrange(100, 499),
            ending=Ending.DECLINED,
            code=strangers.rng.choice(reasons),
        )
        for place in range(6)
    ]


def unauthorized_debits(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    party = cast[LENDING].crew["unauthorized"]
    return [
        out(party, strangers.rng.choice(party.others), at + place * tempo.gap_us)(
            program=LENDING,
            family=EventFamily.ACH,
            cents=strangers.rng.randrange(20_000, 90_000),
            debit=True,
            sec_code="WEB",
            ending=Ending.RETURNED,
            code=strangers.rng.choice(("R10", "R07", "R29")),
        )
        for place in range(3)
    ]


def _abroad(
    strangers: Strangers,
    cast: Cast,
    at: int,
    tempo: Tempo,
    *,
    role: str,
    countries: tuple[str, ...],
) -> list[Move]:
    party = cast[REMITTANCE].crew[role]
    return [
        out(party, strangers.someone(country=country), at + place * tempo.gap_us)(
            program=REMITTANCE, family=EventFamily.SWIFT, cents=strangers.rng.randrange(180_000, 750_000)
        )
        for place, country in enumerate(countries)
    ]


def _woken(strangers: Strangers, party: Party, at: int) -> Move:
    make = out(party, strangers.someone(), at)
    return make(program=PAYROLL, family=EventFamily.WIRE, cents=6_200_000 + strangers.rng.randrange(500_000))
