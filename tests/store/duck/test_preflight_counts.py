"""Counts of pre-flights agree with a count by hand over random rows: repeats, matches, labels that change."""

import random
from statistics import quantiles
from typing import Any, Final

import duckdb
import pytest

from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.rows.events import PreflightMatchRow, PreflightRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.inputs import PreflightCounts, Preflights
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, TENANT, a_label, a_match, a_preflight
from tests.support.principals import a_key, an_operator

PROGRAMS: Final = ("prg_1", "prg_2")
OTHER: Final = "tnt_2"
SINCE: Final = AT + 200

Rows = tuple[list[PreflightRow], list[PreflightMatchRow], list[LabelRow]]


def random_rows(seed: int) -> Rows:
    """Ids, transfers and offsets meet on purpose: two programs and two tenants have the same ones."""
    chance = random.Random(seed)
    asked, matched, labelled = [], [], []
    for offset in range(1, 801):
        place: dict[str, Any] = {"offset": offset, "program_id": chance.choice(PROGRAMS)}
        place |= {"tenant_id": chance.choice((TENANT, TENANT, OTHER))}
        preflight_id, transfer_id = f"pre_{chance.randrange(60)}", f"trf_{chance.randrange(20)}"
        match chance.randrange(3):
            case 0:
                decision = chance.choice(("clear", "review", "hold"))
                said = {"decision": decision, "degraded": chance.random() < 0.3, "latency_ms": chance.randrange(1, 30)}
                asked.append(a_preflight(id=preflight_id, created_at=AT + offset, **said, **place))
            case 1:
                matched.append(a_match(preflight_id=preflight_id, transfer_id=transfer_id, **place))
            case _:
                label = chance.choice(("bad", "ok"))
                labelled.append(a_label(id=f"lbl_{offset}", transfer_id=transfer_id, label=label, **place))
    return asked, matched, labelled


def counted_by_hand(rows: Rows, programs: tuple[str, ...]) -> PreflightCounts:
    """One row after the other, in the order of the log."""
    asked, matched, labelled = rows
    answers = {
        (row.program_id, row.id): row
        for row in asked
        if row.tenant_id == TENANT and row.program_id in programs and row.created_at >= SINCE
    }
    landed: dict[tuple[str, str], str] = {}
    for match in matched:
        if match.tenant_id == TENANT:
            landed.setdefault((match.program_id, match.preflight_id), match.transfer_id)
    verdicts = {(row.program_id, row.transfer_id): row.label for row in labelled if row.tenant_id == TENANT}
    graded = [
        (row.decision == "hold", verdicts.get((key[0], landed[key]))) for key, row in answers.items() if key in landed
    ]
    decisions = [row.decision for row in answers.values()]
    tenths = quantiles([row.latency_ms for row in answers.values()], n=10, method="inclusive")
    return PreflightCounts(
        total=len(answers),
        clear=decisions.count("clear"),
        review=decisions.count("review"),
        hold=decisions.count("hold"),
        degraded=sum(row.degraded for row in answers.values()),
        matched=sum(key in landed for key in answers),
        latency_ms_p50=tenths[4],
        latency_ms_p90=tenths[8],
        hold_bad=graded.count((True, "bad")),
        hold_ok=graded.count((True, "ok")),
        other_bad=graded.count((False, "bad")),
        other_ok=graded.count((False, "ok")),
    )


def rounded(counts: PreflightCounts) -> list[float]:
    return [round(value, 6) for value in counts if value is not None]


@pytest.mark.parametrize("seed", range(4))
def test_given_random_rows_when_counted_then_each_count_is_the_one_by_hand(
    database: duckdb.DuckDBPyConnection, seed: int
) -> None:
    rows = random_rows(seed)
    asked, matched, labelled = rows
    tables = row_tables({PreflightRow: asked, PreflightMatchRow: matched, LabelRow: labelled})
    BatchWriter(database).commit(tables, {}, AT)
    preflights, first = Preflights(database), PROGRAMS[:1]

    everything = preflights.counts(an_operator(TENANT), None, since=SINCE)
    of_one = preflights.counts(an_operator(TENANT), first, since=SINCE)
    in_reach = preflights.counts(a_key(TENANT, *first), None, since=SINCE)

    assert rounded(everything) == rounded(counted_by_hand(rows, PROGRAMS))
    assert rounded(of_one) == rounded(in_reach) == rounded(counted_by_hand(rows, first))
    assert all(everything), "a count that is always 0 shows nothing"
    assert preflights.counts(a_key(TENANT, *first), PROGRAMS[1:], since=SINCE).total == 0


def test_given_no_preflight_when_counted_then_the_latencies_are_not_measured(
    database: duckdb.DuckDBPyConnection,
) -> None:
    counts = Preflights(database).counts(an_operator(TENANT), None, since=0)

    assert (counts.total, counts.latency_ms_p50, counts.latency_ms_p90) == (0, None, None)
    assert {value for value in counts if value is not None} == {0}
