"""``clearhold calibrate``: the tables and files that it reads, and the words it has for those that it cannot."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from clearhold.features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.rows.alerts import LabelRow, PolicyRow
from clearhold.features.core.scorecards import Scorecard, scorecard_sha256
from clearhold.features.scorers.cards import DEFAULTS
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.tables import row_tables
from tests.support.calibrated_files import calibrated, of_rows, report_of
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, some_features
from tests.support.labelled_vectors import NOW, Labelled, some_labelled, written
from tests.support.scorecards import a_card


def test_given_a_data_directory_when_calibrated_then_first_scorings_and_last_labels_up_to_now_count(
    tmp_path: Path,
) -> None:
    rows = some_labelled(800)
    now = parse_instant(NOW)
    assert now is not None
    scorings, labels = [], []
    for place, row in enumerate(rows):
        first = a_scoring(row, 2 * place)
        other = msgspec.structs.replace(row.vector, amount_cents=1)
        scorings += [first, msgspec.structs.replace(first, offset=2 * place + 1, rescored=True, vector=other)]
        label = "bad" if row.is_bad else "ok"
        labels.append(a_label_of(row, 1, "ok"))
        labels.append(a_label_of(row, 2, label))
        labels.append(msgspec.structs.replace(a_label_of(row, 3, "ok"), created_at=now + 1))
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: scorings, LabelRow: labels}), {}, AT)
    of_tables = calibrated(tmp_path, "--data", str(tmp_path), "--program", PROGRAM)
    report, card = report_of(tmp_path), (tmp_path / "out" / "card.json").read_bytes()
    of_file = of_rows(tmp_path, rows)

    assert of_tables.exit_code == 0, of_tables.output
    assert of_file.exit_code == 0
    assert (tmp_path / "out" / "card.json").read_bytes() == card
    assert report["data"]["source"] == f"tables of tenant {TENANT}"
    assert sum(each["bad"] for each in report["data"]["labelsBySource"]) == sum(bool(row.is_bad) for row in rows)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Name either --data or --vectors."),
        (("--vectors", "/nowhere.parquet"), "There is no file /nowhere.parquet."),
        (("--vectors", __file__), "cannot be read as Parquet"),
        (("--data", "/nowhere"), "duckdb. Name the directory of a service that is stopped, or a copy that clearhold"),
        (("--vectors", "/nowhere.parquet", "--now", "tomorrow"), "--now must be a date-time"),
        (("--vectors", "/nowhere.parquet", "--name", " "), "--name must have 1 to 200 characters"),
        (("--vectors", "/nowhere.parquet", "--name", "n" * 201), "--name must have 1 to 200 characters"),
        (("--vectors", "/nowhere.parquet", "--name", "n", "--card", "c.json"), "goes with neither --name"),
        (("--vectors", "/nowhere.parquet", "--champion", "/nowhere.json"), "cannot be read"),
    ],
)
def test_given_options_that_name_nothing_to_read_when_calibrated_then_it_does_not_start(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = calibrated(tmp_path, *options)

    assert result.exit_code == 2
    assert sentence in result.output


def test_given_a_folder_that_cannot_be_written_when_calibrated_then_it_is_said_before_the_work(tmp_path: Path) -> None:
    file = written(tmp_path, some_labelled(50))
    result = calibrated(file, "--vectors", str(file))

    assert result.exit_code == 2
    assert "is no folder that this user may write to" in result.output


@pytest.mark.parametrize(
    ("column", "change", "sentence"),
    [
        ("amount_cents", lambda cells: cells.cast(pa.string()), "amount_cents must be BIGINT and is VARCHAR"),
        ("amount_cents", lambda cells: cells.cast(pa.float64()), "amount_cents must be BIGINT and is DOUBLE"),
        ("is_bad", lambda cells: cells.cast(pa.int8()), "is_bad must be BOOLEAN and is TINYINT"),
        ("taken_at", lambda cells: pc.divide(cells, 1_000), "taken_at must be microseconds since 1970, of 1980 or"),
        ("taken_at", lambda cells: pa.nulls(len(cells), pa.int64()), "taken_at must not be null; 50 rows break that"),
        ("velocity_24h_count", lambda cells: pa.nulls(len(cells), pa.int64()), "velocity_24h_count must not be null"),
        ("rail", lambda cells: pa.array(["pigeon"] * len(cells)), "rail must be one of ach, "),
        ("transfer_id", lambda cells: pa.array(["trf_1"] * len(cells)), "a transfer must have one row; 49 rows break"),
        ("amount_cents", lambda cells: pa.array([-1] * len(cells)), "amount_cents must not be negative; 50 rows"),
        ("amount_cents", lambda cells: pa.array([-(2**63)] * len(cells)), "amount_cents must be within 9,007,199,254"),
        ("velocity_24h_count", lambda cells: pa.array([2**53] * len(cells)), "velocity_24h_count must be within 9,00"),
        (
            "program_unauthorized_return_rate_60d",
            lambda cells: pa.array([float("nan")] * len(cells)),
            "program_unauthorized_return_rate_60d must be a finite number",
        ),
    ],
)
def test_given_a_file_that_is_none_of_scorings_when_calibrated_then_the_column_is_named(
    tmp_path: Path, column: str, change: Callable[[Any], Any], sentence: str
) -> None:
    file = written(tmp_path, some_labelled(50))
    replace_column(file, column, change)
    result = calibrated(tmp_path, "--vectors", str(file))

    assert result.exit_code == 2, result.output
    assert sentence in result.output


def test_given_a_column_that_is_all_null_when_calibrated_then_it_may_be_of_any_type(tmp_path: Path) -> None:
    file = written(tmp_path, some_labelled(800, type=None))
    replace_column(file, "type", lambda cells: pa.nulls(len(cells)))
    result = calibrated(tmp_path, "--vectors", str(file.rename(tmp_path / "of [june]*.parquet")))

    assert result.exit_code == 0, result.output


def test_given_a_file_that_is_cut_short_when_calibrated_then_it_is_said(tmp_path: Path) -> None:
    file = written(tmp_path, some_labelled(800))
    raw = bytearray(file.read_bytes())
    raw[200:2_000] = bytes(1_800)
    file.write_bytes(raw)
    result = calibrated(tmp_path, "--vectors", str(file))

    assert result.exit_code == 2, result.output
    assert "the file is damaged" in result.output


def test_given_a_card_in_force_when_calibrated_then_it_is_the_champion_unless_another_is_named(tmp_path: Path) -> None:
    rows = some_labelled(800)
    scorings = [a_scoring(row, place) for place, row in enumerate(rows)]
    scorings += [msgspec.structs.replace(each, program_id="prg_2") for each in scorings]
    labels = [a_label_of(row, 1, "bad" if row.is_bad else "ok") for row in rows]
    tenants, own = a_card(points=30), a_card(points=20)
    in_force = [
        a_policy("scorecard-v1", tenants, offset=1, program_id="prg_1"),
        a_policy("scorecard-v2", own, offset=2, program_id="prg_1", of_program=True),
        a_policy("scorecard-v3", tenants, offset=3, program_id="prg_1"),
        a_policy("scorecard-v3", tenants, offset=3, program_id="prg_2"),
    ]
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        tables = row_tables({TransferFeaturesRow: scorings, LabelRow: labels, PolicyRow: in_force})
        BatchWriter(database).commit(tables, {}, AT)
    both, one = (calibrated(tmp_path, "--data", str(tmp_path), *options) for options in ((), ("--program", "prg_1")))
    report = report_of(tmp_path)
    (tmp_path / "champion.json").write_bytes(msgspec.json.encode(DEFAULTS["trs"].card))
    named = calibrated(tmp_path, "--data", str(tmp_path), "--champion", str(tmp_path / "champion.json"))

    assert both.exit_code == 2
    assert "different cards in force (scorecard-v2, scorecard-v3)" in both.output
    assert one.exit_code == 0, one.output
    assert (report["champion"], report["championSha256"]) == ("trs-v1+scorecard-v2", scorecard_sha256(own))
    assert named.exit_code == 0, named.output
    assert report_of(tmp_path)["champion"] == "trs-v1"


def test_given_tables_of_another_version_when_calibrated_then_it_does_not_start(tmp_path: Path) -> None:
    with closing(duckdb.connect(tmp_path / "clearhold.duckdb")) as database:
        database.execute("CREATE TABLE transfer_features AS SELECT 'ten_1' AS tenant_id")
    result = calibrated(tmp_path, "--data", str(tmp_path))

    assert result.exit_code == 2
    assert "The scorings cannot be read" in result.output


def test_given_two_tenants_when_one_is_not_named_then_they_are_listed(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        rows = [some_features(tenant_id=tenant) for tenant in ("ten_1", "ten_2")]
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: rows}), {}, AT)
    unnamed, unknown = (
        calibrated(tmp_path, "--data", str(tmp_path), *options) for options in ((), ("--tenant", "ten_3"))
    )

    assert unnamed.exit_code == unknown.exit_code == 2
    assert "Name the tenant with --tenant" in unnamed.output
    assert "ten_1, ten_2" in unknown.output


def a_scoring(row: Labelled, offset: int) -> TransferFeaturesRow:
    return some_features(
        transfer_id=row.transfer_id,
        offset=offset,
        taken_at=row.at,
        scored_at=row.at,
        feature_version=FEATURE_VERSION,
        vector=row.vector,
        rescored=False,
    )


def replace_column(file: Path, column: str, change: Callable[[Any], Any]) -> None:
    table = pq.read_table(file)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, change(table[column].combine_chunks())), file)


def a_policy(version: str, card: Scorecard, *, offset: int, program_id: str, of_program: bool = False) -> PolicyRow:
    body = msgspec.json.encode({"card": card}).decode()
    return PolicyRow(TENANT, program_id, version, 0, offset, of_program, f"act_{offset}", "", body, AT)


def a_label_of(row: Labelled, offset: int, label: str) -> LabelRow:
    return a_label(
        id=f"lbl_{row.transfer_id}_{offset}",
        offset=offset,
        transfer_id=row.transfer_id,
        label=label,
        source="return" if label == "bad" else "person",
        created_at=row.at + offset,
        tenant_id=TENANT,
    )
