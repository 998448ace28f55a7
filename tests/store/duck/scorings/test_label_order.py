"""Two labels of one transfer by one log entry: a dispute's counts over a return's, whichever row is written first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pytest

from clearhold.features.catalogue.vector import FEATURE_VERSION, TransferFeaturesRow
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.store.analysts.writer import LakeWriter
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.labelled import LabelledScorings
from clearhold.store.ids import new_id
from clearhold.store.tables import row_tables
from tests.support.clock import FrozenClock
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, a_scoring

RETURNED: Final = a_label(id="lbl_return", label="bad", source="return")
DISPUTED: Final = a_label(id="lbl_dispute", label="ok", source="dispute")
LATER: Final = a_label(id="lbl_later", label="bad", source="return", offset=RETURNED.offset + 1)

IN_EITHER_ORDER: Final = pytest.mark.parametrize(
    ("labels", "counts"),
    [
        ((RETURNED, DISPUTED), ("ok", "dispute")),
        ((DISPUTED, RETURNED), ("ok", "dispute")),
        ((DISPUTED, LATER), ("bad", "return")),
        ((LATER, DISPUTED), ("bad", "return")),
    ],
)


def commit(database: duckdb.DuckDBPyConnection, labels: Sequence[LabelRow]) -> None:
    """A scored transfer, and its labels in this order."""
    rows = row_tables(
        {TransferFeaturesRow: [a_scoring("trf_1", AT, 0, feature_version=FEATURE_VERSION)], LabelRow: list(labels)}
    )
    BatchWriter(database).commit(rows, {3: LATER.offset}, AT)


@IN_EITHER_ORDER
def test_given_two_labels_when_the_newest_is_read_then_the_later_entry_and_then_the_dispute_counts(
    database: duckdb.DuckDBPyConnection, labels: Sequence[LabelRow], counts: tuple[str, str]
) -> None:
    commit(database, labels)

    (scored,) = LabelledScorings.of_tenant(database, TENANT, [PROGRAM], upto=AT)

    assert database.execute("SELECT label, source FROM labels_latest").fetchall() == [counts]
    assert (scored.is_bad, scored.source) == (counts[0] == "bad", counts[1])


@IN_EITHER_ORDER
def test_given_two_labels_when_analysts_read_them_then_the_same_one_counts(
    tmp_path: Path, database: duckdb.DuckDBPyConnection, labels: Sequence[LabelRow], counts: tuple[str, str]
) -> None:
    commit(database, labels)
    writer = LakeWriter(tmp_path / "lake", database, clock=FrozenClock(AT), new_id=new_id, lead_us=0)
    writer.copy()
    writer.close()

    with duckdb.connect(str(tmp_path / "lake" / "analyst.duckdb"), read_only=True) as reader:
        assert reader.execute("SELECT label, source FROM labels").fetchall() == [counts]
        assert reader.execute("SELECT is_bad, source FROM labelled()").fetchall() == [(counts[0] == "bad", counts[1])]
