"""The additive scorecard that the scorers of actors share: rules that add up, caps, a ceiling and a floor.

Unit    points 0-100, integers; None below the least number of observations, because unscored is not clear
Errors  none: all inputs have an answer, and the same inputs always the same one
Source  named with each reason; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Callable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from features.reason import Reason, Score
from features.scorers.families import Family
from features.scorers.rule import ReasonKind

CREDIBILITY_K: Final = 20
CEILING: Final = 100
PROPOSED: Final = "[P]"

Inputs = TypeVar("Inputs")


class ActorRule(NamedTuple, Generic[Inputs]):
    """One signal. ``fires`` says whether, or, for a kind without a weight of its own, with how many points.

    The sentence, the kind's meaning if there is nothing to add, is only asked for when a record is written.
    """

    kind: ReasonKind
    fires: Callable[[Inputs], int]
    sentence: Callable[[Inputs], str] | None = None

    def points(self, inputs: Inputs) -> int:
        found = self.fires(inputs)
        return self.kind.weights[0] if found and self.kind.weights else int(found)


class FamilyCap(NamedTuple):
    """The most points that one family of signals may add."""

    kind: ReasonKind
    points: int


class Outcome(NamedTuple):
    """A score without its reasons."""

    value: int | None
    hard: bool


class Scorecard(Generic[Inputs]):
    """One scorer. ``overlaps`` take points away after the caps; ``least`` is how many observations a score needs."""

    def __init__(
        self,
        version: str,
        rules: tuple[ActorRule[Inputs], ...],
        caps: Mapping[Family, FamilyCap],
        *,
        observations: Callable[[Inputs], int],
        least: int,
        overlaps: tuple[ActorRule[Inputs], ...] = (),
    ) -> None:
        prefix = version[: version.index("-")].upper()
        self.version, self.rules, self.caps, self.overlaps = version, rules, caps, overlaps
        self.ceiling = ReasonKind(f"{prefix}-CAP-99", "ceiling", (), None, f"Points above {CEILING} are cut.", PROPOSED)
        self.floor = ReasonKind(f"{prefix}-CAP-00", "floor", (), None, "Points below 0 are raised to 0.", PROPOSED)
        self._observations, self._least = observations, least

    @property
    def reasons(self) -> tuple[ReasonKind, ...]:
        """Every reason that the scorer can give."""
        rules = (rule.kind for rule in (*self.rules, *self.overlaps))
        return (*rules, *(cap.kind for cap in self.caps.values()), self.ceiling, self.floor)

    def outcome(self, inputs: Inputs) -> Outcome:
        """The points alone: what must be known after every transfer, when most scores stay as they are."""
        fired = self._fired(inputs)
        hard = any(rule.kind.hard for rule, _ in fired)
        if self._observations(inputs) < self._least:
            return Outcome(None, hard)
        return Outcome(min(CEILING, max(0, self._total(inputs, fired))) if fired else 0, hard)

    def score(self, inputs: Inputs, *, degraded: bool = False) -> Score:
        """The points with all their reasons, caps and limits among them; ``degraded`` halves the confidence."""
        fired = self._fired(inputs)
        n = self._observations(inputs)
        if n < self._least:
            hard = [_reason(inputs, rule, points) for rule, points in fired if rule.kind.hard]
            return Score(version=self.version, value=None, n=n, confidence=None, reasons=in_order(hard))
        reasons = [_reason(inputs, rule, points) for rule, points in (*fired, *self._overlapping(inputs))]
        reasons += self._cuts(fired)
        total = sum(reason.weight for reason in reasons)
        if total > CEILING:
            reasons.append(self.ceiling.reason(f"Points above {CEILING} are cut ({total} in all).", CEILING - total))
        elif total < 0:
            reasons.append(self.floor.reason(self.floor.meaning, -total))
        value = min(CEILING, max(0, total))
        confidence = round(round(n / (n + CREDIBILITY_K), 2) * (0.5 if degraded else 1.0), 3)
        return Score(version=self.version, value=value, n=n, confidence=confidence, reasons=in_order(reasons))

    def _fired(self, inputs: Inputs) -> list[tuple[ActorRule[Inputs], int]]:
        return [
            (rule, rule.kind.weights[0] if rule.kind.weights else int(found))
            for rule in self.rules
            if (found := rule.fires(inputs))
        ]

    def _overlapping(self, inputs: Inputs) -> list[tuple[ActorRule[Inputs], int]]:
        return [(rule, points) for rule in self.overlaps if (points := rule.points(inputs))]

    def _total(self, inputs: Inputs, fired: list[tuple[ActorRule[Inputs], int]]) -> int:
        added = sum(points for _, points in (*fired, *self._overlapping(inputs)))
        return added + sum(reason.weight for reason in self._cuts(fired))

    def _cuts(self, fired: list[tuple[ActorRule[Inputs], int]]) -> list[Reason]:
        """The caps that were passed, with the points they take away."""
        found: list[Reason] = []
        for family, (kind, most) in self.caps.items():
            points = sum(points for rule, points in fired if rule.kind.family is family)
            if points > most:
                sentence = f"Signals of the family {family.value} count for at most {most} points ({points} in all)."
                found.append(kind.reason(sentence, most - points))
        return found


def family_cap(reason_id: str, family: Family, points: int) -> FamilyCap:
    meaning = f"Signals of the family {family.value} count for at most {points} points."
    return FamilyCap(ReasonKind(reason_id, f"cap_{family.value}", (), family, meaning, PROPOSED), points)


def in_order(reasons: list[Reason]) -> tuple[Reason, ...]:
    """By weight descending, then by id."""
    return tuple(sorted(reasons, key=lambda reason: (-reason.weight, reason.id)))


def _reason(inputs: Inputs, rule: ActorRule[Inputs], points: int) -> Reason:
    sentence = rule.kind.meaning if rule.sentence is None else rule.sentence(inputs)
    return rule.kind.reason(sentence, points)
