"""``clearhold calibrate``: the tables and files that it reads, and the words it has for those that it cannot."""

from contextlib import closing
from pathlib import Path

import duckdb
import msgspec
import pytest

from features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from features.core.instants import parse_instant
from features.core.rows.alerts import LabelRow
from store.duck.database import open_database
from store.duck.writer import BatchWriter
from store.tables.row_tables import row_tables
from tests.support.calibrated_files import calibrated, of_rows, report_of
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, some_features
from tests.support.labelled_vectors import NOW, Labelled, some_labelled


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
    assert report["data"]["source"] == "tables of a tenant"
    assert sum(each["bad"] for each in report["data"]["labelsBySource"]) == sum(bool(row.is_bad) for row in rows)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Name either --data or --vectors."),
        (("--vectors", "/nowhere.parquet"), "cannot be read as Parquet"),
        (("--data", "/nowhere"), "There is no database"),
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
