"""Pairs of scores counted from the rows of a shadow: each transfer once, with the label that is known of it now."""

from typing import Any

import duckdb
import msgspec
import pytest

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.instants import DAY_US, DAYS_60
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.rows.parties import ShadowScoreRow
from clearhold.features.core.scorecards import UNSCORED_CLASS, PairCount
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.labelled import ShadowScores
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, a_shadow_score
from tests.support.principals import a_key, an_operator

SINCE = AT - 10 * DAY_US
OWN = "trs-v1+scorecard-v1"


def stored(database: duckdb.DuckDBPyConnection, scores: list[ShadowScoreRow], labels: list[LabelRow]) -> ShadowScores:
    rows: dict[type[msgspec.Struct], list[Any]] = {ShadowScoreRow: scores, LabelRow: labels}
    BatchWriter(database).commit(row_tables(rows), {}, AT)
    return ShadowScores(database)


def counted(table: ShadowScores, **over: Any) -> tuple[list[PairCount], list[str]]:
    usual: dict[str, Any] = {"program_ids": None, "since": SINCE, "now": AT}
    return table.counts(over.pop("by", an_operator(TENANT)), OWN, **usual | over)


def test_given_scorings_of_all_kinds_when_counted_then_each_transfer_has_its_newest_of_this_shadow(
    database: duckdb.DuckDBPyConnection,
) -> None:
    table = stored(
        database,
        [
            a_shadow_score("trf_1", score=45, band="review"),
            a_shadow_score("trf_1", score=12, band="clear", offset=9, champion_version="trs-v1+scorecard-v2"),
            a_shadow_score("trf_2", score=None, band="unscored", champion_score=None, champion_band="unscored"),
            a_shadow_score("trf_3", score=100, band="hold"),
            a_shadow_score("trf_4", version="trs-v1+scorecard-v7"),
            a_shadow_score("trf_5", scored_at=SINCE - 1),
            a_shadow_score("trf_6", tenant_id="tnt_2"),
        ],
        [],
    )

    counts, champions = counted(table)

    assert [tuple(each) for each in counts] == [
        ("clear", "clear", 0, 1, None, False, 1),
        ("clear", "hold", 0, 9, None, False, 1),
        ("unscored", "unscored", UNSCORED_CLASS, UNSCORED_CLASS, None, False, 1),
    ]
    assert champions == ["trs-v1", "trs-v1+scorecard-v2"]


def test_given_labels_when_counted_then_they_are_mature_sixty_days_after_their_transfers_and_the_newest_word_wins(
    database: duckdb.DuckDBPyConnection,
) -> None:
    table = stored(
        database,
        [
            a_shadow_score("trf_1", bank_created_at=AT - DAYS_60),
            a_shadow_score("trf_2", bank_created_at=AT - DAYS_60 + 1),
            a_shadow_score("trf_3"),
        ],
        [
            a_label(transfer_id="trf_1", label="bad"),
            a_label(transfer_id="trf_1", label="ok", offset=2),
            a_label(transfer_id="trf_2", label="ok", offset=3),
            a_label(transfer_id="trf_3", label="bad", offset=4),
        ],
    )

    counts, _ = counted(table)

    assert {(each.label, each.is_mature, each.transfers) for each in counts} == {
        ("ok", True, 1),
        ("ok", False, 1),
        ("bad", False, 1),
    }


def test_given_a_key_of_one_program_when_counted_then_no_other_program_is_seen(
    database: duckdb.DuckDBPyConnection,
) -> None:
    table = stored(database, [a_shadow_score("trf_1"), a_shadow_score("trf_2", program_id="prg_2")], [])

    assert sum(each.transfers for each in counted(table)[0]) == 2
    assert sum(each.transfers for each in counted(table, program_ids=("prg_2",))[0]) == 1
    assert sum(each.transfers for each in counted(table, by=a_key(TENANT, PROGRAM))[0]) == 1
    with pytest.raises(ForbiddenError):
        counted(table, by=a_key(TENANT, PROGRAM), program_ids=("prg_2",))
