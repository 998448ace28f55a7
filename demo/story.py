"""A story: a name, its moves, and the detectors that must open an alert on them."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from clearhold.demo.moves import Move
from clearhold.demo.parties import Other, Party, Program, Registrar

Cast = dict[str, Program]


class Tempo(msgspec.Struct, frozen=True):
    """The pace of a story: the time between two moves, and the length of a day of the bank's waiting."""

    gap_us: int
    day_us: int


class Strangers(msgspec.Struct, frozen=True):
    """The source of new counterparties."""

    rng: Random
    registrar: Registrar

    def someone(self, *, country: str = "US") -> Other:
        return self.registrar.other(self.registrar.person_name(), country=country)

    def imposter(self, vendor: Other) -> Other:
        """The vendor's name over another account."""
        return self.registrar.other(vendor.name, business=vendor.business)


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """It is caught when one of ``detectors`` opens an alert on one of its moves, or joins one."""

    name: str
    detectors: tuple[str, ...]
    moves: Callable[[Strangers, Cast, int, Tempo], list[Move]]

    def tell(self, strangers: Strangers, cast: Cast, at: int, tempo: Tempo, *, telling: str) -> list[Move]:
        """Its moves, the first one at ``at``; the last one that can have a pre-flight has one."""
        moves = sorted(self.moves(strangers, cast, at, tempo), key=lambda move: move.at)
        askable = [place for place, move in enumerate(moves) if move.is_askable]
        asked = askable[-1] if askable else None
        return [
            msgspec.structs.replace(
                move, story=self.name, telling=telling, asked=place == asked, closes=place == len(moves) - 1
            )
            for place, move in enumerate(moves)
        ]


def out(party: Party, other: Other, at: int) -> Callable[..., Move]:
    def make(**rest: Any) -> Move:
        return Move(at=at, party=party, other=other, note="transfer", **rest)

    return make
