"""The random streams themselves: the same again from the same seed, full of what a bank sends, and no feature idle."""

import json
import re
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.oracle.comparing import differences
from tests.oracle.facts import SEEDED
from tests.oracle.oracle import Expected, Oracle
from tests.oracle.random_streams import Teller, stream_of, streams
from tests.support import bank_events as bank
from tests.support.few_transfers import let_few_suffice

GONE = {"entity.sanctionsHit"}
LEFT_OUT = {"entity.rescreenDays", "policy.ladderVersion", "commonSignals"}  # a score is no feature of the oracle's
NEW = {
    *("moved", "entity.fraudRisk", "entity.busiestDay35dCount", "entity.busiestDay35dCents", "entity.peak48hCents"),
    *("entity.left48hCents", "entity.newMoney48hCents", "counterparty.unauthorizedReturns60d"),
    "counterparty.frozenReturns",
}
SEEDS = range(40)
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]


def events_of(entries: list[LogEntry]) -> list[dict[str, Any]]:
    return [json.loads(entry.body) for entry in entries if entry.kind == EntryKind.BANK]


def test_given_a_seed_when_a_stream_is_made_twice_then_it_is_the_same() -> None:
    assert stream_of(Random(7), 30) == stream_of(Random(7), 30)


def test_given_random_streams_when_they_are_read_then_every_way_of_money_is_there_and_no_entity_but_cards() -> None:
    events = [event for seed in SEEDS for event in events_of(stream_of(Random(seed), 30))]

    stems = {event["type"].rsplit(".", 1)[0] for event in events}
    named = {event["type"].split(".", 1)[0] for event in events if "entity_id" in event["data"]}

    assert set(bank.RESOURCES.values()) | {"account", "identity.verification", "card.dispute"} <= stems
    assert named == {"card"}


def test_given_random_streams_when_policies_come_into_force_then_a_version_is_one_body_and_never_the_seeded_one() -> (
    None
):
    for seed in SEEDS:
        teller = Teller(Random(seed), "prg_1")
        for _ in range(6):
            teller.owner()
            teller.thresholds()
            teller.cap()

        bodies = [(body["version"], json.dumps(body["body"])) for body in teller.versions]
        versions = {version for version, _ in bodies}
        assert len(set(bodies)) == len(versions)
        assert SEEDED.version not in versions


def test_given_random_streams_when_they_are_scored_then_no_feature_is_always_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_few_suffice(monkeypatch, 3)
    told: dict[str, set[Any]] = defaultdict(set)
    for seed in SEEDS:
        oracle = Oracle()
        for expected in map(oracle.apply, stream_of(Random(seed), 30)):
            for name, value in {} if expected is None else expected.features.items():
                told[name].add(value)

    # False is told where True is; 0 and empty words say nothing.
    idle = {name for name, values in told.items() if len(values - {None}) < 2}

    assert len(told) > 90
    assert not idle


def test_given_the_documented_features_when_a_transfer_is_scored_then_each_has_an_expected_value() -> None:
    page = (Path(__file__).parents[2] / "docs" / "features.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([^`]+)`", page, flags=re.MULTILINE))
    entry = bank.a_bank_entry("wire.outgoing_transfer.completed", bank.a_wire())

    expected = Oracle().apply(entry)

    assert expected is not None
    assert documented - GONE - LEFT_OUT <= set(expected.features)
    assert set(expected.features) >= NEW


def test_given_what_another_says_when_it_differs_then_each_feature_is_named_once() -> None:
    expected = Expected("trf_1", 0, {"moved": True, "velocity24hCount": 1, "program.p95Cents": 1_000, "type": None})

    said = {"moved": 1, "velocity24hCount": 2, "program.p95Cents": 1_005}

    assert not differences(expected.features, expected)
    assert [line.split(":")[0] for line in differences(said, expected)] == [
        "trf_1.moved",
        "trf_1.velocity24hCount",
        "trf_1.type",
    ]


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=25), seed=st.integers(0, 10**6))
def test_given_a_stream_when_other_programs_are_told_the_same_then_each_is_scored_alone(
    entries: list[LogEntry], seed: int
) -> None:
    alone, among = Oracle(), Oracle()

    for entry, other in zip(entries, stream_of(Random(seed), len(entries), program_id="prg_2"), strict=False):
        among.apply(other)
        assert among.apply(entry) == alone.apply(entry)
