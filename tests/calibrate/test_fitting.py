"""Fitting when a signal is measured late or never varies, or when all labels are of one class."""

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from clearhold.calibrate.fitting import Fit, fit_card
from clearhold.calibrate.request import NoCardError
from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.cards import DEFAULTS
from tests.support.calibrated_files import card_of, of_rows
from tests.support.labelled_vectors import DAYS, FROM, Labelled, some_labelled
from tests.support.samples import samples_of

Numbers = npt.NDArray[Any]

ROWS: Final = 2_000
PERCENT: Final = "TRS-AMT-07"
REPEATED: Final = "TRS-AMT-04"
CHECK: Final = "TRS-VEL-01"
FALLING: Final = ("TRS-CPY-06", "TRS-RET-03")  # of these more is better, so that one not measured is no zero
DRAWS: Final = np.random.default_rng(7)
LARGE: Final = np.floor(DRAWS.lognormal(4, 1, ROWS))
BAD: Final = DRAWS.random(ROWS) < np.minimum(0.9, LARGE / 1_000)
FEW: Final = np.floor(DRAWS.random(ROWS) * 6)


def fitted(columns: dict[str, Numbers], bad: Numbers = BAD, volume: float = 20) -> Fit:
    return fit_card(samples_of(columns, bad), DEFAULTS["trs"], "Late", volume=volume)


def rare_pair_if_known(row: Labelled) -> Labelled:
    """A first payment between two parties that seldom meet new ones; measured in the second half of the period only."""
    met = 1 if row.at >= FROM + DAYS * DAY_US // 2 else None
    pair = {"payer_new_payees_90d": met, "payee_new_payers_90d": met, "program_rare_pairs_90d": row.at % 40}
    vector = msgspec.structs.replace(row.vector, pair_first_time=True, program_paired_count_90d=1_000, **pair)
    return row._replace(vector=vector)


def from_row(row: int, column: Numbers = FEW) -> Numbers:
    """The column, with no value before this row."""
    return np.where(np.arange(ROWS) >= row, column, np.nan)


@pytest.mark.parametrize("signal_id", FALLING)
@pytest.mark.parametrize("row", [0, 1, ROWS // 2, ROWS * 3 // 4 - 1, ROWS * 3 // 4, ROWS * 3 // 4 + 1, ROWS - 31])
def test_given_a_signal_measured_from_some_row_on_when_fitted_then_there_is_a_card(signal_id: str, row: int) -> None:
    fit = fitted({PERCENT: LARGE, signal_id: from_row(row)})

    assert PERCENT in fit.fitted


@pytest.mark.parametrize("row", [ROWS - 29, ROWS])
def test_given_a_signal_measured_too_seldom_or_never_when_fitted_then_it_keeps_the_champions_points(row: int) -> None:
    late, never = (fitted({PERCENT: LARGE, FALLING[0]: from_row(each)}, volume=1_000) for each in (row, ROWS))

    assert FALLING[0] in late.kept
    assert next(each.bins for each in late.card.signals if each.id == FALLING[0]) == DEFAULTS["trs"].bins_of(FALLING[0])
    assert next(each.most_known for each in late.card.signals if each.id == FALLING[0]) == 8
    assert late.card == never.card


def test_given_points_of_the_champion_that_alone_exceed_the_volume_when_fitted_then_they_are_refused() -> None:
    """Fired on 29 of 2,000, all of them in the newest time, which is 36 of 1,000 there."""
    fit = fitted({PERCENT: LARGE, FALLING[0]: from_row(ROWS - 29)})

    assert FALLING[0] not in fit.kept
    assert fit.refused == ((FALLING[0], 29 / ROWS),)
    assert fit.volume.total <= 20


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_given_a_count_that_is_the_transfer_itself_on_most_transfers_when_fitted_then_few_come_to_review(
    share: float,
) -> None:
    """One of itself where amounts are counted at all; bad ones always are."""
    counted = BAD | (DRAWS.random(ROWS) < share)
    count = np.where(counted, np.where(DRAWS.random(ROWS) < 0.05, 3.0, 1.0), 0.0)
    fit = fitted({PERCENT: LARGE, REPEATED: count})
    bins = next((each.bins for each in fit.card.signals if each.id == REPEATED), ())

    assert all(each.at_least >= 2 for each in bins)
    assert 0 < fit.volume.total <= 20


def test_given_what_fires_often_but_is_no_more_often_bad_when_fitted_then_it_has_no_points_and_is_not_refused() -> None:
    fit = fitted({PERCENT: LARGE, CHECK: (DRAWS.random(ROWS) < 0.5).astype(np.float64) * ~BAD})

    assert fit.refused == ()
    assert CHECK not in fit.fitted


@pytest.mark.parametrize("share", [0.21, 0.5, 0.97])
def test_given_a_reason_that_would_fire_on_more_than_a_fifth_when_fitted_then_it_is_refused_with_its_figure(
    share: float,
) -> None:
    fires = (DRAWS.random(ROWS) < share) | BAD
    fit = fitted({PERCENT: LARGE, CHECK: fires.astype(np.float64)})

    assert fit.refused == ((CHECK, float(np.mean(fires))),)
    assert CHECK not in fit.fitted


def test_given_a_check_that_fires_on_fewer_than_a_fifth_when_fitted_then_it_has_points() -> None:
    fires = (DRAWS.random(ROWS) < 0.05) | (BAD & (DRAWS.random(ROWS) < 0.5))
    fit = fitted({PERCENT: LARGE, CHECK: fires.astype(np.float64)})

    assert CHECK in fit.fitted
    assert fit.refused == ()


def test_given_every_falling_signal_measured_after_the_inner_slice_when_fitted_twice_then_the_card_is_the_same() -> (
    None
):
    columns = {PERCENT: LARGE, **{signal_id: from_row(ROWS * 3 // 4) for signal_id in FALLING}}

    assert fitted(columns) == fitted(columns)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_given_a_column_of_one_value_when_fitted_then_it_is_not_fitted(value: float) -> None:
    fit = fitted({PERCENT: LARGE, FALLING[0]: np.full(ROWS, value)})

    assert (PERCENT in fit.fitted, FALLING[0] in fit.fitted) == (True, False)


def test_given_a_column_of_one_value_in_the_inner_slice_when_fitted_then_there_is_a_card() -> None:
    assert PERCENT in fitted({PERCENT: LARGE, FALLING[0]: np.where(np.arange(ROWS) < ROWS * 3 // 4, 2.0, FEW)}).fitted


def test_given_a_signal_measured_once_in_the_inner_slice_when_fitted_then_there_is_a_card() -> None:
    column = from_row(ROWS * 3 // 4)
    column[5] = 1.0

    assert PERCENT in fitted({PERCENT: LARGE, FALLING[0]: column}).fitted


@pytest.mark.parametrize("inner", [True, False])
def test_given_one_class_in_the_inner_slice_and_a_signal_not_measured_there_when_fitted_then_there_is_a_card(
    *, inner: bool
) -> None:
    is_inner = np.arange(ROWS) < ROWS * 3 // 4
    bad = BAD & ~is_inner if not inner else BAD & is_inner

    assert PERCENT in fitted({PERCENT: LARGE, FALLING[0]: from_row(ROWS * 3 // 4)}, bad).fitted


@pytest.mark.parametrize("is_bad", [True, False])
def test_given_labels_of_one_class_when_fitted_then_no_card_can_be_made(*, is_bad: bool) -> None:
    with pytest.raises(NoCardError):
        fitted({PERCENT: LARGE, FALLING[0]: FEW}, np.full(ROWS, is_bad))


def test_given_a_history_of_four_months_when_calibrated_then_the_command_makes_a_card(tmp_path: Path) -> None:
    """Rare pairs are measured from the 90th day on, which is after the first three quarters of the fit window."""
    result = of_rows(tmp_path, [rare_pair_if_known(row) for row in some_labelled(2_400)])

    assert result.exit_code == 0, result.output
    assert card_of(tmp_path).card.signals
