"""Stored scorings as a backfill reads them: the newest of each transfer, page by page, exactly as they were written."""

from array import array
from random import Random
from typing import Any, Final

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.reason import Reason
from clearhold.features.parties.actor_scores import shares_of
from clearhold.features.scorers.trs_v1.scorer import SCORER
from clearhold.features.state.score_memory import StrongestTransfers
from clearhold.flows.backfill.actors import FADING
from clearhold.store.duck.scorings.newest import NewestScorings, newest_of
from clearhold.store.duck.scorings.strongest import StoredScore, StrongestScorings
from clearhold.store.duck.writer import BatchWriter
from clearhold.store.tables.row_tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer, some_features
from tests.support.vectors import VECTORS

OLD: Final = "features-v0"


def a_scoring(**over: Any) -> TransferFeaturesRow:
    return some_features(**{"feature_version": FEATURE_VERSION} | over)


def write(database: duckdb.DuckDBPyConnection, *rows: msgspec.Struct) -> None:
    of_type = {type(row): [each for each in rows if type(each) is type(row)] for row in rows}
    BatchWriter(database).commit(row_tables(of_type), {}, AT)


def newest(database: duckdb.DuckDBPyConnection, *, upto: int = 2**62) -> NewestScorings:
    found = NewestScorings(database, tenant_id=TENANT, program_id=PROGRAM, upto=upto, feature_version=FEATURE_VERSION)
    found.find()
    return found


def pages(found: NewestScorings, size: int, after: int = 0) -> list[list[tuple[str, int]]]:
    read = []
    while (page := found.page(after, size)) is not None:
        read.append(sorted((row.transfer_id, row.offset) for row in page.rows))
        assert page.count == len(read[-1])
        after = page.upto
    return read


def test_given_several_scorings_of_a_transfer_then_the_newest_up_to_the_offset_is_read_once(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(
        database,
        *(a_scoring(transfer_id=name, offset=at) for name, at in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 9)]),
        a_scoring(transfer_id="a", offset=4, program_id="prg_2"),
        a_scoring(transfer_id="d", offset=4, tenant_id="tnt_2"),
    )

    with newest(database, upto=8) as found:
        assert (found.total, found.others) == (3, 0)
        assert pages(found, 2) == [[("a", 3), ("b", 2)], [("c", 4)]]
        assert pages(found, 100, after=2) == [[("a", 3), ("c", 4)]]


def test_given_many_scorings_at_one_offset_when_paged_then_an_offset_is_never_cut(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(database, *(a_scoring(transfer_id=f"t{number}", offset=1 + number // 5) for number in range(15)))

    with newest(database) as found:
        assert [len(page) for page in pages(found, 3)] == [5, 5, 5]
        assert [len(page) for page in pages(found, 6)] == [10, 5]


def test_given_newest_scorings_of_another_version_then_they_are_counted_and_read_too(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(
        database,
        a_scoring(transfer_id="a", offset=1),
        a_scoring(transfer_id="a", offset=2, feature_version=OLD),
        a_scoring(transfer_id="b", offset=3, feature_version=OLD),
        a_scoring(transfer_id="b", offset=4),
    )

    with newest(database) as found:
        assert (found.total, found.others) == (2, 1)
        assert pages(found, 10) == [[("a", 2), ("b", 4)]]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(found=st.lists(VECTORS, min_size=1, max_size=4))
def test_given_any_vector_when_stored_and_read_then_it_is_the_same_to_the_type(
    found: list[FeatureVector], database: duckdb.DuckDBPyConnection
) -> None:
    database.execute("DELETE FROM transfer_features")
    rows = [a_scoring(transfer_id=f"t{at}", offset=at + 1, vector=vector) for at, vector in enumerate(found)]
    write(database, *rows)

    with newest(database) as stored:
        page = stored.page(0, 10)
        assert page is not None
        read = sorted(page.rows, key=lambda row: row.offset)

    assert list(map(repr, read)) == list(map(repr, rows))
    assert newest_of(database, "t0") == rows[:1]


def test_given_one_id_in_two_programs_then_the_newest_of_each_is_found(database: duckdb.DuckDBPyConnection) -> None:
    rows = [
        a_scoring(transfer_id="t", program_id=program, offset=offset)
        for program, offset in [("prg_1", 1), ("prg_2", 2), ("prg_1", 3)]
    ]
    write(database, *rows)

    assert [(row.program_id, row.offset) for row in newest_of(database, "t")] == [("prg_1", 3), ("prg_2", 2)]
    assert newest_of(database, "nothing") == []


REASON_IDS: Final = tuple(SCORER.families)


def shares(points: int, number: int) -> tuple[Reason, ...]:
    """Reasons that add up to the points, some of identity, some of returns, some of neither."""
    ids = [REASON_IDS[number % len(REASON_IDS)], REASON_IDS[number * 7 % len(REASON_IDS)]]
    return tuple(
        Reason(id=reason_id, signal="s", weight=weight, hard=False, sentence="S.")
        for reason_id, weight in zip(ids, (points // 3, points - points // 3), strict=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_given_random_transfers_then_the_strongest_of_an_entity_are_those_that_memory_would_keep(
    database: duckdb.DuckDBPyConnection, seed: int
) -> None:
    chance = Random(seed)
    points = [None, 0, 7, 30, 30, 69, 100]
    scores = [(number, chance.randrange(3), chance.randrange(40), chance.choice(points)) for number in range(60)]
    rows: list[msgspec.Struct] = []
    memory = StrongestTransfers()
    for number, entity, day, stored in scores:
        for offset, entity_id, score in ((number + 1, "enti_first", 100), (1_000 + number, f"enti_{entity}", stored)):
            named = {"offset": offset, "scored_offset": offset, "score": score, "entity_id": entity_id}
            rows.append(a_transfer(id=f"t{number:02}", bank_created_at=AT + day * DAY_US, **named))
            reasons = msgspec.json.encode(shares(score or 0, number)).decode()
            rows.append(a_scoring(transfer_id=f"t{number:02}", offset=offset, score=score, reasons=reasons))
        memory.add(entity, number, AT + day * DAY_US, stored or 0)
    write(database, *rows)

    kept, last_row = array("q", memory.dump()[0]), (1 << 32) - 1
    with StrongestScorings(database, tenant_id=TENANT, program_id=PROGRAM, upto=5_000) as strongest:
        strongest.find(FADING)
        for entity in range(3):
            rows_kept = {last_row - (each & last_row) for each in kept[entity * 4 : entity * 4 + 4] if each}
            found = strongest.of([f"enti_{entity}"])
            assert {int(each.transfer_id[1:]) for each in found} == rows_kept
        assert strongest.of(["enti_first"]) == ()
        together = strongest.of(["enti_0", "enti_1", "enti_2"])
    assert len(together) == 12
    assert all(sum(shares_of(each.reasons)) <= each.score for each in together)
    assert any(shares_of(each.reasons)[0] for each in together)
    assert any(shares_of(each.reasons)[1] for each in together)


def test_given_versions_behind_the_offset_then_what_was_stored_at_it_counts(
    database: duckdb.DuckDBPyConnection,
) -> None:
    write(
        database,
        a_transfer(id="a", offset=1, scored_offset=1, score=90, entity_id="enti_1"),
        a_scoring(transfer_id="a", offset=1, score=90, reasons="[]"),
        a_transfer(id="a", offset=9, scored_offset=9, score=5, entity_id=None),
        a_scoring(transfer_id="a", offset=9, score=5, reasons="[]"),
    )
    found = []

    for upto in (8, 9):
        with StrongestScorings(database, tenant_id=TENANT, program_id=PROGRAM, upto=upto) as strongest:
            strongest.find(FADING)
            found.append(strongest.of(["enti_1"]))

    assert found == [(StoredScore("a", 90, ()),), ()]


def test_given_transfers_of_parties_then_the_newest_of_each_is_found_as_of_the_offset(
    database: duckdb.DuckDBPyConnection,
) -> None:
    sides = {"a": ("enti_1", "cpty_1", 0), "b": ("enti_1", "cpty_2", 2), "c": ("enti_2", "cpty_1", 1)}
    rows = [
        a_transfer(id=name, offset=place, bank_created_at=AT + day, entity_id=entity, counterparty_id=party)
        for place, (name, (entity, party, day)) in enumerate(sides.items(), start=1)
    ]
    rows.append(a_transfer(id="e", offset=4, bank_created_at=AT, entity_id=None, account_id="bacc_1"))
    rows.append(a_transfer(id="f", offset=5, bank_created_at=AT, entity_id="same", counterparty_id=None))
    rows.append(a_transfer(id="g", offset=6, bank_created_at=AT + 1, entity_id=None, counterparty_id="same"))
    later = a_transfer(id="d", offset=9, bank_created_at=AT + 9, entity_id="enti_1", counterparty_id="cpty_1")
    write(database, *rows, later)

    with StrongestScorings(database, tenant_id=TENANT, program_id=PROGRAM, upto=8) as strongest:
        strongest.find(FADING)
        actors = [strongest.last_of_actors([actor]) for actor in ("enti_1", "enti_2", "bacc_1", "cpty_1", "nobody")]
        parties = [strongest.last_of_counterparties([party]) for party in ("cpty_1", "cpty_2", "enti_1", "same")]
        same = strongest.last_of_actors(["same"])
        together = strongest.last_of_actors(["enti_1", "enti_2", "bacc_1"])

    assert actors == [("b",), ("c",), ("e",), (), ()]
    assert parties == [("c",), ("b",), (), ("g",)]
    assert same == ("f",)
    assert together == ("b", "c", "e")
