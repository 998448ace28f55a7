"""The simulated bank: months of history at once, then moves one by one.

The same seed, start and calls give the same bytes. It never reads a clock.
"""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from clearhold.demo import everyday, stories
from clearhold.demo.moves import Move
from clearhold.demo.parties import PAYROLL, REMITTANCE, Other, Party, Program, Registrar, cast_of
from clearhold.demo.reporter import Delivery, Reporter
from clearhold.demo.story import Story, Strangers, Tempo
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.sandbox import objects

HISTORY_DAYS: Final = 97
DENIED_ON_DAY: Final = 60  # or at two thirds of a shorter history
SILENT_DAYS: Final = 93  # of history before an account can be dormant
BUSY_TIMES: Final = 6
MISCHIEF_IN: Final = 14
ASKED_IN: Final = 9  # of the everyday moves that can have a pre-flight
LIVE_HASTE: Final = 21_600  # A day of the bank's waiting passes in four seconds.
LIVE_GAP_US: Final = 2_000_000
HISTORY_TEMPO: Final = Tempo(40 * MINUTE_US, DAY_US)
SHARE_OF_PROGRAM: Final = {PAYROLL: 0.3, REMITTANCE: 0.4}  # of the live moves; lending has the rest


class SimulatedBank:
    """One bank, one run. ``run`` separates the ids of later runs on the same data.

    ``speed`` shortens the live phase's waiting further, for a pace that leaves less time between two moves.
    """

    def __init__(self, seed: int, *, run: int = 1, speed: float = 1.0) -> None:
        self.cast = cast_of(seed)
        self._rng = Random(f"{seed}:run:{run}")
        self._tag = f"{run}x"
        registrar = Registrar(self._rng, f"S{run}x")
        self._strangers = Strangers(self._rng, registrar)
        haste = int(LIVE_HASTE * speed)
        self._live = Reporter(self._rng, tag=f"{run}live", haste=haste)
        self._tempo = Tempo(int(LIVE_GAP_US / speed), DAY_US // haste)
        self._queues = {slug: deque(_shuffled(self._rng, program)) for slug, program in self.cast.items()}
        self._stories: deque[Story] = deque(stories.EVERY_STORY)
        self._once: deque[Story] = deque(stories.TOLD_ONCE if run == 1 else ())
        self._coming: list[Move] = []
        self._made = self._told = 0

    def history(self, until: int, *, days: int = HISTORY_DAYS) -> list[Delivery]:
        """Every event of the days before ``until``, in the order of delivery."""
        first = until - days * DAY_US
        if days < SILENT_DAYS:
            self._once = deque(story for story in self._once if story.name != stories.DORMANT)
        reporter = Reporter(self._rng, tag=f"{self._tag}h")
        deliveries = [delivery for program in self.cast.values() for delivery in _founding(program, reporter, first)]
        deliveries += _denial(self.cast[REMITTANCE], reporter, first, denied_at(first, days=days))
        moves = [
            move
            for program in self.cast.values()
            for move in everyday.history_of(program, self._rng, first=first + DAY_US, last=until)
        ]
        moves += [move for move in self._early_fraud(first) if move.at < until]
        for move in sorted(moves, key=_at):
            deliveries += reporter.report(move)
        self._live.on_file(reporter)
        return sorted((delivery for delivery in deliveries if delivery.due_at <= until), key=_due_at)

    def next_move(self, at: int) -> Move:
        """The next move; sometimes it begins a story, whose other moves follow between everyday ones."""
        self._made += 1
        if self._made % MISCHIEF_IN == 0:
            for move in self._tell(self._next_story(), at, self._tempo):
                insort(self._coming, move, key=_at)
        if self._coming and self._coming[0].at <= at:
            return msgspec.structs.replace(self._coming.pop(0), at=at)
        program = self._next_program()
        queue = self._queues[program.slug]
        party = queue[0]
        queue.rotate(-1)
        return everyday.one_of(program, self._rng, party, at)

    def asks_first(self, move: Move) -> bool:
        """Whether the move has a pre-flight: one in every story, and some everyday ones."""
        if move.story:
            return move.asked
        return move.is_askable and self._rng.randrange(ASKED_IN) == 0

    def knows(self, move: Move) -> bool:
        return self._live.knows(move)

    def newcomers(self) -> list[tuple[Other, int]]:
        """The new counterparties in reports since the last call, each with its time of creation."""
        return self._live.newcomers()

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

    def _early_fraud(self, first: int) -> Iterator[Move]:
        """The fraudulent parties' earlier months: honest beginnings, then a first try of some stories."""
        for program in self.cast.values():
            for role, party in program.crew.items():
                months = DAY_US if role.startswith("dormant") else 95 * DAY_US
                times = BUSY_TIMES if role == "burst" else 1  # A burst needs a known usual pace.
                yield from everyday.history_of(
                    msgspec.structs.replace(program, everyday=(party,) * times, crew={}),
                    self._rng,
                    first=first + DAY_US,
                    last=first + DAY_US + months,
                )
        for role in ("dormant", "dormant_2"):
            party = self.cast[PAYROLL].crew[role]
            yield everyday.one_of(self.cast[PAYROLL], self._rng, party, first + DAY_US + HOUR_US)
        for place, story in enumerate(stories.TOLD_IN_HISTORY):
            yield from self._tell(story, first + (62 + 5 * place) * DAY_US, HISTORY_TEMPO)

    def _tell(self, story: Story, at: int, tempo: Tempo) -> list[Move]:
        self._told += 1
        return story.tell(self._strangers, self.cast, at, tempo, telling=f"{self._tag}{self._told}")


def everyone_in(program: Program) -> list[Party]:
    return [*program.everyday, *program.crew.values()]


def _founding(program: Program, reporter: Reporter, first: int) -> Iterator[Delivery]:
    """Every entity's creation and verification. The bank sends nothing when an account is opened."""
    for place, party in enumerate(everyone_in(program)):
        at = first + place * MINUTE_US
        verified_at = at + MINUTE_US // 2
        pending = objects.entity(party, status="PENDING", created_at=at, updated_at=at)
        verified = objects.entity(party, status="VERIFIED", created_at=at, updated_at=verified_at)
        yield reporter.event(program.slug, "identity.created", pending, at)
        yield reporter.event(program.slug, "identity.verification.verified", verified, verified_at)


def denied_at(first: int, *, days: int) -> int:
    """The time at which the bank denies one entity."""
    return first + min(DENIED_ON_DAY * DAY_US, days * DAY_US * 2 // 3)


def _denial(program: Program, reporter: Reporter, first: int, at: int) -> list[Delivery]:
    party = program.crew["denied"]
    denied = objects.entity(party, status="DENIED", created_at=first, updated_at=at, is_high_risk=True)
    return [reporter.event(program.slug, "identity.verification.denied", denied, at)]


def _shuffled(rng: Random, program: Program) -> list[Party]:
    everyone = list(program.everyday)
    rng.shuffle(everyone)
    return everyone


def _at(move: Move) -> int:
    return move.at


def _due_at(delivery: Delivery) -> int:
    return delivery.due_at
