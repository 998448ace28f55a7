"""Random rules over random streams: the matches and the alerts are those that an interpreter finds in the vectors."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import AlertBodyRow, AlertRow, RuleMatchRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.rules import Rule, rule_hash
from clearhold.features.policy.bodies import RulesBody
from clearhold.features.shard.shard import ShardState
from tests.support.policies import policy_entry
from tests.support.random_streams import streams
from tests.support.rules import RULES, interpreted

PROGRAM: Final = "prg_1"
IDS: Final = ("rule-a", "rule-b", "rule-c")  # few, so that versions have rules in common


class Change(NamedTuple):
    """A version that comes into force behind an entry of the stream."""

    after: int
    prefix: str
    rules: tuple[Rule, ...]


Match = tuple[int, str, str, str]
"""Offset, rule, mode and transfer."""


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    drawn = []
    for _ in range(draw(st.integers(1, 4))):
        ids = draw(st.lists(st.sampled_from(IDS), unique=True))
        rules = [
            msgspec.structs.replace(
                draw(RULES),
                id=rule_id,
                action=draw(st.sampled_from(("alert", "hold", "review", "log"))),
                program_id=draw(st.sampled_from((None, None, PROGRAM, "prg_2"))),
            )
            for rule_id in ids
        ]
        drawn.append(Change(draw(st.integers(0, 20)), draw(st.sampled_from(("rules", "shadow"))), tuple(rules)))
    return drawn


def a_version(change: Change, number: int, entry: LogEntry) -> LogEntry:
    body, place = policy_entry(f"{change.prefix}-v{number}", RulesBody(rules=change.rules)), entry.offset + number + 1
    return LogEntry(entry.shard, place, EntryKind.POLICY, PROGRAM, entry.appended_at, body)


def with_changes(entries: Sequence[LogEntry], planned: Sequence[Change]) -> list[LogEntry]:
    together = list(entries)
    for number, change in enumerate(planned):
        together.append(a_version(change, number, entries[change.after % len(entries)]))
    return sorted(together, key=lambda entry: entry.offset)


def expected(entries: Sequence[LogEntry], rows: Sequence[msgspec.Struct]) -> list[Match]:
    """What the vectors of the rows say, held against the versions that the entries brought."""
    vectors = {row.offset: row for row in rows if isinstance(row, TransferFeaturesRow)}
    in_force: dict[str, tuple[Rule, ...]] = {}
    remembered: set[tuple[str, str, str]] = set()  # what a text matched, for as long as it stays in force in a mode
    found: list[Match] = []
    for entry in entries:
        if entry.kind == EntryKind.POLICY:
            policy = msgspec.json.decode(entry.body, type=PolicyEntry)
            prefix, rules = policy.version.partition("-")[0], msgspec.convert(policy.body, RulesBody).rules
            in_force[prefix], mode = rules, "log" if prefix == "rules" else "shadow"
            hashes = set(map(rule_hash, rules))
            remembered = {each for each in remembered if each[0] != mode or each[1] in hashes}
            continue
        scored = vectors.get(entry.offset)
        if scored is None:
            continue
        inputs = values_by_name(scored.vector)
        for prefix, mode in (("rules", "log"), ("shadow", "shadow")):
            for rule in in_force.get(prefix, ()):
                match = (mode, rule_hash(rule), scored.transfer_id)
                is_counted = mode == "shadow" or rule.action == "log"
                if is_counted and match not in remembered and counts(rule) and interpreted(rule, inputs):
                    remembered.add(match)
                    found.append((entry.offset, rule.id, mode, scored.transfer_id))
    return found


def counts(rule: Rule) -> bool:
    return rule.program_id in {None, PROGRAM}


def alerted(entries: Sequence[LogEntry], rows: Sequence[msgspec.Struct]) -> list[tuple[int, str, str]]:
    """Offset, detector and transfer of the alerts that active rules open: the first match of a rule's id is one."""
    vectors = {row.offset: row for row in rows if isinstance(row, TransferFeaturesRow)}
    active: tuple[Rule, ...] = ()
    opened: dict[tuple[str, str], int] = {}
    for entry in entries:
        if entry.kind == EntryKind.POLICY:
            policy = msgspec.json.decode(entry.body, type=PolicyEntry)
            active = msgspec.convert(policy.body, RulesBody).rules if policy.version.startswith("rules") else active
        scored = vectors.get(entry.offset)
        for rule in active if scored is not None else ():
            assert scored is not None
            if rule.action != "log" and counts(rule) and interpreted(rule, values_by_name(scored.vector)):
                opened.setdefault((f"rule:{rule.id}", scored.transfer_id), entry.offset)
    return [(offset, *place) for place, offset in opened.items()]


@settings(max_examples=60, deadline=None)
@given(entries=streams(least=1, most=20), planned=changes(), stop=st.integers(0, 24))
def test_given_any_rules_over_any_stream_then_matches_and_alerts_are_what_the_vectors_say_also_over_a_snapshot(
    entries: list[LogEntry], planned: list[Change], stop: int
) -> None:
    log = with_changes(entries, planned)
    state, rows = ShardState(0), list[msgspec.Struct]()

    for place, entry in enumerate(log):
        if place == stop:
            state = ShardState.loaded(iter(list(state.dump())))
        state.apply(entry, rows.append)

    matches = [row for row in rows if isinstance(row, RuleMatchRow)]
    opened = [(row.alert_id, row.offset) for row in rows if isinstance(row, AlertBodyRow)]
    of_rules = {row.id: row for row in rows if isinstance(row, AlertRow) and row.detector.startswith("rule:")}
    assert [(row.offset, row.rule_id, row.mode, row.transfer_id) for row in matches] == expected(log, rows)
    found = [(offset, of_rules[alert_id]) for alert_id, offset in opened if alert_id in of_rules]
    assert sorted((offset, row.detector, row.transfer_id or "") for offset, row in found) == sorted(alerted(log, rows))
    assert {row.route for row in of_rules.values()} <= {"reviewed"}
    assert not [row for row in rows if isinstance(row, QuarantineRow) and row.kind == EntryKind.POLICY]
