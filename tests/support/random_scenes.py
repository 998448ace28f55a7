"""Runs of transfers that belong together, out of drawn bytes: chains, scatters, fans, tried cards, tiny entries.

A scene only plans; ``streams`` delivers it, in order, backwards or late. The tables hold the edges of the definitions.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US

NODES: Final = ("enti_1", "bacc_2", "enti_3", "bacc_1", "enti_2", "enti_4", "bacc_3", "enti_5", "enti_6")
STRIDES: Final = (1, 2, 4, 5, 3, 0)
HOP_CENTS: Final = (500_000, 1_000_000, 95_000, 100_000, 12_500, 7 * 10**13, 100, 0)
SHARES: Final = (100, 95, 90, 100, 105, 80, 97, 79, 106, 85)
HOP_GAPS: Final = (
    HOUR_US,
    0,
    DAY_US,
    1,
    3 * DAY_US,
    60 * SECOND_US,
    2 * DAY_US,
    5 * HOUR_US,
    3 * DAY_US + 1,
    7 * DAY_US,
)
SHORT_GAPS: Final = (SECOND_US, 0, 600 * SECOND_US, HOUR_US, 4 * HOUR_US, DAY_US, 1)
CROWD_GAPS: Final = (SECOND_US, 0, 600 * SECOND_US, HOUR_US)
HOP_RAILS: Final = (("wire", None), ("book", None), ("ach", "CREDIT"), ("realtime", None), ("ach", "DEBIT"))
ATTEMPT_CENTS: Final = (100, 499, 500, 501, 84_50, 0)
DECISIONS: Final = (
    *(("DECLINED", "INCORRECT_PIN"), ("PENDING", "APPROVED"), ("DECLINED", "suspected_fraud")),
    *(("DECLINED", "insufficient_funds"), ("SETTLED", "APPROVED"), ("DECLINED", "verification_failed")),
    *(("VOIDED", "APPROVED"), ("DECLINED", "FRAUD_ADVICE"), ("DECLINED", None), ("REJECTED", "SUSPECTED_FRAUD")),
    *(("DECLINED", "no such word"), ("PENDING", "SUSPECTED_FRAUD"), ("DECLINED", "PIN_OR_CVV")),
)
MICRO_CENTS: Final = (1, 50, 99, 1, 75, 0, 100)
RETURN_CODES: Final = ("R02", "R03", "R01", "R04", "R20", "R10", "R07", "R29", "R11", "R05")
INCOMING_FROM: Final = 224
MOST_RETURNS: Final = 5
LONGEST_CHAIN: Final = 8
MOST_MIDDLES: Final = 7
MOST_ENDS: Final = 12
MOST_OF_A_CROWD: Final = 160
MOST_ATTEMPTS: Final = 16
MOST_ENTRIES: Final = 14


class Planned(NamedTuple):
    """One transfer of a scene, ``gap`` after the one before; the actor is an entity or an account."""

    gap: int
    rail: str
    direction: str
    ach_type: str | None
    actor: str
    party: str | None
    cents: int
    status: str
    reason: str | None = None
    return_code: str | None = None


def chain(chosen: bytes) -> list[Planned]:
    """Value that walks from node to node, each hop carrying about what the one before did; some walks come back."""
    _, start, hops, cents, shape, gap, how = chosen
    stride = STRIDES[shape % len(STRIDES)]
    walk = [NODES[(start + place * stride) % len(NODES)] for place in range(3 + hops % (LONGEST_CHAIN - 1))]
    if shape & 128:
        walk[-1] = walk[0]
    amount = HOP_CENTS[cents % len(HOP_CENTS)] + cents // len(HOP_CENTS)
    planned = []
    for place, (source, target) in enumerate(pairwise(walk)):
        pause = HOP_GAPS[(gap + (place if gap & 128 else 0)) % len(HOP_GAPS)]
        planned.append(_paid(pause, source, target, amount, how + place))
        amount = amount * SHARES[(shape // 8 + place) % len(SHARES)] // 100
    return planned


def scatter(chosen: bytes) -> list[Planned]:
    """One pays several, each of whom pays one other; the last may be paid only after having paid on."""
    _, start, count, cents, shape, gap, how = chosen
    middles = [NODES[(start + place) % len(NODES)] for place in range(2 + count % (MOST_MIDDLES - 1))]
    ends = (*NODES, "cpty_1", "cpty_9")
    source, target = ends[(start + len(middles)) % len(ends)], ends[shape % len(ends)]
    amount = HOP_CENTS[cents % len(HOP_CENTS)]
    pause = SHORT_GAPS[gap % len(SHORT_GAPS)]
    paid = [_paid(pause, source, middle, amount, how + place) for place, middle in enumerate(middles)]
    paid_on = [_paid(pause, middle, target, amount, how) for middle in middles]
    if shape & 64:
        return [*paid[:-1], *paid_on, paid[-1]]
    return [*paid, *paid_on] if shape & 32 else [hop for pair in zip(paid, paid_on, strict=True) for hop in pair]


def fan(chosen: bytes) -> list[Planned]:
    """Many strangers who pay one actor, or one actor who pays many."""
    _, start, count, cents, shape, gap, how = chosen
    actor = NODES[start % len(NODES)]
    strangers = [f"cpty_{place + 6}" for place in range(2 + count % MOST_ENDS)]
    amount, pause = HOP_CENTS[cents % len(HOP_CENTS)], SHORT_GAPS[gap % len(SHORT_GAPS)]
    received = [
        _paid(pause, stranger, actor, amount - amount * (place % 5) // 20, how)
        for place, stranger in enumerate(strangers)
    ]
    sent = [_paid(pause, actor, stranger, amount, how) for stranger in strangers]
    return (received, sent, received + sent)[shape % 3]


def crowd(chosen: bytes) -> list[Planned]:
    """More payments among a few than a search looks at, most of the same amount."""
    _, start, count, cents, shape, gap, how = chosen
    ends = [*NODES[start % len(NODES) :], *NODES, "cpty_9"][: 2 + shape % len(NODES)]
    amount, pause = HOP_CENTS[cents % len(HOP_CENTS)], CROWD_GAPS[gap % len(CROWD_GAPS)]
    chance, planned = start + 256 * gap + 1, []
    for _ in range(1 + count % MOST_OF_A_CROWD):
        chance = chance * 48_271 % 2_147_483_647
        source, target = ends[chance % len(ends)], ends[chance // 97 % len(ends)]
        if source != "cpty_9" or target != "cpty_9":
            share = SHARES[chance // 9_973 % len(SHARES)] if how & 128 else 100
            planned.append(_paid(pause, source, target, amount * share // 100, how + chance // 7 % 2 * 64))
    return planned


def cards(chosen: bytes) -> list[Planned]:
    """A card that is tried again and again."""
    _, actor, count, cents, shape, gap, how = chosen
    return [
        Planned(
            SHORT_GAPS[(gap + place * (gap // 7 % 2)) % len(SHORT_GAPS)],
            "card",
            "incoming" if how + place > INCOMING_FROM else "outgoing",
            None,
            f"bacc_{(actor + (place if shape & 16 else 0)) % 3 + 1}",
            f"mrch_{how % 5}" if how & 32 else None,
            ATTEMPT_CENTS[(cents + place) % len(ATTEMPT_CENTS)],
            *DECISIONS[(shape + place * (shape // 8)) % len(DECISIONS)],
        )
        for place in range(1 + count % MOST_ATTEMPTS)
    ]


def tiny_entries(chosen: bytes) -> list[Planned]:
    """ACH entries of cents, some without the debit that they were to prove an account for."""
    _, actor, count, cents, shape, gap, how = chosen
    pause = SHORT_GAPS[gap % 3]
    planned = [
        Planned(
            pause,
            "ach",
            "incoming" if how & 64 else "outgoing",
            "DEBIT" if place % 3 == shape % 3 else "CREDIT",
            NODES[(actor + (place if how & 16 else 0)) % len(NODES)],
            f"cpty_{place % 4 + 1}",
            MICRO_CENTS[(cents + place) % len(MICRO_CENTS)],
            "SETTLED",
        )
        for place in range(1 + count % MOST_ENTRIES)
    ]
    if shape & 32:
        planned.append(planned[0]._replace(ach_type="DEBIT", cents=12_500))
    return planned


def returned_debits(chosen: bytes) -> list[Planned]:
    """Debits of one actor on several accounts, each of which comes back."""
    _, actor, count, cents, shape, gap, how = chosen
    return [
        Planned(
            SHORT_GAPS[gap % len(SHORT_GAPS)],
            "ach",
            "incoming" if how > INCOMING_FROM else "outgoing",
            "CREDIT" if how & 48 == 0 else "DEBIT",
            NODES[actor % len(NODES)],
            None if how & 15 == place else f"cpty_{(how + place) % 6 + 1}",
            HOP_CENTS[cents % len(HOP_CENTS)],
            "RETURNED",
            return_code=RETURN_CODES[(shape + place * (shape & 1)) % len(RETURN_CODES)],
        )
        for place in range(1 + count % MOST_RETURNS)
    ]


def _paid(gap: int, source: str, target: str, cents: int, how: int) -> Planned:
    """A payment reported by its sender, or by its receiver if the sender is outside the program or ``how`` says so."""
    rail, ach_type = HOP_RAILS[how % len(HOP_RAILS)]
    told_by_receiver = source.startswith("cpty") or (how & 64 and not target.startswith("cpty"))
    if rail == "book" and not (source.startswith("bacc") and target.startswith("bacc")):
        rail = "wire"
    if told_by_receiver and rail != "book":
        return Planned(gap, rail, "incoming", ach_type, target, source, cents, "COMPLETED")
    return Planned(gap, rail, "outgoing", ach_type, source, target, cents, "COMPLETED")


SCENES: Final[dict[str, Callable[[bytes], list[Planned]]]] = {
    scene.__name__: scene for scene in (chain, scatter, fan, crowd, cards, tiny_entries, returned_debits)
}
