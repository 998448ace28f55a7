"""Indicators and scores of programs among the metrics: what has a series, under which labels, and what has none."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from clearhold.api.settings import Settings
from clearhold.api.telemetry import metrics
from clearhold.api.telemetry.metrics import MOST_PROGRAMS, ProgramCollector, ProgramName
from clearhold.features.catalogue.kris import KriName, KriStatus, KriUnit, KriValue
from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.core.vocabulary import ProgramSource, band_word
from clearhold.store.duck.database import open_database
from clearhold.store.duck.reports.scores import NewestSnapshots
from clearhold.store.errors import StartupError
from tests.support.clock import T0, FrozenClock

RATE: Final = KriValue(value=0.006, n=400, unit=KriUnit.RATIO, threshold=0.005, status=KriStatus.BREACH)
COVERAGE: Final = KriValue(value=1.1, n=7, unit=KriUnit.RATIO, threshold=1.0, status=KriStatus.WATCH)
FREEZES: Final = KriValue(value=0, n=30, unit=KriUnit.COUNT, threshold=None, status=KriStatus.OK)
NOT_MEASURED: Final = KriValue(
    value=None, n=0, unit=KriUnit.HOURS, threshold=24.0, status=KriStatus.UNMEASURED, note="No hold."
)
KRIS: Final = {
    KriName.ACH_UNAUTHORIZED_RETURN_RATE: RATE,
    KriName.RESERVE_COVERAGE: COVERAGE,
    KriName.FREEZE_EVENTS: FREEZES,
    KriName.HOLD_AGING_HOURS: NOT_MEASURED,
}
INDICATORS: Final = ("value", "threshold", "status", "n")


class Watched:
    """A database with snapshots, and what a scrape shows of them."""

    def __init__(self, database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, *, most: int) -> None:
        monkeypatch.setattr(metrics, "KEPT_S", 0.0)
        self.database, self.clock, self.offset = database, FrozenClock(T0), 0
        self.names: dict[str, ProgramName] = {}
        self.registry = CollectorRegistry()
        self.registry.register(
            ProgramCollector(NewestSnapshots(database), name_of=self.names.get, most=most, clock=self.clock)
        )

    def scrape(self) -> str:
        text: bytes = generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return text.decode()

    def add(
        self,
        slug: str,
        *,
        score: int | None = None,
        kris: Mapping[KriName, KriValue] | None = None,
        at: int = T0,
        source: ProgramSource = ProgramSource.BANK,
    ) -> None:
        self.offset += 1
        self.names[f"id-of-{slug}"] = ProgramName("first-bank", slug, source)
        row = KriSnapshotRow(
            tenant_id="id-of-first-bank",
            program_id=f"id-of-{slug}",
            id=f"snapshot-{self.offset}",
            shard=0,
            offset=self.offset,
            cause="scheduled",
            as_of_at=at,
            window_days=60,
            kris=msgspec.json.encode(kris or {}).decode(),
            program_score=score,
            program_score_n=sum(each.value is not None for each in (kris or {}).values()),
            program_score_version="prs-v1",
            band=band_word(score),
            created_at=at,
        )
        values = msgspec.structs.asdict(row)
        marks = ", ".join("make_timestamp(?)" if name.endswith("_at") else "?" for name in values)
        self.database.execute(f"INSERT INTO kri_snapshots VALUES ({marks})", list(values.values()))  # noqa: S608

    def samples(self, name: str) -> dict[str, float]:
        """By program, and indicator where the series has one."""
        text = self.scrape()
        assert text.endswith("# EOF\n")
        families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        samples = [each for family in families for each in family.samples]
        return {
            "/".join(filter(None, (each.labels.get("program"), each.labels.get("kri")))): each.value
            for each in samples
            if each.name == f"clearhold_program_{name}"
        }


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as connection:
        yield connection


@pytest.fixture
def watched(database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(database, monkeypatch, most=2)


def test_given_a_snapshot_then_each_measured_indicator_has_value_threshold_status_and_n(watched: Watched) -> None:
    watched.add("payroll", score=45, kris=KRIS, at=T0)
    watched.clock.advance(MINUTE_US)

    rate, coverage, freezes = (f"payroll/{name}" for name in list(KRIS)[:3])
    assert watched.samples("kri_value") == {rate: 0.006, coverage: 1.1, freezes: 0}
    assert watched.samples("kri_threshold") == {rate: 0.005, coverage: 1.0}
    assert watched.samples("kri_status") == {rate: 2, coverage: 1, freezes: 0}
    assert watched.samples("kri_n") == {rate: 400, coverage: 7, freezes: 30}
    assert watched.samples("score") == {"payroll": 45}
    assert watched.samples("score_n") == {"payroll": 3}
    assert watched.samples("snapshot_age_seconds") == {"payroll": 60}


def test_given_a_scrape_then_labels_are_slugs_and_units_and_never_ids(watched: Watched) -> None:
    watched.add("payroll", score=45, kris=KRIS)
    watched.add("demo", kris=KRIS, source=ProgramSource.SIMULATED)

    text = watched.scrape()

    labels = 'kri="reserve_coverage",program="payroll",source="bank",tenant="first-bank",unit="ratio"'
    assert f"clearhold_program_kri_value{{{labels}}} 1.1\n" in text
    assert 'clearhold_program_snapshot_age_seconds{program="demo",source="simulated",tenant="first-bank"}' in text
    assert "# UNIT clearhold_program_snapshot_age_seconds seconds\n" in text
    assert "id-of-" not in text


def test_given_a_program_without_a_score_then_it_has_none_and_not_zero(watched: Watched) -> None:
    watched.add("payroll", score=None, kris={KriName.HOLD_AGING_HOURS: NOT_MEASURED})

    assert watched.samples("score") == {}
    assert [watched.samples(f"kri_{name}") for name in INDICATORS] == [{}] * 4
    assert watched.samples("score_n") == {"payroll": 0}


def test_given_a_newer_snapshot_when_it_is_committed_then_it_alone_is_shown(watched: Watched) -> None:
    watched.add("payroll", score=10, kris=KRIS)
    watched.add("wallet", score=20)
    assert watched.samples("score") == {"payroll": 10, "wallet": 20}

    watched.add("payroll", score=35)
    watched.add("payroll", score=30)

    assert watched.samples("score") == {"payroll": 30, "wallet": 20}
    assert watched.samples("kri_value") == {}


def test_given_more_programs_than_are_shown_then_the_highest_scores_are_and_the_rest_is_counted(
    watched: Watched,
) -> None:
    watched.add("simulated", score=100, source=ProgramSource.SIMULATED)
    watched.add("unscored", score=None)
    watched.add("zero", score=0)
    watched.add("high", score=80)

    assert watched.samples("score") == {"high": 80, "zero": 0}
    assert watched.samples("metrics_left_out") == {"": 2}

    watched.add("unscored", score=95)

    assert watched.samples("score") == {"high": 80, "unscored": 95}


def test_given_a_program_that_was_never_confirmed_then_it_is_not_shown(watched: Watched) -> None:
    watched.add("payroll", score=10)
    watched.names.clear()

    assert watched.samples("score") == {}
    assert watched.samples("metrics_left_out") == {"": 0}


def test_given_a_scrape_within_seconds_of_another_then_the_database_is_not_read_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.add("payroll", score=10)
    assert watched.samples("score") == {"payroll": 10}
    monkeypatch.setattr(metrics, "KEPT_S", 60.0)

    watched.add("payroll", score=20)

    assert watched.samples("score") == {"payroll": 10}


def test_given_a_database_that_does_not_answer_then_the_last_snapshots_are_shown_and_age(watched: Watched) -> None:
    watched.add("payroll", score=10)
    assert watched.samples("score") == {"payroll": 10}
    watched.clock.advance(MINUTE_US)

    watched.database.close()

    assert watched.samples("score") == {"payroll": 10}
    assert watched.samples("snapshot_age_seconds") == {"payroll": 60}


@pytest.mark.parametrize("text", ["-1", "501", "some", "1e2", "9" * 5_000])
def test_given_a_variable_that_is_no_number_of_programs_then_a_sentence_and_no_start(text: str) -> None:
    with pytest.raises(
        StartupError, match=f"CLEARHOLD_PROGRAM_METRICS must be a number of programs, 0-{MOST_PROGRAMS}"
    ):
        Settings.of(data=Path(), host="::1", port=0, environment={"CLEARHOLD_PROGRAM_METRICS": text})


def test_given_an_option_and_a_variable_then_the_option_counts_and_without_either_no_program_is_shown() -> None:
    def shown(environment: dict[str, str], option: int | None = None) -> Any:
        return Settings.of(
            data=Path(), host="::1", port=0, environment=environment, program_metrics=option
        ).program_metrics

    assert shown({}) == 0
    assert shown({"CLEARHOLD_PROGRAM_METRICS": "40"}) == 40
    assert shown({"CLEARHOLD_PROGRAM_METRICS": "40"}, 0) == 0
