"""Alerts are read as they stand now, page by page, tenant by tenant; the overdue ones oldest due first."""

from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS, AlertRow, AlertTransferRow
from clearhold.store.duck import committed_rows
from clearhold.store.duck.alerts import AlertFilter, Alerts
from clearhold.store.duck.committed_rows import Place
from clearhold.store.duck.database import BatchWriter
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer, an_alert
from tests.support.principals import a_key, an_operator

SECOND = 1_000_000
OPERATOR = an_operator(TENANT)
OVERDUE = AlertFilter(overdue=True)


def commit(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> None:
    of_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        of_type.setdefault(type(row), []).append(row)
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


def paged(database: duckdb.DuckDBPyConnection, wanted: AlertFilter, *, limit: int = 25, now: int = AT) -> list[str]:
    """All pages of a list, one behind the other."""
    found: list[AlertRow] = []
    after: Place | None = None
    while page := Alerts(database).list_page(OPERATOR, replace(wanted, now=now), after, limit):
        found += page
        after = (page[-1].queue_rank, page[-1].id)
    return [row.id for row in found]


def test_given_versions_when_read_then_the_newest_is_shown_and_found_by_what_it_is_now(
    database: duckdb.DuckDBPyConnection,
) -> None:
    alert = an_alert(offset=9, status="held")
    commit(database, alert, an_alert(offset=2), an_alert(offset=5, status="escalated"))

    assert Alerts(database).find(OPERATOR, "alr_1") == alert
    assert paged(database, AlertFilter(statuses=("held",))) == ["alr_1"]
    assert paged(database, AlertFilter(statuses=("open", "escalated"))) == []


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["3", "2", "1"]),
    ({"statuses": ("open", "closed")}, ["3", "1"]),
    ({"routes": ("automated",)}, ["2"]),
    ({"detectors": ("fan_in", "rule:r1")}, ["3", "2"]),
    ({"severities": ("low",)}, ["3"]),
    ({"sla_tiers": ("auto",)}, ["2"]),
    ({"subject_types": ("transfer",), "subject_ids": ("trf_9",)}, ["2"]),
    ({"subject_types": ("entity",), "subject_ids": ("trf_9",)}, []),
    ({"program_ids": ("prg_2",)}, ["3"]),
    ({"program_ids": ()}, []),
    ({"opened_from": AT + SECOND, "opened_to": AT + 2 * SECOND}, ["2"]),
    ({"overdue": True}, ["1"]),
    ({"overdue": False}, ["3", "2"]),
    ({"from_history": False}, ["2", "1"]),
    ({"from_history": True}, ["3"]),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS)
def test_given_a_filter_when_listed_then_only_those_are_found_newest_first(
    database: duckdb.DuckDBPyConnection, wanted: dict[str, Any], found: list[str]
) -> None:
    on_transfer = {"subject_type": "transfer", "subject_id": "trf_9", "transfer_id": "trf_9"}
    commit(
        database,
        an_alert(id="1", due_at=AT - 1),
        an_alert(
            id="2",
            status="held",
            route="automated",
            detector="fan_in",
            sla_tier="auto",
            due_at=None,
            opened_at=AT + SECOND,
            **on_transfer,
        ),
        an_alert(
            id="3",
            status="closed",
            detector="rule:r1",
            severity="low",
            due_at=AT - 1,
            program_id="prg_2",
            opened_at=AT + 2 * SECOND,
            from_history=True,
        ),
    )

    assert paged(database, AlertFilter(**wanted)) == found
    exported = Alerts(database).export(OPERATOR, AlertFilter(**wanted, now=AT), 2)
    assert [row.id for batch in exported for row in batch] == found


def test_given_tenants_when_read_then_each_finds_and_lists_its_own_only(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, an_alert(), an_alert(id="alr_2", tenant_id="tnt_2"))
    reader, other = Alerts(database), an_operator("tnt_2")

    assert reader.find(OPERATOR, "alr_1") == an_alert()
    assert reader.find(other, "alr_1") is None
    assert reader.find(OPERATOR, "alr_3") is None
    assert [row.id for row in reader.list_page(other, AlertFilter(), None, 9)] == ["alr_2"]


def test_given_a_key_when_it_reads_then_what_is_out_of_its_reach_is_refused_by_name_and_not_listed(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, an_alert(), an_alert(id="alr_2", program_id="prg_2"))
    reader, key, nowhere = Alerts(database), a_key(TENANT, PROGRAM), a_key(TENANT)

    assert [row.id for row in reader.list_page(key, AlertFilter(), None, 9)] == ["alr_1"]
    assert reader.list_page(nowhere, AlertFilter(), None, 9) == []
    assert reader.overdue(nowhere, replace(OVERDUE, now=AT + 1), 9) == (0, [])
    assert [len(batch) for batch in reader.export(key, AlertFilter(), 9)] == [1]
    assert reader.overdue(key, replace(OVERDUE, now=AT + 1), 9)[0] == 1
    with pytest.raises(ForbiddenError):
        reader.find(key, "alr_2")


def test_given_an_alert_that_becomes_worse_between_two_pages_then_it_moves_ahead_and_no_other_is_lost_or_repeated(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rows = [an_alert(id=f"alr_{n}", offset=n, opened_at=AT + n, queue_rank=AT + n) for n in range(6)]
    commit(database, *rows)
    first = Alerts(database).list_page(OPERATOR, AlertFilter(), None, 2)
    worse = an_alert(
        id="alr_1", offset=9, opened_at=AT + 1, hard_signal=True, queue_rank=(6 << RANK_INSTANT_BITS) + AT + 1
    )
    commit(database, worse)
    rest = Alerts(database).list_page(OPERATOR, AlertFilter(), (first[-1].queue_rank, first[-1].id), 9)

    assert [row.id for row in (*first, *rest)] == ["alr_5", "alr_4", "alr_3", "alr_2", "alr_0"]
    assert paged(database, AlertFilter(), limit=2) == ["alr_1", "alr_5", "alr_4", "alr_3", "alr_2", "alr_0"]


def test_given_waiting_alerts_when_their_time_ran_out_then_they_come_oldest_due_first_with_their_number(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(
        database,
        an_alert(id="decided", due_at=AT - 9),
        an_alert(id="decided", due_at=AT - 9, offset=2, status="closed"),
        an_alert(id="held", due_at=AT - 1, status="held", opened_at=AT - 50),
        an_alert(id="escalated", due_at=AT - 3, status="escalated"),
        an_alert(id="open", due_at=AT - 2),
        an_alert(id="due now", due_at=AT),
        an_alert(id="closed alone", due_at=AT - 5, status="auto_closed"),
        an_alert(id="without a clock", due_at=None),
    )

    count, rows = Alerts(database).overdue(OPERATOR, replace(OVERDUE, now=AT), 2)

    assert (count, [row.id for row in rows]) == (3, ["escalated", "open"])


def test_given_places_of_the_log_when_asked_then_they_are_the_transfers_that_these_entries_delivered(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(
        database,
        a_transfer(id="trf_1", offset=5),
        a_transfer(id="trf_1", offset=8),
        a_transfer(id="trf_2", offset=5, program_id="prg_2"),
        a_transfer(id="trf_3", offset=5, tenant_id="tnt_2"),
    )
    reader = Alerts(database)

    places = [("prg_1", 5), ("prg_1", 8), ("prg_2", 5)]

    found = reader.transfers_at(OPERATOR, places)
    assert {place: found[place] for place in places} == dict(zip(places, ["trf_1", "trf_1", "trf_2"], strict=True))
    assert reader.transfers_at(OPERATOR, []) == {}


VERSIONS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["open", "held", "closed"])), min_size=1, max_size=40)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(versions=VERSIONS, limit=st.integers(1, 4), wanted=st.sampled_from([None, ("open",), ("held", "closed")]))
def test_given_any_versions_when_paged_then_each_alert_comes_once_in_order_if_it_matches_now(
    database: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    versions: list[tuple[int, str]],
    limit: int,
    wanted: tuple[str, ...] | None,
) -> None:
    monkeypatch.setattr(committed_rows, "LEAST_CANDIDATES", 1)
    database.execute("DELETE FROM alerts")
    rows = [
        an_alert(
            id=f"alr_{number}",
            offset=offset,
            status=status,
            opened_at=AT + number // 3 * SECOND,
            queue_rank=(offset // 5 << RANK_INSTANT_BITS) + AT + number // 3 * SECOND,
        )
        for offset, (number, status) in enumerate(versions, 1)
    ]
    commit(database, *rows)
    now = {row.id: row for row in rows}

    found = paged(database, AlertFilter(statuses=wanted), limit=limit)

    matching = [row for row in now.values() if wanted is None or row.status in wanted]
    assert found == [row.id for row in sorted(matching, key=lambda row: (-row.queue_rank, row.id))]


def test_given_a_transfer_then_the_alerts_that_rest_on_it_are_listed_and_those_of_its_namesake_are_not(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rests: dict[str, Any] = {"tenant_id": TENANT, "shard": 1, "offset": 1}
    commit(
        database,
        *(an_alert(id=id_, opened_at=AT + place) for place, id_ in enumerate(("1", "2"))),
        an_alert(id="3", program_id="prg_2"),
        a_transfer(id="trf_7", number=7),
        a_transfer(id="trf_7", number=8, program_id="prg_2"),
        a_transfer(id="trf_8", number=8),
        *(AlertTransferRow(program_id=PROGRAM, alert_id="1", transfer_number=7, **rests) for _ in range(2)),
        AlertTransferRow(program_id=PROGRAM, alert_id="2", transfer_number=8, **rests),
        AlertTransferRow(program_id="prg_2", alert_id="3", transfer_number=7, **rests),
    )

    assert paged(database, AlertFilter(transfer_ids=("trf_7",))) == ["1"]
    assert paged(database, AlertFilter(transfer_ids=("trf_7", "trf_8"))) == ["2", "1"]
    assert paged(database, AlertFilter(transfer_ids=("trf_9",))) == []
