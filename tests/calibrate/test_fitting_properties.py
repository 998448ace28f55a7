"""Whatever is measured and labelled, a fit gives a card that keeps its promises, or says why there is none."""

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.calibrate.fitting import Fit, fit_card
from clearhold.calibrate.points import sums_of
from clearhold.calibrate.request import NoCardError
from clearhold.calibrate.samples import BAD, MATURE_AFTER, NO_LABEL, OK, UNSCORED, Samples, key_of, measure_all
from clearhold.calibrate.steps import MOST_UNDER, _roundest
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.cards import DEFAULTS, MOST_WEIGHED, compile_card, faults_of
from clearhold.store.duck.scorings.labelled import LabelledScoring, LabelledScorings
from tests.support.labelled_vectors import FROM
from tests.support.vectors import quiet_but_for_some

Numbers = npt.NDArray[Any]

CHAMPION: Final = DEFAULTS["trs"]
SIGNALS: Final = CHAMPION.scorer.signals
IDS: Final = sorted(each.id for each in SIGNALS.values() if not each.worked_out)
KINDS: Final = ("never", "constant", "rare check", "check", "count", "ratio", "label", "of the bad alone")
MEASURED: Final = ("all", "late", "early", "seldom")


def column(kind: str, measured: str, draws: np.random.Generator, bad: Numbers) -> Numbers:
    rows = len(bad)
    values = {
        "never": np.full(rows, np.nan),
        "constant": np.full(rows, float(draws.integers(0, 4))),
        "rare check": (draws.random(rows) < 0.02).astype(np.float64),
        "check": (draws.random(rows) < 0.4).astype(np.float64),
        "count": draws.integers(0, 6, rows).astype(np.float64),
        "ratio": np.floor(draws.lognormal(5, 2, rows)),
        "label": bad.astype(np.float64) * 7,
        "of the bad alone": np.where(bad, draws.integers(0, 4, rows), np.nan),
    }[kind]
    cut = draws.integers(0, rows + 1)
    places = np.arange(rows)
    there = {"all": places >= 0, "late": places >= cut, "early": places < cut, "seldom": draws.random(rows) < 0.1}
    return np.where(there[measured], values, np.nan)


@st.composite
def windows(draw: st.DrawFn) -> Samples:
    """A window of 5 to 400 days, with labels on all, many or few of its transfers, and some without a score."""
    draws = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, days = draw(st.integers(40, 700)), draw(st.integers(5, 400))
    bad = draws.random(rows) < draw(st.sampled_from((0.0, 0.01, 0.05, 0.3, 0.9, 1.0)))
    labelled = draws.random(rows) < draw(st.sampled_from((0.1, 0.6, 1.0)))
    kinds = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(MEASURED)), min_size=1, max_size=12)
    columns = [column(kind, measured, draws, bad) for kind, measured in draw(kinds)]
    places = np.arange(rows)
    return Samples(
        key=places,
        at=np.sort(FROM + draws.integers(0, days * DAY_US, rows)),
        label=np.where(labelled, np.where(bad, BAD, OK), NO_LABEL).astype(np.int8),
        source=places,
        score=np.where(draws.random(rows) < 0.1, UNSCORED, 0),
        cents=places,
        is_first_pair=places > 0,
        measures=np.column_stack(columns),
        signal_ids=tuple(str(each) for each in draws.permutation(IDS)[: len(columns)]),
    )


def fitted(window: Samples, volume: float) -> Fit | None:
    try:
        return fit_card(window, CHAMPION, "Any", volume=volume)
    except NoCardError:
        return None


def points_of(window: Samples, fit: Fit) -> tuple[list[int], dict[str, float]]:
    """The points of each scored transfer, and on which share of them each signal has some."""
    scored = window.measures[window.score != UNSCORED]
    sums, firing = [0] * len(scored), dict[str, float]()
    for signal in fit.card.signals:
        if signal.id not in window.signal_ids:
            continue
        fired = 0
        for row, measure in enumerate(scored[:, window.signal_ids.index(signal.id)].tolist()):
            for each in signal.bins:
                if measure >= each.at_least and (each.below is None or measure < each.below):
                    sums[row] += each.points
                    fired += each.points > 0
        firing[signal.id] = fired / len(scored)
    return sums, firing


@settings(max_examples=60, deadline=None)
@given(windows(), st.sampled_from((1.0, 5.0, 20.0, 150.0)))
def test_given_any_labels_and_measures_when_fitted_then_a_card_is_valid_and_keeps_to_its_volume(
    window: Samples, volume: float
) -> None:
    fit = fitted(window, volume)
    if fit is None:
        return
    sums, firing = points_of(window, fit)
    sent = 1_000 * sum(each >= 30 for each in sums) / len(sums)

    assert not list(faults_of(fit.card))
    assert len(fit.fitted) + len(fit.kept) <= MOST_WEIGHED
    assert abs(fit.volume.total - sent) < 1e-9
    assert sent <= volume
    share = np.mean(window.label[(window.score != UNSCORED) & (window.label >= OK)] == BAD)
    assert fit.base_log_odds >= np.log(share / (1 - share)) - MOST_UNDER - 1e-9
    assert max(firing.values(), default=0.0) <= 0.2
    assert all(each.firing > 0.2 for each in fit.refused if firing.get(each.signal_id))
    for signal in fit.card.signals:
        points = [each.points for each in signal.bins]
        if signal.id in fit.fitted and not SIGNALS[signal.id].mitigates:
            assert points == sorted(points, reverse=not SIGNALS[signal.id].rises)
            assert min(points) >= 0


@settings(max_examples=10, deadline=None)
@given(windows())
def test_given_any_labels_and_measures_when_fitted_twice_then_the_fit_is_the_same(window: Samples) -> None:
    assert fitted(window, 20) == fitted(window, 20)


class Given:
    """Scorings as the store has them."""

    def __init__(self, rows: list[LabelledScoring]) -> None:
        self._rows, self.total = rows, len(rows)

    def __iter__(self) -> Iterator[LabelledScoring]:
        return iter(self._rows)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(quiet_but_for_some(), min_size=4, max_size=6),
    st.integers(0, 2**32 - 1),
    st.integers(5, 400),
    st.integers(1, len(Rail)),
    st.sampled_from((20.0, 200.0)),
)
def test_given_any_vectors_of_some_rails_when_fitted_then_each_score_of_the_card_is_the_sum_of_its_points(
    vectors: list[FeatureVector], seed: int, days: int, rails: int, volume: float
) -> None:
    """The first vector, one of 12 transfers, is nearly always bad, the others seldom are. No cap takes anything: of a
    family, a fact, nor of common signals. Where the usual is known, the points that are kept may be fewer.
    """
    draws, some = np.random.default_rng(seed), [rail.value for rail in Rail]
    which = np.where(draws.random(600) < 0.08, 0, draws.integers(1, len(vectors), 600)).tolist()
    rows = [
        LabelledScoring(
            "prg_1",
            f"trf_{row}",
            FROM + int(draws.integers(0, days * DAY_US)),
            bool(draws.random() < (0.01 if place else 0.95)),
            "person",
            msgspec.structs.replace(vectors[place], rail=some[row % rails]),
        )
        for row, place in enumerate(which)
    ]
    now = FROM + days * DAY_US + MATURE_AFTER
    samples = measure_all(cast("LabelledScorings", Given(rows)), CHAMPION, now, lambda _: None)
    fit = fitted(samples, volume)
    if fit is None:
        return
    card = compile_card(fit.card, version="scorecard-v1")
    sums = dict(
        zip(samples.key.tolist(), sums_of(samples, {each.id: each.bins for each in fit.card.signals}), strict=True)
    )

    for row in rows:
        score = card.score(row.vector)
        limits = {f"{CHAMPION.scorer.prefix}-CAP-{end}" for end in ("00", "99")}
        taken = [reason.id for reason in score.reasons if "-CAP-" in reason.id and reason.id not in limits]
        total = max(0, min(100, int(sums[key_of(row)])))
        assert not taken
        assert score.value is None or score.value <= total
        if row.vector.common_signals is None or not any(card.most_known(each) is not None for each in fit.kept):
            assert score.value in (None, total)


@pytest.mark.parametrize(
    ("above", "upto", "roundest"),
    [
        (-5, 0, 0),
        (-5, 7, 0),
        (-1, 12_345, 0),
        (0, 7, 7),
        (61, 129, 100),
        (-120, -7, -100),
        (-7, -1, -1),
        (None, -3, -3),
    ],
)
def test_given_two_measures_then_the_roundest_number_between_them_is_found_around_nought_too(
    above: int | None, upto: int, roundest: int
) -> None:
    assert _roundest(above, upto) == roundest
