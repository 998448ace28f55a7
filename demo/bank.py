"""The simulated bank: months of history at once, then moves one by one.

The same seed, start and calls give the same bytes. It never reads a clock.
"""

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from demo import everyday, mischief, objects
from demo.cast import PAYROLL, REMITTANCE, Party, Program, Registrar, cast_of
from demo.lives import Delivery, Reporter
from demo.mischief import Story, Strangers
from demo.moves import DAY_US, HOUR_US, MINUTE_US, Family, Move

HISTORY_DAYS: Final = 97
DENIED_ON_DAY: Final = 60
BUSY_TIMES: Final = 6
MISCHIEF_IN: Final = 14
ASKED_IN: Final = 9  # of those that can be asked about, which is about one in ten of all
ASKED_FIRST: Final = 3
LIVE_HASTE: Final = 21_600  # A day of the bank's waiting passes in four seconds.
LIVE_GAP_US: Final = 2_000_000
SHARE_OF_PROGRAM: Final = {PAYROLL: 0.3, REMITTANCE: 0.4}  # of the live moves; lending has the rest


class SimulatedBank:
    """One bank, one run. ``run`` keeps the ids of a later run on the same data apart from those of the ones before."""

    def __init__(self, seed: int, *, run: int = 1) -> None:
        self.cast = cast_of(seed)
        self._rng = Random(f"{seed}:run:{run}")
        self._tag = f"{run}x"
        registrar = Registrar(self._rng, f"S{run}x")
        self._strangers = Strangers(self._rng, registrar)
        self._live = Reporter(self._rng, tag=f"{run}live", haste=LIVE_HASTE)
        self._queues = {slug: deque(_shuffled(self._rng, program)) for slug, program in self.cast.items()}
        self._stories: deque[Story] = deque(mischief.EVERY_STORY)
        self._once: deque[Story] = deque(mischief.TOLD_ONCE if run == 1 else ())
        self._coming: deque[Move] = deque()
        self._made = self._askable = 0

    def history(self, until: int, *, days: int = HISTORY_DAYS) -> list[Delivery]:
        """Every event of the days before ``until``, in the order in which they are delivered."""
        first = until - days * DAY_US
        reporter = Reporter(self._rng, tag=f"{self._tag}h")
        deliveries = [delivery for program in self.cast.values() for delivery in _founding(program, reporter, first)]
        deliveries += _denial(self.cast[REMITTANCE], reporter, first)
        moves = [
            move
            for program in self.cast.values()
            for move in everyday.history_of(program, self._rng, first=first + DAY_US, last=until)
        ]
        moves += [move for move in self._early_mischief(first) if move.at < until]
        for move in sorted(moves, key=_at):
            deliveries += reporter.report(move)
        self._live.on_file(reporter)
        return sorted((delivery for delivery in deliveries if delivery.due_at <= until), key=_due_at)

    def next_move(self, at: int) -> Move:
        """What happens next. Now and then that is the beginning of a story, whose other moves come in between."""
        self._made += 1
        if self._made % MISCHIEF_IN == 0 and not self._coming:
            self._coming.extend(self._next_story()(self._strangers, self.cast, at, LIVE_GAP_US))
        if self._coming and self._coming[0].at <= at:
            return msgspec.structs.replace(self._coming.popleft(), at=at)
        program = self._next_program()
        queue = self._queues[program.slug]
        party = queue[0]
        queue.rotate(-1)
        return everyday.one_of(program, self._rng, party, at)

    def asks_first(self, move: Move) -> bool:
        """Whether a pre-flight is asked before this one: about one in ten of those that are sent and not spent."""
        return (
            self._rng.randrange(ASKED_IN) == 0 and not move.incoming and move.family not in (Family.CARD, Family.BOOK)
        )

    def knows(self, move: Move) -> bool:
        return self._live.knows(move)

    def report(self, move: Move, at: int) -> list[Delivery]:
        """The events of a live move that is created at ``at``."""
        return self._live.report(msgspec.structs.replace(move, at=at))

    def _next_story(self) -> Story:
        if self._once and self._made % (2 * MISCHIEF_IN) == 0:
            return self._once.popleft()
        self._stories.rotate(-1)
        return self._stories[-1]

    def _next_program(self) -> Program:
        dice = self._rng.random()
        for slug, share in SHARE_OF_PROGRAM.items():
            dice -= share
            if dice < 0:
                return self.cast[slug]
        return next(program for slug, program in self.cast.items() if slug not in SHARE_OF_PROGRAM)

    def _early_mischief(self, first: int) -> Iterator[Move]:
        """What the crew did in the months before: honest beginnings, then a first try of some stories."""
        for program in self.cast.values():
            for role, party in program.crew.items():
                months = DAY_US if role.startswith("dormant") else 95 * DAY_US
                times = BUSY_TIMES if role == "burst" else 1  # A burst is one against a usual pace that is known.
                yield from everyday.history_of(
                    msgspec.structs.replace(program, everyday=(party,) * times, crew={}),
                    self._rng,
                    first=first + DAY_US,
                    last=first + DAY_US + months,
                )
        for role in ("dormant", "dormant_2"):
            party = self.cast[PAYROLL].crew[role]
            yield everyday.one_of(self.cast[PAYROLL], self._rng, party, first + DAY_US + HOUR_US)
        for place, story in enumerate(mischief.TOLD_IN_HISTORY):
            yield from story(self._strangers, self.cast, first + (62 + 5 * place) * DAY_US, 40 * MINUTE_US)


def _founding(program: Program, reporter: Reporter, first: int) -> Iterator[Delivery]:
    """Every entity's creation and verification, and its account."""
    everyone: list[Party] = [*program.everyday, *program.crew.values()]
    for place, party in enumerate(everyone):
        at = first + place * MINUTE_US
        verified_at = at + MINUTE_US // 2
        pending = objects.entity(party, status="PENDING", created_at=at, updated_at=at)
        verified = objects.entity(party, status="VERIFIED", created_at=at, updated_at=verified_at)
        yield reporter.event(program.slug, "identity.created", pending, at)
        yield reporter.event(program.slug, "identity.verification.verified", verified, verified_at)
        yield reporter.event(program.slug, "account.created", objects.account(party, at=verified_at), verified_at)


def _denial(program: Program, reporter: Reporter, first: int) -> list[Delivery]:
    party, at = program.crew["denied"], first + DENIED_ON_DAY * DAY_US
    denied = objects.entity(party, status="DENIED", created_at=first, updated_at=at)
    return [reporter.event(program.slug, "identity.verification.denied", denied, at)]


def _shuffled(rng: Random, program: Program) -> list[Party]:
    everyone = list(program.everyday)
    rng.shuffle(everyone)
    return everyone


def _at(move: Move) -> int:
    return move.at


def _due_at(delivery: Delivery) -> int:
    return delivery.due_at
