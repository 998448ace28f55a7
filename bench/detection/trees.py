"""Gradient-boosted trees over the fields of the vectors and over the signals: what labels could reach without a card.

Learnt   from the first 60 % of the time, as a card is, without the fields that are a world's shortcuts
Alone    how well each field alone tells bad transfers from the others: the area under its curve (AUC), which is 0.5
         by chance. A generator that gives its answer away shows here
Source   Friedman, Greedy Function Approximation, 2001; the area is the statistic of Mann and Whitney, 1947
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from bench.detection.data import Known, hash_of
from clearhold.calibrate.samples import BAD, Column, Samples
from clearhold.features.catalogue.vector import FEATURES

ROUNDS: Final = 150
LEARNING_RATE: Final = 0.07
FEWEST_IN_LEAF: Final = 20
FEWEST: Final = 5  # bad and other transfers that an area needs
MOST_WORDS: Final = 32  # of a field of text; one with more names its parties


class Field(NamedTuple):
    """``area`` of its measured values, and ``measured`` of whether it is measured at all; None of too few."""

    name: str
    area: float | None
    measured: float | None

    @property
    def apart(self) -> float:
        """How far the better of the two is from chance."""
        return max((abs(each - 0.5) for each in (self.area, self.measured) if each is not None), default=0.0)


class Fields:
    """The vectors of a file as numbers, a row a transfer in the order of time."""

    def __init__(self, path: Path, known: Known, left_out: Collection[str]) -> None:
        frame = pl.read_parquet(path)
        ids = zip(frame["program_id"].to_list(), frame["transfer_id"].to_list(), strict=True)
        frame = frame.with_columns(
            pl.Series("key", [hash_of(f"{program}\n{transfer}") for program, transfer in ids], pl.UInt64),
            pl.Series("at", [known.time_of(transfer) for transfer in frame["transfer_id"].to_list()], pl.Int64),
        ).sort("at", "key")
        columns = {each.column: _numbers(frame[each.column]) for each in FEATURES if each.column not in left_out}
        self._columns = {name: column for name, column in columns.items() if column is not None}
        self.keys = frame["key"].to_list()
        self.is_bad = frame["is_bad"].to_numpy()
        self.is_before = frame["at"].to_numpy() <= known.fit_until

    def ranks(self) -> dict[int, float]:
        """Log-odds of bad by trees, by the hash of program and transfer."""
        inputs = np.column_stack(list(self._columns.values()))
        return dict(zip(self.keys, grown(inputs, self.is_bad, self.is_before).tolist(), strict=True))

    def alone(self) -> list[Field]:
        """Every field, on the last 40 % of the time; the one that tells most comes first."""
        told, bad = ~self.is_before, self.is_bad[~self.is_before]
        fields = [
            Field(name, area_under(column[told], bad), area_under((~np.isnan(column[told])).astype(float), bad))
            for name, column in self._columns.items()
        ]
        return sorted(fields, key=lambda field: (-field.apart, field.name))


def ranks_by_signals(samples: Samples, before: Column, left_out: Collection[str]) -> dict[int, float]:
    """As ``Fields.ranks``, over what the signals measure."""
    seen = [signal_id not in left_out for signal_id in samples.signal_ids]
    ranks = grown(samples.measures[:, seen], samples.label == BAD, before)
    return dict(zip(samples.key.tolist(), ranks.tolist(), strict=True))


def grown(inputs: Column, bad: Column, before: Column) -> Column:
    inputs = np.where(np.isnan(inputs[before]).all(axis=0), 0.0, inputs)  # a column of nothing has no edges
    trees = HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=FEWEST_IN_LEAF,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(1):
        trees.fit(inputs[before], bad[before])
        return np.asarray(trees.decision_function(inputs))


def area_under(values: Column, bad: Column) -> float | None:
    """The chance that a bad transfer has the larger value of it and another; equal values count half."""
    known = ~np.isnan(values)
    values, bad = values[known], bad[known]
    hits = int(bad.sum())
    if min(hits, len(bad) - hits) < FEWEST:
        return None
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[bad].sum() - hits * (hits + 1) / 2) / (hits * (len(bad) - hits)))


def _numbers(column: pl.Series) -> Any:
    """A text as the place of its word in order; None for one with too many."""
    if column.dtype != pl.String:
        return column.cast(pl.Float64).to_numpy()
    words = sorted(column.drop_nulls().unique().to_list())
    if len(words) > MOST_WORDS:
        return None
    places: Mapping[str, int] = {word: place for place, word in enumerate(words)}
    return column.replace_strict(places, return_dtype=pl.Float64).to_numpy() if words else None
