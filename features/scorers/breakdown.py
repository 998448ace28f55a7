"""The points of a score by family, with the rest that its caps leave, as a sum that can be taken apart.

Unit    points
Errors  none
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from clearhold.features.core.vocabulary import Reason
from clearhold.features.scorers.engine import CompiledCard, uncounted_in
from clearhold.features.scorers.signal import Family


class CountedSignal(NamedTuple):
    """A signal with its points, and those of them that do not count because the signal is common."""

    reason: Reason
    family: Family | None
    fact: str | None
    uncounted: int

    @property
    def counting(self) -> int:
        return self.reason.weight - self.uncounted


class FamilyPoints(NamedTuple):
    """A family with its signals, the most points first. ``counts`` is the rest of its points after its caps."""

    family: Family | None
    points: int
    cap: int | None
    counts: int
    reasons: tuple[Reason, ...]
    taken: tuple[Reason, ...]


class Breakdown:
    """A scored subject's reasons as a sum that can be taken apart.

    ``common`` are the ids of the signals that are common around the subject, None when only the score is known: then
    those are common that lost points by it, which are all of them where none of their points count.
    """

    def __init__(
        self, card: CompiledCard[Any], value: int | None, reasons: Sequence[Reason], common: Collection[str] | None
    ) -> None:
        self.card, self.value = card, value
        signals = card.scorer.signals
        by_id = {reason.id: reason for reason in reasons}
        fired = [by_id[signal_id] for signal_id in signals if signal_id in by_id]
        lost = uncounted_in(reasons, card)
        self.common = frozenset(lost if common is None else common)
        self.is_known = common is not None or not lost or not card.common_points
        fact_of = {each: fact.name for fact in card.facts for each in fact.signals}
        self.counted = [
            CountedSignal(each, signals[each.id].family, fact_of.get(each.id), lost.get(each.id, 0)) for each in fired
        ]
        self._facts = {fact.name: most for fact, most in card.facts.items()}
        self.overlaps = {
            overlap.family: -by_id[overlap.id].weight for overlap in card.scorer.overlaps if overlap.id in by_id
        }
        self._lenders = {overlap.lender for overlap in card.scorer.overlaps if overlap.id in by_id}
        self.taken = [reason for reason in reasons if reason.id not in signals]

    def fact_cap(self, fact: str) -> int:
        return self._facts[fact]

    @property
    def lender(self) -> str | None:
        """The signal that shares points with families, if they do."""
        return next(iter(self._lenders), None)

    @property
    def is_coupled(self) -> bool:
        """Whether the points of common signals depend on each other."""
        most = self.card.common_points
        positive = (each.reason.weight for each in self.counted if each.reason.id in self.common)
        return bool(most) and any(each.uncounted for each in self.counted) and any(points > 0 for points in positive)

    def families(self) -> tuple[FamilyPoints, ...]:
        """By the points that count, the most first."""
        groups: dict[Family | None, list[CountedSignal]] = {}
        for each in self.counted:
            groups.setdefault(each.family, []).append(each)
        families = self.card.scorer.families
        names = {overlap.id: overlap.family for overlap in self.card.scorer.overlaps}
        rows = [
            FamilyPoints(
                family,
                sum(each.reason.weight for each in members),
                None if family is None else self.card.caps.get(family),
                self._of_family(family, members, shared=self.overlaps),
                tuple(sorted((each.reason for each in members), key=lambda reason: (-reason.weight, reason.id))),
                tuple(each for each in self.taken if family and family in (families.get(each.id), names.get(each.id))),
            )
            for family, members in groups.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.counts, -row.points, row.family or "")))

    def total(self, without: Collection[str] = ()) -> int:
        """The points before the ceiling and the floor, as the card adds them up without these signals."""
        left = self.card.common_points
        kept: dict[Family | None, list[CountedSignal]] = {}
        for each in self.counted:
            if each.reason.id in without:
                continue
            member = each
            if left is not None and self.is_known and each.reason.weight > 0 and each.reason.id in self.common:
                counts = min(each.reason.weight, left)
                left -= counts
                member = each._replace(uncounted=each.reason.weight - counts)
            kept.setdefault(each.family, []).append(member)
        shared = {} if self.lender in without else self.overlaps
        return sum(self._of_family(family, members, shared=shared) for family, members in kept.items())

    def _of_family(self, family: Family | None, members: Iterable[CountedSignal], *, shared: dict[Family, int]) -> int:
        own, by_fact = 0, dict[str, int]()
        for each in members:
            if each.fact is None:
                own += each.counting
            else:
                by_fact[each.fact] = by_fact.get(each.fact, 0) + each.counting
        own += sum(min(points, self._facts[fact]) for fact, points in by_fact.items())
        return self.capped(family, own, shared)

    def capped(self, family: Family | None, own: int, shared: dict[Family, int]) -> int:
        """What a family counts of its points."""
        if family is None:
            return own
        most = min(own, self.card.caps.get(family, own))
        return most - max(0, min(shared.get(family, 0), most))
