"""The additive scorecard that the scorers of actors share: rules that add up, caps, a ceiling and a floor.

Unit    points 0-100, integers; None below the least number of observations, because unscored is not clear
Errors  none: all inputs have an answer, and the same inputs always the same one
Source  named with each reason; [P] is proposed here, to be tuned on labels
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from features.core.reason import Reason, Score
from features.scorers.families import Family
from features.scorers.rule import ReasonKind
from features.scorers.scorecard import CEILING, FamilyCap, cap_reasons, confidence_of, in_order, limits_of

Inputs = TypeVar("Inputs")


class ActorRule(NamedTuple, Generic[Inputs]):
    """One signal. ``fires`` says whether, or, for a kind without a weight of its own, with how many points.

    The sentence, the kind's meaning if there is nothing to add, is only built when a record is written.
    """

    kind: ReasonKind
    fires: Callable[[Inputs], int]
    sentence: Callable[[Inputs], str] | None = None

    def points(self, inputs: Inputs) -> int:
        fires = self.fires(inputs)
        return self.kind.weights[0] if fires and self.kind.weights else int(fires)


class RuleGroup(NamedTuple, Generic[Inputs]):
    """Rules that are checked together. When ``may_fire`` is false, none of them fires: most inputs are quiet."""

    may_fire: Callable[[Inputs], object]
    rules: tuple[ActorRule[Inputs], ...]


Fired = list[tuple[ActorRule[Inputs], int]]
Weighed = tuple[int | None, bool, Fired[Inputs]]
"""A score before its reasons are worded: points, whether a hard signal fired, and the rules that did.

Below the least number of observations there are no points, and hard rules alone are asked.
"""


class Scorecard(Generic[Inputs]):
    """One scorer. ``overlaps`` take points away after the caps; ``n`` names the input that counts observations."""

    def __init__(
        self,
        version: str,
        groups: tuple[RuleGroup[Inputs], ...],
        caps: Mapping[Family, FamilyCap],
        *,
        n: str,
        least: int,
        overlaps: RuleGroup[Inputs] | None = None,
    ) -> None:
        prefix = version[: version.index("-")].upper()
        self.version, self.groups, self.caps, self.overlaps = version, groups, caps, overlaps
        self.limits = limits_of(prefix)
        self._n: Callable[[Inputs], int] = attrgetter(n)
        self._least = least
        every = groups if overlaps is None else (*groups, overlaps)
        self._checks = tuple((may_fire, tuple(_check_of(rule) for rule in rules)) for may_fire, rules in every)
        self._hard_checks = tuple(check for _, checks in self._checks for check in checks if check[0].kind.hard)

    @property
    def reasons(self) -> tuple[ReasonKind, ...]:
        """Every reason that the scorer can give."""
        groups = self.groups if self.overlaps is None else (*self.groups, self.overlaps)
        rules = (rule.kind for group in groups for rule in group.rules)
        return (*rules, *(cap.kind for cap in self.caps.values()), *self.limits)

    def weigh(self, inputs: Inputs) -> Weighed[Inputs]:
        """The points alone, for a caller that only compares them with the last ones."""
        if self._n(inputs) < self._least:
            hard = [(rule, weight) for rule, fires, weight in self._hard_checks if fires(inputs)]
            return None, bool(hard), hard
        fired = [
            (rule, weight or int(points))
            for may_fire, rules in self._checks
            if may_fire(inputs)
            for rule, fires, weight in rules
            if (points := fires(inputs))
        ]
        if not fired:
            return 0, False, fired
        total = _total(fired)
        if len(fired) > 1:
            total += sum(cut.weight for cut in self._cap_reasons(fired))
        return min(CEILING, max(0, total)), _is_hard(fired), fired

    def score(self, inputs: Inputs, *, degraded: bool = False) -> Score:
        """The points with all their reasons, caps and limits among them; ``degraded`` halves the confidence."""
        return self.explain(inputs, self.weigh(inputs), degraded=degraded)

    def explain(self, inputs: Inputs, weighed: Weighed[Inputs], *, degraded: bool = False) -> Score:
        """The score with its reasons; a null score still lists the hard ones."""
        value, _, fired = weighed
        n = self._n(inputs)
        if value is None:
            hard = [_reason(inputs, rule, points) for rule, points in fired]
            return Score(version=self.version, value=None, n=n, confidence=None, reasons=in_order(hard))
        reasons = [_reason(inputs, rule, points) for rule, points in fired]
        if len(reasons) > 1:
            reasons += self._cap_reasons(fired)
        limited = self.limits.reason(sum([reason.weight for reason in reasons]))
        if limited is not None:
            reasons.append(limited)
        confidence = confidence_of(n, degraded=degraded)
        return Score(version=self.version, value=value, n=n, confidence=confidence, reasons=in_order(reasons))

    def _cap_reasons(self, fired: Fired[Inputs]) -> list[Reason]:
        points: dict[Family | None, int] = {}
        for rule, added in fired:
            family = rule.kind.family
            points[family] = points.get(family, 0) + added
        return cap_reasons(points, self.caps)


def _check_of(rule: ActorRule[Inputs]) -> tuple[ActorRule[Inputs], Callable[[Inputs], int], int]:
    """The rule with its check and its weight; 0 for a kind whose weight is worked out."""
    return rule, rule.fires, rule.kind.weights[0] if rule.kind.weights else 0


def _is_hard(fired: Fired[Inputs]) -> bool:
    return any([rule.kind.hard for rule, _ in fired])  # noqa: C419 - a list costs half as much


def _total(fired: Fired[Inputs]) -> int:
    return sum([points for _, points in fired])


def _reason(inputs: Inputs, rule: ActorRule[Inputs], points: int) -> Reason:
    sentence = rule.kind.meaning if rule.sentence is None else rule.sentence(inputs)
    return rule.kind.reason(sentence, points)
