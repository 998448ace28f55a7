"""Rankings learned from the first 60 % of the time: the points of a card, an outlier model, and trees.

Card     as ``clearhold calibrate`` fits it, without the signals that are a world's shortcuts
Forest   scikit-learn's isolation forest over the measures of all signals, without labels; the same seed in every run
Trees    gradient-boosted, over the vectors and over the signals: what the labels hold, without a card
Source   Liu, Ting and Zhou, Isolation Forest, 2008
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import numpy as np
from sklearn.ensemble import IsolationForest

from bench.detection.data import Known, hash_of
from bench.detection.trees import Field, Fields, ranks_by_signals
from bench.detection.worlds import World
from clearhold.calibrate.fitting import fit_card
from clearhold.calibrate.request import NoCardError
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
    """The rankings are by the hash of program and transfer, the more the odder or the likelier bad. ``alone`` is how
    well each field tells bad transfers from others. Without a card ``no_card`` says why.
    """

    card: CompiledCard[FeatureVector] | None
    oddness: Mapping[int, float]
    by_trees: Mapping[int, float]
    by_signal_trees: Mapping[int, float]
    alone: Sequence[Field]
    no_card: str = ""

    def ranks_of(self, program: str, transfer_id: str) -> tuple[float | None, float | None, float | None]:
        """Oddness, and log-odds by trees over vectors and over signals."""
        key = hash_of(f"{program}\n{transfer_id}")
        return self.oddness.get(key), self.by_trees.get(key), self.by_signal_trees.get(key)


def only(card: CompiledCard[FeatureVector]) -> Learned:
    """A card, and nothing that was learned."""
    return Learned(card, {}, {}, {}, ())


def learn(
    path: Path,
    known: Known,
    world: World,
    card: CompiledCard[FeatureVector] | None,
    done: Callable[[int], None],
) -> Learned:
    """From the vectors of a file; a card that is given takes the place of one that is fitted."""
    now = known.last_at + MATURE_AFTER + 30 * DAY_US
    with closing(duckdb.connect(config={"threads": 1})) as connection:
        samples = measure_all(LabelledScorings.of_file(connection, path, (), now), DEFAULT, now, done)
    before = samples.where(samples.is_scored & (samples.at <= known.fit_until))
    no_card = ""
    if card is None:
        try:
            card = _fitted(before, world)
        except NoCardError as error:
            no_card = str(error)
    oddness = _oddness(samples, before)
    fields = Fields(path, known, world.left_out_fields)
    return Learned(
        card,
        dict(zip(samples.key.tolist(), oddness.tolist(), strict=True)),
        fields.ranks(),
        ranks_by_signals(samples, samples.at <= known.fit_until, world.left_out),
        fields.alone(),
        no_card,
    )


def _fitted(before: Samples, world: World) -> CompiledCard[FeatureVector]:
    fitted = fit_card(before, DEFAULT, FITTED, world.left_out).card
    if faults := [f"{fault.path} {fault.sentence}" for fault in faults_of(fitted)]:
        raise SystemExit(f"The fitted card is invalid: {'; '.join(faults)}")
    return compile_card(fitted, version=FITTED)


def _oddness(samples: Samples, before: Samples) -> Column:
    forest = IsolationForest(n_estimators=TREES, random_state=SEED, n_jobs=1).fit(_inputs(before))
    return np.asarray(-forest.score_samples(_inputs(samples)))


def _inputs(samples: Samples) -> Column:
    return np.nan_to_num(inputs_of(samples, SCORER.signals), nan=_NOT_MEASURED)
