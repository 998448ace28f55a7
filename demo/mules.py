"""Stories of flows: through a mule, in a circle, out before a debit can return, in cents."""

from typing import Final

from clearhold.demo.moves import Move
from clearhold.demo.parties import LENDING, PAYROLL, REMITTANCE, account_of
from clearhold.demo.story import Cast, Strangers, Tempo, out
from clearhold.features.sandbox.parties import Ending, EventFamily

MULE_PAYERS: Final = 6
RING: Final = ("ring_1", "ring_2", "ring_3")
MICRO_ENTRIES: Final = 12
GUESSES: Final = ("R03", "R03", "", "R03", "")


def mule(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    """Many strangers pay in, and one wire moves it on to another stranger."""
    party = cast[REMITTANCE].crew["mule"]
    gathered = [
        out(party, strangers.someone(), at + place * tempo.gap_us // 2)(
            program=REMITTANCE,
            family=EventFamily.REALTIME,
            cents=strangers.rng.randrange(55_000, 95_000),
            incoming=True,
        )
        for place in range(MULE_PAYERS)
    ]
    cents = sum(move.cents for move in gathered) * 96 // 100
    sent = out(party, strangers.someone(), at + MULE_PAYERS * tempo.gap_us)
    return [*gathered, sent(program=REMITTANCE, family=EventFamily.WIRE, cents=cents)]


def float_on_a_debit(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    """An ACH debit pulls money in, and a wire takes it out while the debit can still come back."""
    party = cast[PAYROLL].crew["float"]
    cents = strangers.rng.randrange(1_200_000, 1_900_000)
    pulled = out(party, strangers.someone(), at)(
        program=PAYROLL,
        family=EventFamily.ACH,
        cents=cents,
        debit=True,
        sec_code="WEB",
        ending=Ending.RETURNED,
        code="R01",
    )
    sent = out(party, strangers.someone(), at + tempo.gap_us)
    return [pulled, sent(program=PAYROLL, family=EventFamily.WIRE, cents=cents * 95 // 100)]


def round_trip(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    """Three businesses pass one amount round by book transfers, less a little at each."""
    members = [cast[PAYROLL].crew[role] for role in RING]
    cents = strangers.rng.randrange(600_000, 900_000)
    return [
        out(member, account_of(members[(place + 1) % len(members)]), at + place * tempo.gap_us)(
            program=PAYROLL, family=EventFamily.BOOK, cents=cents * (100 - 2 * place) // 100
        )
        for place, member in enumerate(members)
    ]


def probed_accounts(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    """Small credits to guessed accounts; some do not exist, and after that answer the next one goes out."""
    party = cast[LENDING].crew["prober"]

    def probe(sent_at: int, code: str) -> Move:
        return out(party, strangers.someone(), sent_at)(
            program=LENDING,
            family=EventFamily.ACH,
            cents=strangers.rng.randrange(500, 2_000),
            ending=Ending.RETURNED if code else Ending.GOOD,
            code=code,
        )

    guesses = [probe(at + place * tempo.gap_us, code) for place, code in enumerate(GUESSES)]
    return [*guesses, probe(guesses[-1].at + 5 * tempo.day_us // 2, "")]


def micro_entries(strangers: Strangers, cast: Cast, at: int, tempo: Tempo) -> list[Move]:
    """Credits of cents to many accounts, without the debits that micro-entries test."""
    party = cast[LENDING].crew["micro"]
    return [
        out(party, strangers.someone(), at + place * tempo.gap_us // 6)(
            program=LENDING, family=EventFamily.ACH, cents=strangers.rng.randrange(1, 99)
        )
        for place in range(MICRO_ENTRIES)
    ]
