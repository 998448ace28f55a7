"""The population stability index, by hand, and the same from everyone who shows it."""

from math import log

import duckdb
import numpy as np
import pytest

from clearhold.calibrate.evaluation import psi
from clearhold.features.core.scorecards import SCORE_CLASSES, PairCount, score_class, stability_index, to_comparison
from clearhold.store.duck.scorings.labelled import score_class_sql, share_sql

BEFORE, AFTER = (90, 0, 4, 0, 0, 0, 0, 0, 0, 6, 0), (80, 6, 0, 0, 0, 0, 0, 0, 0, 14, 0)


def test_given_two_classes_then_half_a_transfer_is_added_to_each() -> None:
    assert stability_index((3, 0), (1, 2)) == pytest.approx(0.5 * log(3.5 / 1.5) + 0.5 * log(5))
    assert stability_index((5, 5), (500, 500)) == 0


def test_given_the_same_counts_when_a_comparison_a_calibration_and_sql_measure_them_then_they_agree() -> None:
    expected = round(stability_index(BEFORE, AFTER), 6)
    values = ", ".join(map(str, zip(BEFORE, AFTER, strict=True)))
    before, after = (share_sql(name, f"sum({name}) OVER ()") for name in ("n_before", "n_after"))
    by_sql = duckdb.sql(
        f"SELECT sum((q - p) * ln(q / p)) FROM (SELECT {before} AS p, {after} AS q "  # noqa: S608 - constants
        f"FROM (VALUES {values}) AS counted(n_before, n_after))"
    ).fetchone()

    assert by_sql is not None
    assert by_sql[0] == pytest.approx(expected, abs=1e-6)
    assert psi(np.array(BEFORE), np.array(AFTER)) == pytest.approx(expected, abs=1e-6)
    assert compared(BEFORE, AFTER) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("score", [None, 0, 9, 10, 89, 90, 99, 100])
def test_given_a_score_then_its_class_is_the_same_in_sql(score: int | None) -> None:
    text = "NULL" if score is None else score
    row = duckdb.sql(f"SELECT {score_class_sql('score')} FROM (SELECT {text}::INTEGER AS score)").fetchone()  # noqa: S608

    assert row == (score_class(score),)
    assert score_class(score) < SCORE_CLASSES


def compared(before: tuple[int, ...], after: tuple[int, ...]) -> float | None:
    """The index of a shadow whose transfers are in these classes of the champion's and of its own."""
    champion = [place for place, count in enumerate(before) for _ in range(count)]
    own = [place for place, count in enumerate(after) for _ in range(count)]
    counts = [
        PairCount("clear", "clear", one, other, None, is_mature=True, transfers=1)
        for one, other in zip(champion, own, strict=True)
    ]
    return to_comparison(counts, version="scorecard-v1", champions=["trs-v1"], since=None).psi
