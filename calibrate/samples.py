"""Labelled scorings as columns of numbers: what every signal measured, by the engine that scores.

Unit    a row a transfer, in the order of time; a measure that was not taken is NaN
Label   one of a transfer younger than 60 days is provisional and counts as no label: an ok may still come back, and if
        the bad alone counted, the newest time would have no others
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.canonical import MAX_INTEGER
from clearhold.features.core.instants import DAYS_60
from clearhold.features.core.scorecards import Bin, CardSignal, Scorecard
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.signal import Signal
from clearhold.store.duck.scorings.labelled import LabelledScoring, LabelledScorings

MATURE_AFTER: Final = DAYS_60
BAD, OK, NO_LABEL, PROVISIONAL = 1, 0, -1, -2
UNSCORED: Final = -1
"""In a column of scores."""

Column = npt.NDArray[Any]

_KINDS: Final[tuple[Any, ...]] = (np.uint64, np.int64, np.int8, np.str_, np.int16, np.int64, np.bool_)


class Samples(NamedTuple):
    """``score`` is the champion's; ``measures`` has a column for each of ``signal_ids``."""

    key: Column
    at: Column
    label: Column
    source: Column
    score: Column
    cents: Column
    is_first_pair: Column
    measures: Column
    signal_ids: tuple[str, ...]

    def where(self, rows: Column) -> "Samples":
        *columns, signal_ids = self
        return Samples._make((*(column[rows] for column in columns), signal_ids))

    @property
    def sha256(self) -> str:
        digest = sha256(repr(self.signal_ids).encode())
        for column in (self.key, self.at, self.label, self.measures):
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    @property
    def is_labelled(self) -> Column:
        return np.asarray(self.label >= OK)

    @property
    def is_scored(self) -> Column:
        return np.asarray(self.score != UNSCORED)


def measure_all(
    scorings: LabelledScorings, champion: CompiledCard[FeatureVector], now: int, done: Callable[[int], None]
) -> Samples:
    """Every signal of every scoring, and the champion's score of it."""
    probe = _probe_of(champion)
    columns = {signal_id: place for place, signal_id in enumerate(probe.weighed)}
    rows, matrix = [], np.full((scorings.total, len(columns)), np.nan)
    for place, each in enumerate(scorings):
        vector = each.vector
        for signal, value, _ in probe.weigh(vector)[3]:
            matrix[place, columns[signal.id]] = value
        first = vector.counterparty_first_time if vector.pair_first_time is None else vector.pair_first_time
        rows.append(
            (
                key_of(each),
                each.at,
                _label_of(each, now),
                each.source or "",
                _number(champion.weigh(vector)[0]),
                vector.amount_cents or 0,
                bool(first),
            )
        )
        done(1)
    columns_of_rows = (np.array([row[place] for row in rows], kind) for place, kind in enumerate(_KINDS))
    samples = Samples._make((*columns_of_rows, matrix, tuple(columns)))
    return samples.where(np.lexsort((samples.key, samples.at)))


def inputs_of(samples: Samples, signals: Mapping[str, Signal[FeatureVector]]) -> Column:
    """The measures for comparison: where more is worse, an unmeasured value says as little as 0."""
    inputs: Column = samples.measures.copy()
    for place, signal_id in enumerate(samples.signal_ids):
        if signals[signal_id].rises:
            inputs[:, place] = np.maximum(np.nan_to_num(inputs[:, place], nan=0.0), 0.0)
    return inputs


def scores_by(
    card: CompiledCard[FeatureVector],
    scorings: Iterable[LabelledScoring],
    samples: Samples,
    done: Callable[[int], None],
) -> Column:
    """The score that a card gives to each of the samples, whose scorings are read once more."""
    scores: dict[int, int] = {}
    for each in scorings:
        scores[key_of(each)] = _number(card.weigh(each.vector)[0])
        done(1)
    return np.array([scores[key] for key in samples.key.tolist()], np.int16)


def key_of(each: LabelledScoring) -> int:
    """What tells transfers apart, and breaks ties the same way in every run."""
    text = f"{each.program_id}\n{each.transfer_id}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _probe_of(champion: CompiledCard[FeatureVector]) -> CompiledCard[FeatureVector]:
    """A card under which everything that is measured counts, for nothing: it brings the measures to light."""
    everything = Bin(at_least=-MAX_INTEGER, points=0)
    signals = tuple(
        CardSignal(id=signal.id, bins=(everything,))
        for signal in champion.scorer.signals.values()
        if not signal.worked_out
    )
    floor = None if champion.card.program_floor is None else 1
    card: Scorecard = msgspec.structs.replace(champion.card, floor=1, program_floor=floor, caps=(), signals=signals)
    return CompiledCard(champion.scorer, card, champion.version)


def _label_of(each: LabelledScoring, now: int) -> int:
    if each.is_bad is None:
        return NO_LABEL
    if each.at > now - MATURE_AFTER:
        return PROVISIONAL
    return BAD if each.is_bad else OK


def _number(score: int | None) -> int:
    return UNSCORED if score is None else score
