"""The cases of an actor's scorecard, and what holds for every score of it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from hypothesis.strategies import SearchStrategy

from features.core.reason import Reason, Score
from features.scorers.actor_scorecard import Scorecard

Inputs = TypeVar("Inputs")


class SignalCase(NamedTuple):
    """Inputs on which a signal fires with a weight, and inputs one short of its line."""

    reason_id: str
    weight: int
    fires: Mapping[str, Any]
    misses: Mapping[str, Any]


class ScorecardCases(NamedTuple, Generic[Inputs]):
    """One scorecard: quiet inputs, a case for each signal, and a strategy for inputs of any kind.

    ``least`` is the least number of observations that is scored, and ``n_of`` reads that number.
    """

    card: Scorecard[Inputs]
    score_of: Callable[[Inputs], Score]
    inputs_of: Callable[..., Inputs]
    quiet: Mapping[str, Any]
    quiet_n: int
    quiet_confidence: float
    least: int
    n_of: Callable[[Inputs], int]
    signals: tuple[SignalCase, ...]
    any_inputs: SearchStrategy[Inputs]

    def score(self, over: Mapping[str, Any]) -> Score:
        """The score of the quiet inputs, with these in their place."""
        return self.score_of(self.inputs_of(**{**self.quiet, **over}))


def found(score: Score, reason_id: str) -> list[Reason]:
    return [reason for reason in score.reasons if reason.id == reason_id]


def weights(score: Score) -> dict[str, int]:
    return {reason.id: reason.weight for reason in score.reasons}


def assert_sound(card: Scorecard[Inputs], inputs: Inputs, *, n: int, least: int) -> None:
    """The sum, the bounds, the order, the floor, and that nothing fires where a group says that nothing may."""
    score, weighed = card.score(inputs), card.weigh(inputs)
    kinds = {kind.id: kind for kind in card.reasons}

    assert (score.value, score.hard, score.n) == (*weighed[:2], n)
    assert (score.value is None) == (score.confidence is None) == (n < least)
    if score.value is None:
        assert all(reason.hard for reason in score.reasons)
    else:
        assert 0 <= score.value <= 100
        assert sum(reason.weight for reason in score.reasons) == score.value
    for reason in score.reasons:
        kind = kinds[reason.id]
        assert (reason.signal, reason.hard) == (kind.signal, kind.hard)
        assert reason.weight in kind.weights or (not kind.weights and reason.weight != 0)
        assert reason.sentence.endswith(".")
        assert "None" not in reason.sentence
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)
    assert len({reason.id for reason in score.reasons}) == len(order)
    rules = [rule for group in card.groups for rule in group.rules if rule.kind.hard or score.value is not None]
    asked_alone = {rule.kind.id for rule in rules if rule.fires(inputs)}  # under the floor, hard rules alone
    assert asked_alone == {rule.kind.id for rule, _ in weighed[2]} - _overlaps(card)
    assert card.score(inputs) == score


def assert_complete(card: Scorecard[Inputs], tested: Iterable[str]) -> None:
    """Every signal has a case, every reason an id of its own and the shape of one."""
    ids = [kind.id for kind in card.reasons]
    prefix = card.version[:3].upper()

    assert len(set(ids)) == len(ids)
    assert all(reason_id.startswith(f"{prefix}-") for reason_id in ids)
    assert set(tested) == {rule.kind.id for group in card.groups for rule in group.rules}


def _overlaps(card: Scorecard[Inputs]) -> set[str]:
    return set() if card.overlaps is None else {rule.kind.id for rule in card.overlaps.rules}
