"""The transfers that stand for parties, as a backfill of actors reads them: the newest of each, and the strongest."""

from random import Random

import duckdb
import msgspec
import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.state.score_memory import StrongestTransfers
from clearhold.flows.backfill.rescoring import FADING
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.backfills import PartyTransfers
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer


def write(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> None:
    of_type = {type(row): [each for each in rows if type(each) is type(row)] for row in rows}
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


def transfers_at(database: duckdb.DuckDBPyConnection, upto: int) -> PartyTransfers:
    transfers = PartyTransfers(database, tenant_id=TENANT, program_id=PROGRAM, upto=upto)
    transfers.find(FADING)
    return transfers


@pytest.mark.parametrize("seed", range(3))
def test_given_random_transfers_then_an_entity_has_the_four_that_memory_holds_first_and_its_newest(
    database: duckdb.DuckDBPyConnection, seed: int
) -> None:
    chance = Random(seed)
    points = [None, 0, 7, 30, 30, 69, 100]
    scores = [(number, chance.randrange(3), chance.randrange(40), chance.choice(points)) for number in range(60)]
    rows: list[msgspec.Struct] = []
    memory = StrongestTransfers()
    for number, entity, day, stored in scores:
        for offset, entity_id, score in ((number + 1, "enti_first", 100), (1_000 + number, f"enti_{entity}", stored)):
            named = {"offset": offset, "score": score, "entity_id": entity_id}
            rows.append(a_transfer(id=f"t{number:02}", bank_created_at=AT + day * DAY_US, **named))
        memory.add(entity, number, AT + day * DAY_US, stored or 0)
    write(database, *rows)

    last_row = (1 << 32) - 1
    with transfers_at(database, 5_000) as transfers:
        for entity in range(3):
            held = sorted((entry for entry, _ in memory._all(entity)), reverse=True)
            strongest = {last_row - (each & last_row) for each in held[: FADING.kept]}
            assert len(strongest) == 4
            newest = max((day, number) for number, owner, day, _ in scores if owner == entity)[1]
            found = transfers.of_actors([f"enti_{entity}"])
            assert found == tuple(f"t{number:02}" for number in (newest, *sorted(strongest - {newest})))
        assert transfers.of_actors(["enti_first"]) == ()


def test_given_versions_behind_the_offset_then_those_up_to_it_count(database: duckdb.DuckDBPyConnection) -> None:
    write(
        database,
        a_transfer(id="a", offset=1, score=90, entity_id="enti_1"),
        a_transfer(id="b", offset=2, score=None, entity_id="enti_1", bank_created_at=AT + 1),
        a_transfer(id="a", offset=9, score=0, entity_id="enti_1"),
    )
    found = []

    for upto in (8, 9):
        with transfers_at(database, upto) as transfers:
            found.append(transfers.of_actors(["enti_1"]))

    assert found == [("b", "a"), ("b",)]


def test_given_transfers_of_parties_then_the_newest_of_each_is_found_as_of_the_offset(
    database: duckdb.DuckDBPyConnection,
) -> None:
    sides = {"a": ("enti_1", "cpty_1", 0), "b": ("enti_1", "cpty_2", 2), "c": ("enti_2", "cpty_1", 1)}
    rows = [
        a_transfer(id=name, offset=place, bank_created_at=AT + day, score=None, entity_id=entity, counterparty_id=party)
        for place, (name, (entity, party, day)) in enumerate(sides.items(), start=1)
    ]
    rows.append(a_transfer(id="e", offset=4, bank_created_at=AT, entity_id=None, account_id="bacc_1"))
    rows.append(a_transfer(id="f", offset=5, bank_created_at=AT, entity_id="same", counterparty_id=None))
    rows.append(a_transfer(id="g", offset=6, bank_created_at=AT + 1, entity_id=None, counterparty_id="same"))
    later = a_transfer(id="d", offset=9, bank_created_at=AT + 9, entity_id="enti_1", counterparty_id="cpty_1")
    write(database, *rows, later)

    with transfers_at(database, 8) as transfers:
        actors = [transfers.of_actors([actor]) for actor in ("enti_1", "enti_2", "bacc_1", "cpty_1", "nobody")]
        parties = [transfers.of_counterparties([party]) for party in ("cpty_1", "cpty_2", "enti_1", "same")]
        same = transfers.of_actors(["same"])
        together = transfers.of_actors(["enti_1", "enti_2", "bacc_1"])

    assert actors == [("b",), ("c",), ("e",), (), ()]
    assert parties == [("c",), ("b",), (), ("g",)]
    assert same == ("f",)
    assert together == ("b", "c", "e")
