"""Scenes of the random streams: transfers that belong together, each with the time since the one before it."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US

MINUTE_US: Final = 60 * SECOND_US


class Plan(NamedTuple):
    """A transfer to be told of ``gap`` after the one before it."""

    gap: int
    rail: str
    direction: str
    type: str | None
    cents: int
    account: str
    party: str
    status: str = "COMPLETED"
    code: str | None = None


Names = Sequence[str]
Scene = Callable[[Random, Names, Names], list[Plan]]

Way = tuple[str, str, str | None]

WAYS_IN: Final[tuple[Way, ...]] = (
    *(("ach", "outgoing", "DEBIT"), ("ach", "incoming", "CREDIT"), ("realtime", "incoming", None)),
    *(("wire", "incoming", None), ("check", "incoming", None)),
)
WAYS_OUT: Final[tuple[Way, ...]] = (
    *(("ach", "incoming", "DEBIT"), ("ach", "outgoing", "CREDIT"), ("realtime", "outgoing", None)),
    *(("wire", "outgoing", None), ("check", "outgoing", None), ("intl_wire", "outgoing", None)),
)


def passing(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Money comes in by several ways and most of it goes out again, week after week or once."""
    account, plans = chance.choice(accounts), []
    for week in range(chance.randint(1, 4)):
        came = 0
        for _ in range(chance.randint(1, 3)):
            cents = chance.choice((50_000, 100_000, 99_999, 500_000))
            gap = 6 * DAY_US if week and not came else chance.choice((0, HOUR_US, 5 * HOUR_US))
            plans.append(Plan(gap, *chance.choice(WAYS_IN), cents, account, chance.choice(parties)))
            came += cents
        left = came * chance.choice((79, 80, 98, 105)) // 100
        gap = chance.choice((0, HOUR_US, 20 * HOUR_US, 47 * HOUR_US))
        plans.append(Plan(gap, *chance.choice(WAYS_OUT), left, account, chance.choice(parties)))
    return plans


def splitting(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Several amounts just below a threshold, to one party or from one account."""
    account, party = chance.choice(accounts), chance.choice(parties)
    shares = (chance.choice((240_000, 270_000, 299_999, 800_000, 950_000)) for _ in range(chance.randint(3, 6)))
    return [
        Plan(
            chance.choice((MINUTE_US, 5 * HOUR_US, DAY_US)),
            *chance.choice(WAYS_OUT),
            cents,
            account if chance.random() < 0.7 else chance.choice(accounts),
            party,
        )
        for cents in shares
    ]


def habit(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """A few payments every week or day, for long enough to be usual."""
    account, way = chance.choice(accounts), chance.choice((*WAYS_IN, *WAYS_OUT))
    step, times = chance.choice(((7 * DAY_US, 5), (7 * DAY_US, 14), (DAY_US, 20), (3 * DAY_US, 12)))
    return [
        Plan(0 if n % 2 else step, *way, chance.choice((12_500, 42_000)), account, chance.choice(parties[:3]))
        for n in range(2 * times)
    ]


def crowd(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Many strangers at once, more than any bound of a search."""
    account, way, most = chance.choice(accounts), chance.choice((*WAYS_IN, *WAYS_OUT)), chance.choice((6, 9, 70, 90))
    base = chance.randint(10, 40)
    return [
        Plan(chance.choice((0, MINUTE_US, 3 * MINUTE_US)), *way, 12_500, account, f"{parties[0][:5]}{base + n}")
        for n in range(most)
    ]


def chain(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Money walks from account to account, sometimes back to where it began."""
    route = chance.sample(list(accounts), k=len(accounts))
    cents, plans = chance.choice((100_000, 500_000)), []
    for here, there in zip(route, [*route[1:], chance.choice((route[0], parties[0]))], strict=True):
        gap = chance.choice((MINUTE_US, HOUR_US, 71 * HOUR_US, 72 * HOUR_US))
        rail = "book" if there in accounts and chance.random() < 0.6 else "wire"
        plans.append(Plan(gap, rail, "outgoing", None, cents, here, there))
        cents = cents * chance.choice((81, 95, 100, 105)) // 100
    return plans


def scatter(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """One account pays several, who all pay the same one."""
    first, *middles, last = chance.sample(list(accounts), k=len(accounts))
    middles = [*middles, last] if chance.random() < 0.5 else middles
    target = chance.choice((last, parties[0], parties[1]))
    out = [Plan(MINUTE_US, "book", "outgoing", None, 40_000, first, middle) for middle in middles]
    on = [Plan(HOUR_US, "wire", "outgoing", None, 39_000, middle, target) for middle in middles]
    return out + on


def returned_debits(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Pulled money that came back: debits of ours, debits of theirs that we sent back, and credits."""
    account = chance.choice(accounts)
    ways = [("outgoing", "DEBIT"), ("outgoing", "DEBIT"), ("incoming", "DEBIT"), ("outgoing", "CREDIT")]
    codes = ("R01", "R02", "R03", "R07", "R10", "R10", "R16", "R29")
    return [
        Plan(
            chance.choice((MINUTE_US, DAY_US, 5 * DAY_US, 30 * DAY_US)),
            *("ach", *chance.choice(ways), 50_000, account, chance.choice(parties[:4])),
            "RETURNED",
            chance.choice(codes),
        )
        for _ in range(chance.randint(2, 6))
    ]


def tried_cards(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Cards tried again and again, mostly for next to nothing."""
    account = chance.choice(accounts)
    return [
        Plan(
            chance.choice((SECOND_US, MINUTE_US, 20 * MINUTE_US)),
            *("card", "outgoing", None, chance.choice((100, 499, 500, 2_100)), account, parties[0]),
            chance.choice(("DECLINED", "DECLINED", "PENDING")),
        )
        for _ in range(chance.randint(3, 12))
    ]


def shopping(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Purchases on the same cards, over hours or months."""
    account, gaps = chance.choice(accounts), chance.choice(((MINUTE_US, HOUR_US), (6 * HOUR_US, DAY_US, 10 * DAY_US)))
    return [
        Plan(
            chance.choice(gaps),
            *("card", "outgoing", None, chance.choice((900, 2_100, 2_200, 8_000)), account, parties[0]),
            chance.choice(("DECLINED", "SETTLED", "SETTLED", "PENDING")),
        )
        for _ in range(chance.randint(8, 40))
    ]


def tiny_entries(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Test credits and debits under a dollar, and what follows them."""
    account = chance.choice(accounts)
    return [
        Plan(
            chance.choice((0, MINUTE_US)),
            *("ach", "outgoing", chance.choice(("CREDIT", "DEBIT"))),
            *(chance.choice((1, 50, 99, 100)), account, chance.choice(parties)),
        )
        for _ in range(chance.randint(3, 15))
    ]


def busy_days(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """Days with several payments, some days apart, as many as make a day worth comparing."""
    account, plans = chance.choice(accounts), []
    for _ in range(chance.randint(2, 5)):
        gap = chance.choice((DAY_US - 1, DAY_US, 5 * DAY_US, 34 * DAY_US))
        for _ in range(chance.randint(3, 8)):
            way = chance.choice((*WAYS_IN, *WAYS_OUT))
            plans.append(Plan(gap, *way, chance.choice((12_500, 60_000)), account, chance.choice(parties)))
            gap = MINUTE_US
    return plans


def wages(chance: Random, accounts: Names, parties: Names) -> list[Plan]:
    """The same people paid about the same again, some weeks apart; sometimes one of them twice."""
    account, way, plans = chance.choice(accounts), chance.choice(WAYS_OUT), []
    staff = [(party, chance.choice((250_000, 270_000, 42_000))) for party in parties[: chance.randint(3, 6)]]
    for _ in range(chance.randint(2, 4)):
        gap = chance.choice((14 * DAY_US, 14 * DAY_US - 1, 15 * DAY_US, 30 * DAY_US, 91 * DAY_US))
        twice = [chance.choice(staff)] if chance.random() < 0.3 else []
        for party, pay in (*staff, *twice):
            cents = pay * chance.choice((100, 100, 105, 92, 89)) // 100
            plans.append(Plan(gap, *way, cents, account, party))
            gap = chance.choice((0, 0, MINUTE_US))
    return plans


SCENES: Final[tuple[Scene, ...]] = (
    *(passing, passing, splitting, habit, habit, crowd, crowd, chain, chain, scatter, returned_debits, returned_debits),
    *(tried_cards, tried_cards, shopping, shopping, tiny_entries, busy_days, busy_days, wages, wages),
)
