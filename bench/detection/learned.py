"""Rankings learned from the first 60 % of the time: the points of a card, and an outlier model.

Card     as ``clearhold calibrate`` fits it, without the signals that are a world's shortcuts
Forest   scikit-learn's isolation forest over the measures of all signals, without labels; the same seed in every run
Source   Liu, Ting and Zhou, Isolation Forest, 2008
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import numpy as np
from sklearn.ensemble import IsolationForest

from bench.detection.data import Known, hash_of
from clearhold.calibrate.fitting import fit_card
from clearhold.calibrate.samples import MATURE_AFTER, Column, Samples, inputs_of, measure_all
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.cards import compile_card, faults_of
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.trs_v1.scorer import DEFAULT, SCORER
from clearhold.store.duck.scorings.labelled import LabelledScorings

FITTED: Final = "fitted"
TREES: Final = 200
SEED: Final = 18
_NOT_MEASURED: Final = -1.0


class Learned(NamedTuple):
    """``oddness`` is by the hash of program and transfer, the more the odder."""

    card: CompiledCard[FeatureVector]
    oddness: Mapping[int, float]

    def oddness_of(self, program: str, transfer_id: str) -> float | None:
        return self.oddness.get(hash_of(f"{program}\n{transfer_id}"))


def learn(
    path: Path,
    known: Known,
    left_out: tuple[str, ...],
    card: CompiledCard[FeatureVector] | None,
    done: Callable[[int], None],
) -> Learned:
    """From the vectors of a file; a card that is given takes the place of one that is fitted."""
    now = known.last_at + MATURE_AFTER + 30 * DAY_US
    with closing(duckdb.connect(config={"threads": 1})) as connection:
        samples = measure_all(LabelledScorings.of_file(connection, path, (), now), DEFAULT, now, done)
    before = samples.where(samples.is_scored & (samples.at <= known.fit_until))
    if card is None:
        fitted = fit_card(before, DEFAULT, FITTED, left_out).card
        if faults := [f"{fault.path} {fault.sentence}" for fault in faults_of(fitted)]:
            raise SystemExit(f"The fitted card is invalid: {'; '.join(faults)}")
        card = compile_card(fitted, version=FITTED)
    oddness = _oddness(samples, before)
    return Learned(card, dict(zip(samples.key.tolist(), oddness.tolist(), strict=True)))


def _oddness(samples: Samples, before: Samples) -> Column:
    forest = IsolationForest(n_estimators=TREES, random_state=SEED, n_jobs=1).fit(_inputs(before))
    return np.asarray(-forest.score_samples(_inputs(samples)))


def _inputs(samples: Samples) -> Column:
    return np.nan_to_num(inputs_of(samples, SCORER.signals), nan=_NOT_MEASURED)
