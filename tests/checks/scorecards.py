"""The cases of an actor's scorecard, and what holds for every score of it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from hypothesis.strategies import SearchStrategy

from clearhold.features.core.vocabulary import Reason, Score
from clearhold.features.scorers.engine import CompiledCard

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

    card: CompiledCard[Inputs]
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


def assert_sound(card: CompiledCard[Inputs], inputs: Inputs, *, n: int, least: int) -> None:
    """The sum, the bounds, the order, the floor, and that nothing fires where a group says that nothing may."""
    score, weighed, signals = card.score(inputs), card.weigh(inputs), card.scorer.signals

    assert (score.value, score.hard, score.n) == (*weighed[:2], n)
    assert (score.value is None) == (score.confidence is None) == (n < least)
    if score.value is None:
        assert all(reason.hard for reason in score.reasons)
    else:
        assert 0 <= score.value <= 100
        assert sum(reason.weight for reason in score.reasons) == score.value
    for reason in score.reasons:
        signal = signals.get(reason.id)
        assert reason.weight in {each.points for each in card.bins_of(reason.id)} or signal is None or signal.worked_out
        assert reason.hard == (signal is not None and signal.hard)
        assert signal is None or reason.signal == signal.name
        assert reason.sentence.endswith(".")
        assert "None" not in reason.sentence
    order = [(-reason.weight, reason.id) for reason in score.reasons]
    assert order == sorted(order)
    assert len({reason.id for reason in score.reasons}) == len(order)
    counting = [signal for signal in signals.values() if signal.hard or score.value is not None]
    alone = {signal.id for signal in counting if (signal.measure(inputs) or 0) >= card.weighed[signal.id].least}
    assert alone == {signal.id for signal, _, _ in weighed[3]}
    assert card.score(inputs) == score


def assert_complete(card: CompiledCard[Inputs], tested: Iterable[str]) -> None:
    """Every signal has a case, every reason an id of its own and the shape of one."""
    ids = [*(each.id for group in card.scorer.groups for each in group.signals), *map(card.scorer.cap_id, card.caps)]

    assert len(set(ids)) == len(ids)
    assert all(reason_id.startswith(f"{card.scorer.prefix}-") for reason_id in ids)
    assert set(tested) == set(card.scorer.signals)
