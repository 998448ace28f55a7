"""Chances that scores stand for, which are fitted to 50 bad transfers or not at all."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec
import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import band_word
from tests.support.clock import T0, FrozenClock
from tests.support.duck_rows import a_label, a_scoring
from tests.support.small_lake import SmallLake

SCORES = (5, 95)
SPLIT = T0 + 5 * DAY_US


@pytest.fixture
def lake(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> SmallLake:
    return SmallLake(tmp_path, database, clock)


def labelled(fitted_bad: int) -> Iterator[msgspec.Struct]:
    """That many bad transfers and two ok ones before the split; of each score one bad and one ok behind it."""
    before = [(T0, SCORES[number % 2], "bad") for number in range(fitted_bad)] + [(T0, each, "ok") for each in SCORES]
    after = [(T0 + 9 * DAY_US, score, label) for score in SCORES for label in ("bad", "ok")]
    for number, (at, score, label) in enumerate(before + after):
        yield a_scoring(f"trf_{number}", at, 0, score=score, band=band_word(score))
        yield a_label(transfer_id=f"trf_{number}", label=label)


@pytest.mark.parametrize(("fitted_bad", "with_chance"), [(49, 0), (50, 2)])
def test_given_fewer_than_50_bad_transfers_before_the_split_then_no_tenth_has_a_chance(
    lake: SmallLake, fitted_bad: int, with_chance: int
) -> None:
    lake.write([*labelled(fitted_bad)])

    rows = lake.rows(f"reliability(split_at := make_timestamp({SPLIT}))")

    fitted = [row for row in rows if row["fitted_n"]]
    assert [(row["n"], row["bad"], row["observed"]) for row in fitted] == [(2, 1, 0.5), (2, 1, 0.5)]
    for name in ("p", "gap", "ece", "brier"):
        assert len([row for row in fitted if row[name] is not None]) == with_chance, name
