"""The ready questions on small random lakes, held against plain Python, and one lake counted by hand."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

import duckdb
import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.measured import wilson_interval
from clearhold.features.core.vocabulary import band_word
from clearhold.store.analysts.questions import QUESTIONS
from clearhold.store.analysts.views import STATEMENTS
from tests.support.clock import FrozenClock
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_disposition, a_label, a_scoring, an_alert, an_event
from tests.support.small_lake import Row, SmallLake

MONDAY = AT - AT % DAY_US - (AT // DAY_US + 3) % 7 * DAY_US  # the epoch's first day was a Thursday
REASONS = ("TRS-VEL-01", "TRS-AMT-01", "TRS-NEW-01")
NOW = f"make_timestamp({MONDAY + 90 * DAY_US})"


class Known(NamedTuple):
    """A transfer as the oracle sees it: its first scoring and the label that counts."""

    id: str
    program: str
    at: int
    score: int | None
    reasons: tuple[str, ...]
    is_bad: bool | None

    @property
    def band(self) -> str:
        return band_word(self.score)

    @property
    def place(self) -> int:
        return 10 if self.score is None else min(self.score // 10, 9)


@pytest.fixture
def lake(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> SmallLake:
    return SmallLake(tmp_path, database, clock)


def rows_of(transfers: Sequence[Known], chance: Random) -> Iterator[msgspec.Struct]:
    """Each scoring, some scored again later, which no question may count, and some labels that were corrected."""
    for each in transfers:
        reasons = msgspec.json.encode([{"id": reason, "signal": "s", "weight": 5} for reason in each.reasons]).decode()
        row = a_scoring(
            each.id,
            each.at,
            0,
            program_id=each.program,
            score=each.score,
            band=each.band,
            reasons=reasons,
            n=each.at % 50,
        )
        yield row
        if chance.random() < 0.3:
            yield msgspec.structs.replace(row, score=99, band="hold", rescored=True)
        if each.is_bad is not None:
            word = {True: "bad", False: "ok"}
            if chance.random() < 0.3:
                yield a_label(transfer_id=each.id, program_id=each.program, label=word[not each.is_bad])
            yield a_label(transfer_id=each.id, program_id=each.program, label=word[each.is_bad])
    yield a_label(transfer_id="trf_that_never_came")


def random_transfers(chance: Random, *, number: int | None = None) -> list[Known]:
    return [
        Known(
            id=f"trf_{place}",
            program=chance.choice((PROGRAM, "prg_2")),
            at=MONDAY + chance.randrange(5 * 7 * DAY_US),
            score=chance.choice((None, chance.randint(0, 100), chance.randint(0, 29))),
            reasons=tuple(chance.sample(REASONS, chance.randint(0, 3))),
            is_bad=chance.choice((None, None, True, False)),
        )
        for place in range(number or chance.randint(30, 150))
    ]


def share(part: int, n: int) -> float | None:
    return part / n if n else None


def bounds(part: int, n: int) -> tuple[float | None, float | None]:
    return wilson_interval(part, n) or (None, None)


def counted_bad(transfers: Sequence[Known]) -> tuple[int, int]:
    labelled = [each for each in transfers if each.is_bad is not None]
    return len(labelled), sum(each.is_bad is True for each in labelled)


def stability(before: Sequence[Known], after: Sequence[Known]) -> float | None:
    if not before or not after:
        return None
    counts = [Counter(each.place for each in period) for period in (before, after)]
    p, q = ([(count[place] + 0.5) / (count.total() + 5.5) for place in range(11)] for count in counts)
    return sum((b - a) * log(b / a) for a, b in zip(p, q, strict=True))


def same(rows: Sequence[Row], expected: Sequence[Row]) -> None:
    assert [{name: row[name] for name in wanted} for row, wanted in zip(rows, expected, strict=True)] == [
        {name: pytest.approx(value) if isinstance(value, float) else value for name, value in wanted.items()}
        for wanted in expected
    ]


@pytest.mark.parametrize("seed", range(2))
def test_given_random_transfers_when_outcomes_are_counted_then_they_are_those_of_plain_python(
    lake: SmallLake, seed: int
) -> None:
    chance = Random(seed)
    everything = random_transfers(chance)
    lake.write(list(rows_of(everything, chance)))

    for options, transfers in (
        ("", everything),
        (f"program := '{PROGRAM}'", [each for each in everything if each.program == PROGRAM]),
        (
            f"since := make_timestamp({MONDAY + 7 * DAY_US}), until := make_timestamp({MONDAY + 21 * DAY_US})",
            [each for each in everything if MONDAY + 7 * DAY_US <= each.at < MONDAY + 21 * DAY_US],
        ),
    ):
        same(lake.rows(f"band_outcomes({options}{', ' * bool(options)}as_of := {NOW})"), list(by_band(transfers)))
        same(lake.rows(f"precision_recall({options})"), list(by_line(transfers)))
        same(lake.rows(f"reason_lift({options})"), by_reason(transfers))
        same(lake.rows(f"weekly_drift({options})"), list(by_week(transfers)))
        same(lake.rows(f"weekly_reasons({options})"), list(reasons_by_week(transfers)))


def by_band(transfers: Sequence[Known]) -> Iterator[Row]:
    for band in ("clear", "review", "hold", "unscored"):
        within = [each for each in transfers if each.band == band]
        n, bad = counted_bad(within)
        mature_n, mature_bad = counted_bad([each for each in within if each.at <= MONDAY + 30 * DAY_US])
        low, high = bounds(bad, n)
        yield {
            "band": band,
            "transfers": len(within),
            "n": n,
            "bad": bad,
            "bad_share": share(bad, n),
            "low": low,
            "high": high,
            "mature_n": mature_n,
            "mature_share": share(mature_n, n),
            "mature_bad_share": share(mature_bad, mature_n),
            "mature_low": bounds(mature_bad, mature_n)[0],
        }


def by_line(transfers: Sequence[Known]) -> Iterator[Row]:
    _, all_bad = counted_bad(transfers)
    for line in range(0, 101, 5):
        alerted = [each for each in transfers if each.score is not None and each.score >= line]
        n, tp = counted_bad(alerted)
        yield {
            "score_from": line,
            "alerted": len(alerted),
            "n": n,
            "tp": tp,
            "fp": n - tp,
            "fn": all_bad - tp,
            "precision": share(tp, n),
            "recall": share(tp, all_bad),
            "precision_low": bounds(tp, n)[0],
            "recall_high": bounds(tp, all_bad)[1],
            "bad_n": all_bad,
        }


def by_reason(transfers: Sequence[Known]) -> list[Row]:
    all_n, all_bad = counted_bad(transfers)
    rows = []
    for reason in REASONS:
        n, bad = counted_bad([each for each in transfers if reason in each.reasons])
        if n:
            lift = bad / n / (all_bad / all_n) if all_bad else None
            rows.append(
                {"reason_id": reason, "n": n, "bad": bad, "all_n": all_n, "lift": lift, "low": bounds(bad, n)[0]}
            )
    return sorted(rows, key=lambda row: (-(row["lift"] or 0), -row["n"], row["reason_id"]))


def by_week(transfers: Sequence[Known]) -> Iterator[Row]:
    weeks = {week: [each for each in transfers if (each.at - MONDAY) // (7 * DAY_US) == week] for week in range(5)}
    for week, within in weeks.items():
        if within:
            n = len(within)
            yield {
                "n": n,
                "hold_share": sum(each.band == "hold" for each in within) / n,
                "unscored_share": sum(each.score is None for each in within) / n,
                "median_n": sorted(each.at % 50 for each in within)[(n - 1) // 2],
                "psi": stability(weeks.get(week - 1, []), within),
            }


def reasons_by_week(transfers: Sequence[Known]) -> Iterator[Row]:
    for week in range(5):
        within = [e for e in transfers if (e.at - MONDAY) // (7 * DAY_US) == week and e.band in {"review", "hold"}]
        counts = Counter(reason for each in within for reason in each.reasons)
        for place, (reason, fired) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0])), 1):
            yield {"place": place, "reason_id": reason, "fired": fired, "n": len(within), "share": fired / len(within)}


@pytest.mark.parametrize("seed", range(2))
def test_given_random_transfers_when_chances_and_stability_are_measured_then_they_are_those_of_plain_python(
    lake: SmallLake, seed: int
) -> None:
    chance, split = Random(seed + 10), MONDAY + 20 * DAY_US
    transfers = random_transfers(chance, number=800)
    lake.write(list(rows_of(transfers, chance)))
    early, late = ([e for e in transfers if (e.at < split) is is_early] for is_early in (True, False))

    expected, gaps, squares = [], [], []
    for place in range(10):
        fitted_n, fitted_bad = counted_bad([each for each in early if each.place == place])
        n, bad = counted_bad([each for each in late if each.place == place])
        p, observed = share(fitted_bad, fitted_n), share(bad, n)
        expected.append({"score_from": place * 10, "fitted_n": fitted_n, "p": p, "n": n, "observed": observed})
        if p is not None and observed is not None:
            gaps.append((n, n * abs(p - observed)))
            squares.append(bad * (1 - p) ** 2 + (n - bad) * p**2)
    whole = sum(n for n, _ in gaps)
    for row in expected:
        row["ece"] = sum(gap for _, gap in gaps) / whole if whole else None
        row["brier"] = sum(squares) / whole if whole else None
    same(lake.rows(f"reliability(split_at := make_timestamp({split}))"), expected)

    spans = ", ".join(f"make_timestamp({MONDAY + days * DAY_US})" for days in (0, 20, 20, 35))
    rows = lake.rows(f"score_stability({spans})")
    assert [(row["n_before"], row["n_after"]) for row in rows] == [
        (sum(e.place == place for e in early), sum(e.place == place for e in late)) for place in range(11)
    ]
    assert rows[0]["psi"] == pytest.approx(stability(early, late))


def test_given_four_labelled_holds_when_three_are_bad_then_the_share_and_its_interval_are_those_counted_by_hand(
    lake: SmallLake,
) -> None:
    transfers = [Known(f"trf_{n}", PROGRAM, MONDAY, 80, (), is_bad=n != 3) for n in range(4)]
    lake.write(list(rows_of([*transfers, Known("trf_4", PROGRAM, MONDAY, 80, (), None)], Random(0))))

    clear, _, hold, _ = lake.rows(f"band_outcomes(as_of := make_timestamp({MONDAY + 59 * DAY_US}))")

    assert (hold["transfers"], hold["n"], hold["bad"], hold["bad_share"]) == (5, 4, 3, 0.75)
    assert (round(hold["low"], 4), round(hold["high"], 4)) == (0.3006, 0.9544)
    assert (hold["mature_n"], hold["mature_share"], hold["mature_bad_share"]) == (0, 0.0, None)
    assert (clear["transfers"], clear["n"], clear["bad_share"], clear["low"]) == (0, 0, None, None)
    assert lake.rows(f"labelled(mature_only := true, as_of := make_timestamp({MONDAY + 59 * DAY_US}))") == []


def test_given_alerts_when_their_age_is_measured_then_each_tier_has_its_open_overdue_and_closed_ones(
    lake: SmallLake,
) -> None:
    at = MONDAY + 40 * DAY_US
    chance, rows = Random(5), list[msgspec.Struct]()
    alerts = [
        (chance.choice(("standard", "complex")), chance.randrange(900), chance.choice((None, 5, 50)), 24 * (n % 3))
        for n in range(40)
    ]
    for number, (tier, hours, closed, due) in enumerate(alerts):
        opened = at - hours * HOUR_US
        rows.append(
            an_alert(
                id=f"alr_{number}",
                sla_tier=tier,
                opened_at=opened,
                due_at=opened + due * HOUR_US if due else None,
                closed_at=None if closed is None else opened + closed * HOUR_US,
                dedupe_key=f"key_{number}",
            )
        )
    lake.write(rows)

    expected = []
    for tier in ("complex", "standard"):
        waiting = [(hours, due) for each, hours, closed, due in alerts if each == tier and closed is None]
        done = [(closed, due) for each, _, closed, due in alerts if each == tier and closed is not None]
        due_n, in_time = sum(due > 0 for _, due in done), sum(0 < closed <= due for closed, due in done)
        expected.append(
            {
                "sla_tier": tier,
                "open_n": len(waiting),
                "under_1_day": sum(hours < 24 for hours, _ in waiting),
                "under_30_days": sum(168 <= hours < 720 for hours, _ in waiting),
                "older": sum(hours >= 720 for hours, _ in waiting),
                "overdue": sum(0 < due < wait for wait, due in waiting),
                "open_hours_p50": float(median(hours for hours, _ in waiting)),
                "closed_n": len(done),
                "closing_hours_p50": float(median(closed for closed, _ in done)),
                "due_n": due_n,
                "in_time_share": share(in_time, due_n),
                "low": bounds(in_time, due_n)[0],
            }
        )
    same(lake.rows(f"alert_ageing(as_of := make_timestamp({at}))"), expected)


def test_given_alerts_that_changed_later_when_their_age_is_measured_as_of_before_then_they_are_as_they_were_then(
    lake: SmallLake,
) -> None:
    opened, then = MONDAY, MONDAY + 10 * HOUR_US
    later = then + HOUR_US
    first = an_alert(
        id="alr_closed_later", opened_at=opened, closed_at=None, updated_at=opened, due_at=None, sla_tier="standard"
    )
    closed = msgspec.structs.replace(first, status="closed", closed_at=later, updated_at=later)
    auto = an_alert(
        id="alr_reopened_later", opened_at=opened, closed_at=opened, updated_at=opened, sla_tier="auto", dedupe_key="b"
    )
    reopened = msgspec.structs.replace(auto, status="held", closed_at=None, updated_at=later, sla_tier="standard")
    new = an_alert(id="alr_new", opened_at=later, updated_at=later, sla_tier="standard", dedupe_key="c")
    lake.write([first, auto, closed, reopened, new])

    before, after = (
        {row["sla_tier"]: row for row in lake.rows(f"alert_ageing(as_of := make_timestamp({at}))")}
        for at in (then, later + HOUR_US)
    )

    assert [(row["open_n"], row["closed_n"]) for row in before.values()] == [(0, 1), (1, 0)]
    assert (before["standard"]["open_hours_p50"], before["standard"]["due_n"]) == (10.0, 0)
    assert before["auto"]["closing_hours_p50"] == 0.0
    assert {tier: (row["open_n"], row["closed_n"]) for tier, row in after.items()} == {"standard": (2, 1)}


def test_given_events_transfers_and_alerts_when_the_funnel_is_read_then_each_step_has_its_share(
    lake: SmallLake,
) -> None:
    events = [an_event(event_id=f"evt_{n}", result="applied" if n else "unknown") for n in range(4)]
    scorings = [
        a_scoring(f"trf_{n}", AT, 0, score=score, band=band_word(score)) for n, score in enumerate((None, 5, 80))
    ]
    again = a_scoring("trf_2", AT, 0, score=90, band="hold", rescored=True)
    alerts = [an_alert(id=f"alr_{n}", dedupe_key=f"key_{n}") for n in range(3)]
    closed = an_alert(id="alr_0", closed_at=AT, dedupe_key="key_0")
    decided = [
        a_disposition(id="dsp_1", alert_id="alr_0", decided_by="policy:policy-v1"),
        a_disposition(id="dsp_2", alert_id="alr_0"),
        a_disposition(id="dsp_3", alert_id="alr_1", decided_by="policy:policy-v1"),
    ]
    lake.write([*events, *scorings, again, *alerts, closed, *decided])

    rows = lake.rows(f"funnel(tenant := '{TENANT}')")

    assert [(row["n"], row["of_n"]) for row in rows] == [
        (4, None),
        (3, 4),
        (3, None),
        (2, 3),
        (1, 2),
        (3, None),
        (2, 3),
        (1, 2),
        (1, 3),
    ]
    assert (rows[0]["share"], rows[1]["share"]) == (None, 0.75)
    assert {row["n"] for row in lake.rows(f"funnel(since := make_timestamp({AT + 1}))")} == {0}


def test_given_an_empty_lake_then_every_question_answers_says_what_it_answers_and_measures_nothing(
    lake: SmallLake,
) -> None:
    lake.write([a_label()])

    for each in QUESTIONS:
        periods = "'2026-01-01', '2026-02-01', '2026-02-01', '2026-03-01'" if each.name == "score_stability" else ""
        for row in lake.rows(f"{each.name}({periods})"):
            measured = {
                name: row[name] for name in row if "share" in name or name in {"low", "high", "p", "psi", "lift"}
            }
            assert set(measured.values()) <= {None}, each.name
    told = lake.rows("duckdb_functions() WHERE NOT internal AND comment IS NOT NULL")
    assert {row["function_name"] for row in told} == {each.name for each in QUESTIONS} | {"wilson_low", "wilson_high"}
    assert len(STATEMENTS) == 2 * len(told)
