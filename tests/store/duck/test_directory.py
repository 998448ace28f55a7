"""What the directory is due for: never fetched first, then the oldest, of the given tenants alone."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.directory import DirectoryKind, PartyKey, kind_of_counterparty
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.parties import DirectoryTable, DueParty
from clearhold.store.tables import row_tables
from tests.support.clock import T0

A, B = "tnt_a", "tnt_b"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        yield database


def account(number: int, tenant: str = A, offset: int = 1) -> AccountRow:
    return AccountRow(tenant, "prg_1", f"bacc_{number}", 0, offset, None, None, None, "{}", T0)


def counterparty(party_id: str, tenant: str = A) -> CounterpartyRow:
    return CounterpartyRow(tenant, "prg_1", party_id, 0, 1, None, None, None, None, None, T0, T0, None)


def entity(number: int, tenant: str = A) -> EntityRow:
    values: dict[str, Any] = {field.name: "" for field in msgspec.structs.fields(EntityRow)}
    numbers = {"offset": 1, "shard": 0, "last_screened_at": None, "created_at": T0, "updated_at": T0}
    flags = {"is_high_risk": False, "requires_screening": False}
    return EntityRow(**values | numbers | flags | {"id": f"enti_{number}", "tenant_id": tenant, "program_id": "prg_1"})


def fetch(key: PartyKey, at: int, offset: int, digest: str | None = None, result: str = "found") -> DirectoryRow:
    return DirectoryRow(key.tenant_id, key.program_id, key.kind.value, key.id, 0, offset, at, result, digest)


def key(kind: DirectoryKind, party_id: str, tenant: str = A) -> PartyKey:
    return PartyKey(tenant, "prg_1", kind, party_id)


def write(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> DirectoryTable:
    by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        by_type.setdefault(type(row), []).append(row)
    BatchWriter(database).commit(row_tables(by_type), {0: 1}, T0)
    return DirectoryTable(database)


def test_given_parties_then_each_is_due_once_by_the_name_that_the_bank_has_for_it(
    database: duckdb.DuckDBPyConnection,
) -> None:
    table = write(
        database,
        account(1),
        account(1, offset=2),
        account(9, tenant=B),
        entity(1),
        counterparty("cpty_1"),
        counterparty("bacc_1"),
        counterparty("bacc_2"),
    )

    due = table.due([A], fetched_until=T0, limit=99)

    assert due == [
        (key(DirectoryKind.ACCOUNT, "bacc_1"), None),
        (key(DirectoryKind.ACCOUNT, "bacc_2"), None),
        (key(DirectoryKind.COUNTERPARTY, "cpty_1"), None),
        (key(DirectoryKind.ENTITY, "enti_1"), None),
    ]
    assert table.due([A], fetched_until=T0, limit=2) == due[:2]
    assert len(table.due([A, B], fetched_until=T0, limit=99)) == 5
    assert table.due([], fetched_until=T0, limit=99) == []


def test_given_fetches_then_the_newest_counts_and_the_last_digest_stays(database: duckdb.DuckDBPyConnection) -> None:
    one, two, three = (key(DirectoryKind.ACCOUNT, f"bacc_{number}") for number in (1, 2, 3))
    table = write(
        database,
        *(account(number) for number in (1, 2, 3, 4)),
        fetch(one, T0 - 5, 1, "first"),
        fetch(one, T0 - 3, 2, "second"),
        fetch(one, T0 - 2, 3, None, "missing"),
        fetch(two, T0 - 9, 4, "of two"),
        fetch(two, T0 + 1, 5, "of two"),
        fetch(three, T0 - 8, 6, None, "unusable"),
    )

    due = table.due([A], fetched_until=T0, limit=99)

    assert due == [(key(DirectoryKind.ACCOUNT, "bacc_4"), None), (three, None), (one, "second")]


def test_given_keys_then_those_never_fetched_are_returned_in_their_order(
    database: duckdb.DuckDBPyConnection,
) -> None:
    keys = [key(DirectoryKind.ENTITY, f"enti_{number}") for number in (3, 1, 2)]
    elsewhere = [key(DirectoryKind.ACCOUNT, "enti_1"), key(DirectoryKind.ENTITY, "enti_1", tenant=B)]
    table = write(database, fetch(keys[1], T0, 1, None, "missing"))

    assert table.never_fetched(keys + elsewhere) == [keys[0], keys[2], *elsewhere]
    assert table.never_fetched([]) == []


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    parties=st.lists(st.sampled_from(["bacc_1", "bacc_2", "cpty_1", "cpty_2"]), unique=True),
    fetches=st.lists(st.tuples(st.sampled_from(["bacc_1", "bacc_2", "cpty_1"]), st.integers(-3, 3)), max_size=6),
)
def test_given_any_parties_and_fetches_then_what_is_due_is_what_a_list_of_them_says(
    database: duckdb.DuckDBPyConnection, parties: list[str], fetches: list[tuple[str, int]]
) -> None:
    database.execute("DELETE FROM counterparties")
    database.execute("DELETE FROM directory")
    named = {party: key(kind_of_counterparty(party), party) for party in ("bacc_1", "bacc_2", "cpty_1", "cpty_2")}
    rows = [fetch(named[party], T0 + at, offset, f"{offset}") for offset, (party, at) in enumerate(fetches)]
    table = write(database, *map(counterparty, parties), *rows)

    newest: dict[str, tuple[int, str]] = {}
    for offset, (party, at) in enumerate(fetches):
        newest[party] = (max(at, newest[party][0] if party in newest else at), f"{offset}")
    expected: list[DueParty] = [(named[party], None) for party in parties if party not in newest]
    expected += [(named[party], newest[party][1]) for party in parties if party in newest and newest[party][0] <= 0]

    assert sorted(table.due([A], fetched_until=T0, limit=99), key=repr) == sorted(expected, key=repr)
