"""Trees over vectors, and how well each field alone tells bad transfers from others."""

import gzip
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.convert.bank_rows import COLUMNS
from bench.detection.data import NORMAL, Known, Label, hash_of
from bench.detection.trees import FEWEST, Field, Fields, area_under, grown, ranks_by_signals
from bench.detection.worlds import COUNTS_AT_OTHERS, FIELDS_AT_OTHERS
from clearhold.features.catalogue.vector import pays
from clearhold.features.core.instants import format_instant
from clearhold.features.scorers.trs_v1.scorer import SCORER
from tests.support.builders import a_vector
from tests.support.labelled_vectors import Labelled, some_labelled, written
from tests.support.samples import samples_of

BAD: Final = Label(bad=True, typology="fan_in", scenario="s1")


def known_of(folder: Path, rows: list[Labelled]) -> Known:
    ids = [row.transfer_id.removeprefix("trf_") for row in rows]
    lines = [f"{each},{format_instant(row.at)},A,B,100,USD,ach,,," for each, row in zip(ids, rows, strict=True)]
    (folder / "rows.csv.gz").write_bytes(gzip.compress("\n".join([",".join(COLUMNS), *lines, ""]).encode()))
    labels = {each: BAD if row.is_bad else NORMAL for each, row in zip(ids, rows, strict=True)}
    return Known(folder / "rows.csv.gz", labels)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=10, max_size=60))
def test_given_values_then_the_area_is_the_chance_that_a_bad_one_has_the_larger(pairs: list[tuple[int, bool]]) -> None:
    bad, others = ([value for value, is_bad in pairs if is_bad is each] for each in (True, False))
    area = area_under(np.array([float(value) for value, _ in pairs]), np.array([is_bad for _, is_bad in pairs]))

    if min(len(bad), len(others)) < FEWEST:
        assert area is None
    else:
        wins = sum((one > other) + (one == other) / 2 for one in bad for other in others)
        assert area == pytest.approx(wins / (len(bad) * len(others)))


def test_given_values_that_were_not_measured_then_the_area_is_of_the_others() -> None:
    values = np.array([np.nan] * 50 + [2.0] * FEWEST + [1.0] * FEWEST)
    bad = np.array([True] * 50 + [True] * FEWEST + [False] * FEWEST)

    assert area_under(values, bad) == 1.0


@pytest.mark.parametrize(
    ("field", "apart"),
    [
        (Field("a", 0.9, None), 0.4),
        (Field("a", 0.1, None), 0.4),
        (Field("a", 0.6, 0.95), 0.45),
        (Field("a", None, None), 0.0),
        (Field("a", 0.0, None), 0.5),
        (Field("a", None, 0.0), 0.5),
        (Field("a", 0.5, 1.0), 0.5),
    ],
)
def test_given_a_field_then_it_is_as_far_from_chance_as_the_better_of_value_and_presence(
    field: Field, apart: float
) -> None:
    assert field.apart == pytest.approx(apart)


def test_given_a_column_that_is_measured_late_when_trees_are_grown_then_they_rank_by_the_others() -> None:
    draws = np.random.default_rng(3)
    tells, late = np.floor(10 * draws.random(600)), np.where(np.arange(600) < 400, np.nan, 1.0)
    bad = tells >= 8
    ranks = grown(np.column_stack([tells, late]), bad, np.arange(600) < 300)

    assert ranks[300:][bad[300:]].min() > ranks[300:][~bad[300:]].max()


def test_given_a_field_that_is_the_label_then_it_stands_first_and_trees_see_it_unless_it_is_left_out(
    tmp_path: Path,
) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, fan_in_count_7d=9 if row.is_bad else 1))
        for row in some_labelled(600)
    ]
    known, path = known_of(tmp_path, rows), written(tmp_path, rows)
    first, *_ = Fields(path, known, ()).alone()
    fields = Fields(path, known, ("fan_in_count_7d",))
    ranks = Fields(path, known, ()).ranks()
    later = [row for row in rows if row.at > known.fit_until]
    keys = {row.transfer_id: hash_of(f"prg_1\n{row.transfer_id}") for row in later}

    assert (first.name, first.area) == ("fan_in_count_7d", 1.0)
    assert "fan_in_count_7d" not in [each.name for each in fields.alone()]
    assert len(ranks) == len(rows)
    assert min(ranks[keys[row.transfer_id]] for row in later if row.is_bad) > max(
        ranks[keys[row.transfer_id]] for row in later if not row.is_bad
    )


def test_given_a_signal_that_is_the_label_when_it_is_left_out_then_trees_over_signals_do_not_see_it() -> None:
    rows, draws = 600, np.random.default_rng(5)
    places, bad = np.arange(rows), draws.random(rows) < 0.2
    samples = samples_of({"TRS-AMT-07": bad * 9.0, "TRS-VEL-03": np.floor(draws.random(rows) * 5)}, bad)
    (seen, unseen) = (ranks_by_signals(samples, places < 300, left_out) for left_out in ((), ("TRS-AMT-07",)))
    later = places[300:]

    assert area_under(np.array([seen[place] for place in later]), bad[300:]) == 1.0
    assert (area_under(np.array([unseen[place] for place in later]), bad[300:]) or 0) < 0.7


OF_PAYEES: Final = ("payee_new_", "first_payee_", "first_middles_", "quiet_", "fan_in_", "scatter_", "program_rare_")
OF_PAYERS: Final = ("payer_new_", "first_payer_", "first_chain_", "quiet_", "fan_out_", "gathered_", "program_rare_")


@pytest.mark.parametrize(("direction", "counts"), [("outgoing", OF_PAYEES), ("incoming", OF_PAYERS)])
def test_given_counts_of_who_else_deals_with_the_other_side_then_signals_that_see_them_are_left_out(
    direction: str, counts: tuple[str, ...]
) -> None:
    fields = [name for name in FIELDS_AT_OTHERS if name.startswith(counts)]
    few, many = (
        a_vector(
            **{"rail": "wire", "direction": direction, "type": None, "pair_first_time": True}
            | {"program_paired_count_90d": 1_000, "rarest_permille": 0, "entity_prior_transfers": 50}
            | dict.fromkeys(fields, each)
        )
        for each in (1, 40)
    )
    differ = {each.id for each in SCORER.signals.values() if each.measure(few) != each.measure(many)}

    assert pays(few) is (direction == "outgoing")
    assert len(differ) >= 5
    assert differ <= set(COUNTS_AT_OTHERS)
