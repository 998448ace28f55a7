"""The rank of a program: among the tenant's programs of its source that the caller sees, at the end of the period."""

from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.reports.scores import ReportSnapshots
from clearhold.store.tables import Span, row_tables
from tests.support.clock import T0
from tests.support.duck_rows import a_snapshot
from tests.support.principals import an_operator
from tests.support.running_app import RunningApp


def commit(api: RunningApp, *rows: KriSnapshotRow) -> None:
    BatchWriter(api.database).commit(row_tables({KriSnapshotRow: rows}), {}, T0)


@pytest.fixture
def ranked(api: RunningApp, tenant: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Programs with the scores of their names, a simulated one and another tenant's; 20 days ago one had another."""
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    programs = {name: api.create_program(tenant, slug=name) for name in ("score-80", "score-30", "also-30", "no-score")}
    theirs = api.create_program(api.create_tenant("second-bank"), slug="theirs")
    scores = {"score-80": 80, "score-30": 30, "also-30": 30, "no-score": None}
    placed = [(programs[name], score, T0) for name, score in scores.items()]
    earlier = [(programs["score-30"], 90, T0 - 20 * DAY_US), (programs["score-80"], 80, T0 - 20 * DAY_US)]
    rows = enumerate([*earlier, *placed, (simulated, 95, T0), (theirs, 95, T0)], start=1)
    commit(
        api,
        *(
            a_snapshot(
                at,
                tenant_id=program["tenantId"],
                program_id=program["id"],
                offset=offset,
                program_score=score,
                program_score_n=7,
            )
            for offset, (program, score, at) in rows
        ),
    )
    return programs | {"simulated": simulated}


def rank_of(api: RunningApp, headers: dict[str, str], program: dict[str, Any], **query: str) -> Any:
    answer = api.client.get(f"/api/reports/program/{program['id']}", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["rank"]


def test_given_programs_with_scores_when_ranked_then_the_highest_is_first_and_ties_share_the_lower_number(
    api: RunningApp, tenant: dict[str, Any], ranked: dict[str, dict[str, Any]]
) -> None:
    ranks = {name: rank_of(api, api.operator(tenant), program) for name, program in ranked.items()}

    assert ranks == {
        "score-80": {"rank": 1, "of": 3, "n": 7},
        "score-30": {"rank": 2, "of": 3, "n": 7},
        "also-30": {"rank": 2, "of": 3, "n": 7},
        "no-score": None,
        "simulated": {"rank": 1, "of": 1, "n": 7},
    }


def test_given_a_period_in_the_past_when_ranked_then_it_is_by_the_scores_of_its_end(
    api: RunningApp, tenant: dict[str, Any], ranked: dict[str, dict[str, Any]]
) -> None:
    then = {"to": "2026-02-20"}

    assert rank_of(api, api.operator(tenant), ranked["score-30"], **then) == {"rank": 1, "of": 2, "n": 7}
    assert rank_of(api, api.operator(tenant), ranked["also-30"], **then) is None


def test_given_a_key_of_one_program_when_it_reads_the_rank_then_it_learns_nothing_of_the_others(
    api: RunningApp, tenant: dict[str, Any], ranked: dict[str, dict[str, Any]]
) -> None:
    key = api.key(tenant, programId=ranked["also-30"]["id"], scopes=["reports"])

    rank = rank_of(api, key, ranked["also-30"])

    assert rank == {"rank": 1, "of": 1, "n": 7}


def test_given_more_snapshots_than_a_report_shows_when_read_then_each_part_of_the_period_gives_its_last(
    api: RunningApp,
) -> None:
    ats = [T0 + minute * 60_000_000 for minute in range(0, 1_000, 7)]
    rows = [a_snapshot(at, offset=offset) for offset, at in enumerate(ats)]
    commit(api, *rows)
    principal, span = an_operator(rows[0].tenant_id), Span(T0, T0 + 1_000 * 60_000_000)

    def points(most: int) -> list[int]:
        return [point.at for point in ReportSnapshots(api.database).points(principal, rows[0].program_id, span, most)]

    assert points(len(ats)) == ats
    part = 100 * 60_000_000
    assert points(10) == [max(at for at in ats if (at - T0) // part == number) for number in range(10)]
    assert len(points(len(ats) - 1)) <= len(ats) - 1
