"""Counts follow the newest versions and stay within the tenant."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from features.outcomes import EventRow, ProgramRow, QuarantineRow, TransferRow
from store.duck.counts import Counts, ProgramCounts
from store.duck.database import open_database
from store.duck.writer import BatchWriter
from tests.store.duck_rows import AT, TENANT, a_quarantined_entry, a_transfer, an_event


def test_given_committed_rows_then_each_program_of_the_tenant_is_counted_by_its_newest_versions(tmp_path: Path) -> None:
    events = [an_event(result=result) for result in ("applied", "applied", "stale")]
    transfers = [
        a_transfer(id="a", offset=1, score_band="hold"),
        a_transfer(id="a", offset=2, score_band="clear"),
        a_transfer(id="b", offset=3, score_band="hold"),
        a_transfer(id="b", offset=4, score_band=None),
        a_transfer(id="c", offset=5, score_band="unscored"),
        a_transfer(id="a", offset=6, program_id="prg_2"),
        a_transfer(id="d", offset=7, tenant_id="tnt_2", program_id="prg_3"),
    ]
    program = ProgramRow(tenant_id=TENANT, id="prg_1", shard=3, offset=1, slug="p", body="{}", updated_at=AT)
    quarantined = [a_quarantined_entry(), a_quarantined_entry(program_id="prg_3")]
    with open_database(tmp_path / "clearhold.duckdb") as database:
        rows: dict[type[msgspec.Struct], Sequence[msgspec.Struct]] = {
            EventRow: events,
            TransferRow: transfers,
            ProgramRow: [program, program],
            QuarantineRow: quarantined,
        }
        BatchWriter(database).commit(rows, {}, AT)

        counted = Counts(database).by_program(TENANT)

    assert counted == {
        "prg_1": ProgramCounts(
            events_by_result={"applied": 2, "stale": 1}, transfers=3, bands={"clear": 1, "unscored": 2}, quarantined=1
        ),
        "prg_2": ProgramCounts(events_by_result={}, transfers=1, bands={"clear": 1}, quarantined=0),
    }
    assert counted["prg_1"].unscored == 2
