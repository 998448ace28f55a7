"""Labelled scorings as columns of numbers: what every signal measured, by the engine that scores.

Unit    a row a transfer, in the order of time; a measure that was not taken is NaN
Label   one of a transfer younger than 60 days is provisional and counts as no label: an ok may still come back, and if
        the bad alone counted, the newest time would have no others
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

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

_COLUMNS: Final[dict[str, Any]] = {
    "key": pl.UInt64,
    "at": pl.Int64,
    "label": pl.Int8,
    "source": pl.String,
    "score": pl.Int16,
    "cents": pl.Int64,
    "is_first_pair": pl.Boolean,
}


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

    def where(self, rows: Column | slice) -> "Samples":
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
    frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row").with_row_index("row").sort("at", "key")
    transfers = (frame[name].to_numpy() for name in _COLUMNS)
    return Samples._make((*transfers, matrix[frame["row"].to_numpy()], tuple(columns)))


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
) -> tuple[Column, dict[str, float]]:
    """The score that a card gives to each of the samples, whose scorings are read once more; and on which share of the
    scored ones each signal has points, those aside that are common there and count for nothing.
    """
    scores, given = dict[int, int](), Counter[str]()
    for each in scorings:
        score, _, _, fired, _ = card.weigh(each.vector)
        scores[key_of(each)] = _number(score)
        if score is not None:
            common = (each.vector.common_signals or "").split() if card.common_points == 0 else ()
            given.update(signal.id for signal, _, points in fired if points > 0 and signal.id not in common)
        done(1)
    column = np.array([scores[key] for key in samples.key.tolist()], np.int16)
    scored = max(1, int(np.count_nonzero(column != UNSCORED)))
    return column, {signal_id: count / scored for signal_id, count in given.items()}


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
