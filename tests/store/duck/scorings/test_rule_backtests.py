"""Backtests over stored scorings, held to a naive count of the same rows."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import AlertRow, BackfillRow, LabelRow
from clearhold.features.core.rows.events import PreflightMatchRow
from clearhold.features.core.rules import MOST_CAUGHT, MOST_EXAMPLES, MOST_SAMPLED, Backtest, DailyVolume, Rule
from clearhold.features.rules.backtest import to_backtest
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings import rule_backtests
from clearhold.store.duck.scorings.rule_backtests import RuleBacktest
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, a_match, a_scoring, a_step, an_alert
from tests.support.principals import a_key, an_operator
from tests.support.rules import a_condition, a_rule, interpreted

DAYS: Final = 90
START: Final = AT - DAYS * DAY_US
OTHER: Final = "prg_2"
AGAIN: Final = {"rescored": True}
EVERYTHING: Final = a_rule(a_condition("amountCents", "gte", 0))
NOTHING: Final = a_rule(a_condition("amountCents", "lt", 0))
RULES: Final = (
    EVERYTHING,
    NOTHING,
    a_rule(a_condition("amountCents", "gt", 500_000), action="hold"),
    a_rule(a_condition("amountCents", "gt", 500_000), a_condition("rail", "eq", "wire"), action="log"),
    a_rule(a_condition("counterpartyCountry", "is_null"), programId=PROGRAM),
    a_rule(a_condition("velocity24hCount", "between", (3, 9)), a_condition("rail", "not_in", ("ach", "card"))),
)


class Tables:
    """Rows of a tenant as lists, and the same in the database."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self.database = database
        self.scorings: list[TransferFeaturesRow] = []
        self.alerts: list[AlertRow] = []
        self.labels: list[LabelRow] = []
        self.matches: list[PreflightMatchRow] = []
        self.steps: list[BackfillRow] = []

    def write(self) -> None:
        rows: dict[type[msgspec.Struct], Sequence[msgspec.Struct]] = {
            TransferFeaturesRow: self.scorings,
            AlertRow: self.alerts,
            LabelRow: self.labels,
            PreflightMatchRow: self.matches,
            BackfillRow: self.steps,
        }
        given = {kind: each for kind, each in rows.items() if each}
        BatchWriter(self.database).commit(row_tables(given), {}, AT)

    def backtest(self, rule: Rule, *, full: bool, by: Principal | None = None) -> Backtest:
        with RuleBacktest(self.database, by or an_operator(TENANT), rule, None, Span(START, AT + 1)) as backtest:
            counts, sampled = (backtest.over_all(), False) if full else backtest.over_newest()
        return to_backtest(rule, counts, key="key_1", at=AT, days=DAYS, sampled=sampled, full=full)


@pytest.fixture
def tables(database: duckdb.DuckDBPyConnection) -> Tables:
    return Tables(database)


def random_tables(tables: Tables, seed: int, transfers: int) -> None:
    """Two programs of the tenant and one of another; transfers with up to three scorings, some by a backfill."""
    random, offset = Random(seed), 0
    for number in range(transfers):
        program = random.choice((PROGRAM, OTHER))
        tenant = "tnt_2" if random.random() < 0.1 else TENANT
        place: dict[str, Any] = {"tenant_id": tenant, "program_id": program, "transfer_id": f"trf_{number % 250:03}"}
        at = START - DAY_US + random.randrange((DAYS + 2) * DAY_US) // HOUR_US * HOUR_US
        if any((row.tenant_id, row.program_id, row.transfer_id) == tuple(place.values()) for row in tables.scorings):
            continue
        for number_of_scoring in range(random.choice((1, 1, 1, 2, 3))):
            offset += 1
            values = {
                "rescored": number_of_scoring > 0,
                "amount_cents": random.choice((None, 100_00, 499_999, 500_001, 900_000)),
                "rail": random.choice(("ach", "wire", "card")),
                "counterparty_country": random.choice((None, "US", "DE")),
                "velocity_24h_count": random.randrange(12),
                "band": random.choice(("clear", "clear", "review", "hold", "unscored")),
            }
            tables.scorings.append(a_scoring(at=at, offset=offset, **place | values))
        if random.random() < 0.2:
            offset += 1
            tables.scorings.append(a_scoring(at=at, offset=offset, **place | AGAIN, amount_cents=900_000, rail="wire"))
            tables.steps.append(a_step(offset, tenant_id=tenant, program_id=program))
        offset += 1
        if random.random() < 0.3:
            evidence = msgspec.json.encode({"transferIds": [f"trf_{random.randrange(250):03}", place["transfer_id"]]})
            detector = random.choice(("velocity_spike", "rule:big-wires"))
            place_of_alert = {"tenant_id": tenant, "program_id": program, "offset": offset, "detector": detector}
            tables.alerts.append(an_alert(evidence=evidence.decode(), updated_at=AT, **place_of_alert))
        for _ in range(random.choice((0, 0, 1, 2))):
            offset += 1
            tables.labels.append(a_label(offset=offset, label=random.choice(("bad", "ok")), **place))
        if random.random() < 0.3:
            tables.matches.append(a_match(offset=offset, matched_at=AT, **place))
    tables.write()


class Naive:
    """The same counts by loops over the rows, in the order of the specification's sentences."""

    def __init__(self, tables: Tables, rule: Rule, *, full: bool) -> None:
        def mine(row: Any) -> bool:
            return row.tenant_id == TENANT and rule.program_id in {None, row.program_id}

        by_backfill = {(step.shard, step.offset) for step in tables.steps}
        scorings: dict[tuple[str, str], list[TransferFeaturesRow]] = {}
        for row in tables.scorings:
            if mine(row) and START <= row.taken_at <= AT and (row.shard, row.offset) not in by_backfill:
                scorings.setdefault((row.program_id, row.transfer_id), []).append(row)
        newest = sorted(scorings, key=lambda key: (-scorings[key][0].taken_at, key[1], key[0]))
        self.sampled = not full and len(newest) > MOST_SAMPLED
        self.scanned = newest if full else newest[:MOST_SAMPLED]
        self.first: dict[tuple[str, str], TransferFeaturesRow] = {}
        for key in self.scanned:
            hits = [row for row in scorings[key] if interpreted(rule, values_by_name(row.vector))]
            if hits:
                self.first[key] = min(hits, key=lambda row: row.offset)
        self.label = {(row.program_id, row.transfer_id): row.label for row in tables.labels if mine(row)}
        self.alerted = {
            (row.program_id, transfer_id)
            for row in tables.alerts
            if mine(row) and row.detector != "rule:big-wires"
            for transfer_id in msgspec.json.decode(row.evidence)["transferIds"]
        }
        self.landed = {(row.program_id, row.transfer_id) for row in tables.matches if mine(row)}

    def labelled(self, keys: Sequence[tuple[str, str]], label: str) -> int:
        return sum(self.label.get(key) == label for key in keys)


def check(tables: Tables, rule: Rule, *, full: bool) -> None:
    naive, result = Naive(tables, rule, full=full), tables.backtest(rule, full=full)
    matched = list(naive.first)
    assert (result.scanned, result.sampled, result.matched) == (len(naive.scanned), naive.sampled, len(matched))
    assert result.would_alert == (0 if rule.action == "log" else len(matched))
    assert result.would_hold == (len(matched) if rule.action == "hold" else 0)
    assert result.overlap_with_existing_alerts == len(naive.alerted & naive.first.keys())
    bands = [row.band for row in naive.first.values()]
    assert result.by_band == {band: bands.count(band) for band in ("clear", "review", "hold", "unscored")}
    assert result.sample_transfer_ids == tuple(transfer_id for _, transfer_id in matched[:MOST_EXAMPLES])
    if result.full is msgspec.UNSET:
        assert not full
        return
    bad, ok = naive.labelled(matched, "bad"), naive.labelled(matched, "ok")
    assert (result.full.precision.n, result.full.precision.value) == (bad + ok, _share(bad, bad + ok))
    every_bad = naive.labelled(naive.scanned, "bad")
    assert (result.full.recall.n, result.full.recall.value) == (every_bad, _share(bad, every_bad))
    wrong = [transfer_id for program_id, transfer_id in matched if naive.label.get((program_id, transfer_id)) == "ok"]
    assert result.full.false_positive_transfer_ids == tuple(wrong[:MOST_EXAMPLES])
    landed = [key for key in naive.scanned if key in naive.landed]
    held = len(naive.landed & naive.first.keys()) if rule.action == "hold" else 0
    assert (result.full.preflights_held.n, result.full.preflights_held.value) == (
        len(landed),
        _share(held, len(landed)),
    )
    caught = result.full.caught
    assert (caught.count, caught.transfer_ids) == (len(matched), tuple(each for _, each in matched[:MOST_CAUGHT]))
    assert caught.cents == str(sum(row.vector.amount_cents or 0 for row in naive.first.values()))
    assert sum(week.scanned for week in result.full.by_week) == len(naive.scanned)
    assert sum(week.matched for week in result.full.by_week) == len(matched)


def _share(part: int, n: int) -> float | None:
    return round(part / n, 6) if n else None


@pytest.mark.parametrize("rows_a_stretch", [60, 500_000])
def test_given_random_scorings_when_backtested_then_every_figure_is_the_naive_one(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, rows_a_stretch: int
) -> None:
    monkeypatch.setattr(rule_backtests, "STRETCH_ROWS", rows_a_stretch)
    random_tables(tables, rows_a_stretch, 300)

    for rule in RULES:
        check(tables, rule, full=True)
        check(tables, rule, full=False)


@pytest.mark.parametrize("transfers", [999, 1_000, 1_001])
def test_given_as_many_transfers_as_a_sample_has_when_backtested_then_it_is_sampled_only_if_there_are_more(
    tables: Tables, transfers: int
) -> None:
    oldest = START + DAY_US
    tables.scorings = [a_scoring(f"trf_{number}", oldest + number, number) for number in range(transfers)]
    tables.scorings += [a_scoring("trf_500", oldest + 500, 10_000 + again, **AGAIN) for again in range(1_100)]
    tables.write()

    result = tables.backtest(EVERYTHING, full=False)
    whole = tables.backtest(EVERYTHING, full=True)

    scanned = min(transfers, MOST_SAMPLED)
    assert (result.scanned, result.matched, result.matched_share) == (scanned, scanned, 1.0)
    assert result.sampled == (transfers > MOST_SAMPLED)
    assert result.sample_transfer_ids[0] == f"trf_{transfers - 1}"
    assert (whole.scanned, whole.sampled, whole.matched) == (transfers, False, transfers)


def test_given_more_transfers_of_one_instant_than_a_sample_has_when_backtested_then_their_ids_decide(
    tables: Tables,
) -> None:
    tables.scorings = [a_scoring(f"trf_{number:04}", AT, 2_000 - number) for number in range(MOST_SAMPLED + 1)]
    tables.scorings[-1] = a_scoring(f"trf_{MOST_SAMPLED}", AT, 1, amount_cents=900_000)
    tables.write()

    assert tables.backtest(EVERYTHING, full=False).sample_transfer_ids[:2] == ("trf_0000", "trf_0001")
    result = tables.backtest(RULES[2], full=False)
    assert (result.scanned, result.sampled, result.matched) == (MOST_SAMPLED, True, 0)


def test_given_matches_on_some_days_when_backtested_then_every_day_since_the_first_counts_in_their_volume(
    tables: Tables,
) -> None:
    day = AT - AT % DAY_US
    counts = [3, *([0] * 17), 1, 7]  # of the twenty days up to that of the backtest
    instants = [day - (19 - place) * DAY_US for place, count in enumerate(counts) for _ in range(count)]
    tables.scorings = [a_scoring(f"trf_{number}", at, number) for number, at in enumerate(instants)]
    tables.write()

    full = tables.backtest(EVERYTHING, full=True).full

    assert full is not msgspec.UNSET
    assert full.volume_a_day == DailyVolume(mean=0.55, p95=3, max=7, n=20)
    assert [week.matched for week in full.by_week] == [3, 0, 8]


def test_given_no_transfer_when_backtested_then_shares_are_null_and_counts_zero(tables: Tables) -> None:
    result = tables.backtest(EVERYTHING, full=True)

    assert (result.scanned, result.sampled, result.matched, result.matched_share) == (0, False, 0, None)
    assert result.full is not msgspec.UNSET
    assert [result.full.precision.value, result.full.recall.value, result.full.preflights_held.value] == [None] * 3
    assert (result.full.volume_a_day.mean, result.full.volume_a_day.max, result.full.by_week) == (None, None, ())
    assert tables.backtest(EVERYTHING, full=False).matched_share is None


def test_given_a_transfer_that_matches_again_when_backtested_then_its_first_match_counts(tables: Tables) -> None:
    tables.scorings = [
        a_scoring("trf_1", AT, 1, amount_cents=1, band="clear"),
        a_scoring("trf_1", AT, 2, amount_cents=700_000, band="hold", **AGAIN),
        a_scoring("trf_1", AT, 3, amount_cents=900_000, band="review", **AGAIN),
    ]
    tables.write()

    result = tables.backtest(RULES[2], full=True)

    assert (result.scanned, result.matched, result.would_hold) == (1, 1, 1)
    assert result.by_band == {"clear": 0, "review": 0, "hold": 1, "unscored": 0}
    assert result.full is not msgspec.UNSET
    assert result.full.caught.cents == "700000"


def test_given_a_match_that_only_a_backfill_scored_when_backtested_then_it_is_none(tables: Tables) -> None:
    tables.scorings = [a_scoring("trf_1", AT, 1), a_scoring("trf_1", AT, 2, amount_cents=900_000, **AGAIN)]
    tables.steps = [a_step(2)]
    tables.write()

    result = tables.backtest(RULES[2], full=True)

    assert (result.scanned, result.matched) == (1, 0)


def test_given_transfers_at_the_ends_of_the_window_when_backtested_then_both_ends_are_in_it(tables: Tables) -> None:
    instants = (START - 1, START, AT, AT + 1)
    tables.scorings = [a_scoring(f"trf_{number}", at, number) for number, at in enumerate(instants)]
    tables.write()

    assert tables.backtest(EVERYTHING, full=True).sample_transfer_ids == ("trf_2", "trf_1")
    assert tables.backtest(EVERYTHING, full=False).sample_transfer_ids == ("trf_2", "trf_1")


def test_given_programs_out_of_reach_when_backtested_then_their_transfers_are_not_read(tables: Tables) -> None:
    tables.scorings = [
        a_scoring("trf_1", AT, 1),
        a_scoring("trf_2", AT, 2, program_id=OTHER),
        a_scoring("trf_3", AT, 3, tenant_id="tnt_2"),
    ]
    tables.write()
    of_program = msgspec.structs.replace(EVERYTHING, program_id=OTHER)

    assert tables.backtest(EVERYTHING, full=True, by=a_key(TENANT, PROGRAM)).sample_transfer_ids == ("trf_1",)
    assert tables.backtest(EVERYTHING, full=False, by=a_key(TENANT)).scanned == 0
    assert tables.backtest(of_program, full=True).sample_transfer_ids == ("trf_2",)
    with pytest.raises(ForbiddenError):
        tables.backtest(of_program, full=True, by=a_key(TENANT, PROGRAM))


def test_given_an_interrupted_backtest_when_it_reads_on_then_it_ends(tables: Tables) -> None:
    with RuleBacktest(tables.database, an_operator(TENANT), EVERYTHING, None, Span(START, AT + 1)) as backtest:
        backtest.interrupt()

        with pytest.raises(duckdb.InterruptException):
            backtest.over_all()
