"""Program caps and the ladder's windows against an oracle that counts anew, on streams of anything a bank may send.

Streams have late, repeated, corrected and canceled transfers, both directions, every rail, and owners told late.
"""

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from features.bank.events import decode_event
from features.core.instants import DAY_US, parse_instant
from features.core.limits import CapKind, CapVersion
from features.core.log_entry import EntryKind, LogEntry, event_time
from features.core.money import USD
from features.core.rows.alerts import AlertRow
from features.core.vocabulary import Direction
from features.landing.cap_usage import cap_usage
from features.landing.caps import crossed_by_landed
from features.landing.preflight import assess_proposed
from features.landing.stored_transfer import StoredTransfer
from features.policy.seeds import LADDER_V1
from features.shard.shard import ShardState
from features.state.program import ProgramState
from tests.features.landing.test_preflight_matches_landing import Question, landing_of, questions
from tests.oracle.limits import LimitsOracle, Transfers, start_of_day, start_of_month
from tests.support import bank_events as bank
from tests.support.builders import a_log_entry, a_program
from tests.support.clock import T0
from tests.support.random_streams import streams

CENTS = (0, 1, 12_500, 300_000, 1_000_000, 5_000_000, 123_456_789, 10**13)
CAPS = {kind: (0, 1, 2, 3, 8) if kind is CapKind.ENTITY_VELOCITY_24H else CENTS for kind in CapKind}
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@st.composite
def caps(draw: st.DrawFn) -> dict[CapKind, int]:
    return {kind: draw(st.sampled_from(CAPS[kind])) for kind in CapKind if draw(st.booleans())}


def put_cap(program: ProgramState, kind: CapKind, cap: int | None) -> None:
    program.caps.put(
        CapVersion(
            kind=kind,
            cap=cap,
            before=program.caps.cap(kind),
            version=program.caps.next_version,
            requested_by="ann",
            approved_by="bob",
            since=T0,
            note=None,
            action_id="act_1",
        )
    )


def a_declaration() -> LogEntry:
    """Without one no detector runs."""
    program = a_program(id="prg_1")
    return a_log_entry(offset=1, kind=EntryKind.PROGRAM, appended_at=T0, body=msgspec.json.encode(program))


class Run:
    """A stream applied to a shard, and noted by the oracle entry by entry."""

    def __init__(self) -> None:
        self.state, self.transfers, self.rows = ShardState(0), Transfers(), list[msgspec.Struct]()
        self.now = T0

    @property
    def program(self) -> ProgramState:
        return self.state.program("prg_1")

    @property
    def oracle(self) -> LimitsOracle:
        return LimitsOracle(self.transfers, self.program)

    def apply(self, entry: LogEntry) -> None:
        self.state.apply(entry, self.rows.append)
        self.now = max(self.now, entry.appended_at)
        created_at = parse_instant(decode_event(entry.body).created_at) if entry.kind == "bank" else None
        at = entry.appended_at if created_at is None else event_time(created_at, appended_at=entry.appended_at)
        self.transfers.note(self.program, entry, at)


def crossed(run: Run, row: int, kinds: dict[CapKind, int]) -> tuple[dict[CapKind, Any], dict[CapKind, Any]]:
    """What a landed transfer crosses, and what the oracle says of it; of a count only that it is over."""
    stored = StoredTransfer.read(run.program, row)
    ours = {each.kind: each.observed for each in crossed_by_landed(run.program, stored, now=run.now)}
    most = {kind: run.oracle.most_of(kind, run.transfers.newest(row), run.now) for kind in kinds}
    theirs = {kind: value for kind, value in most.items() if value is not None and value > kinds[kind]}
    for each in (ours, theirs):
        if CapKind.ENTITY_VELOCITY_24H in each:
            each[CapKind.ENTITY_VELOCITY_24H] = 0
    return ours, theirs


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(entries=streams(most=30), first=caps(), second=caps())
def test_given_any_stream_when_transfers_land_under_caps_then_those_the_oracle_finds_are_crossed(
    entries: list[LogEntry], first: dict[CapKind, int], second: dict[CapKind, int]
) -> None:
    run = Run()
    for index, entry in enumerate(entries):
        kinds = first if index < len(entries) // 2 else second
        for kind in CapKind:
            put_cap(run.program, kind, kinds.get(kind))
        run.apply(entry)
        if index % 5 and index + 1 < len(entries):
            continue  # an oracle that counts everything anew is slow
        for row in range(len(run.program.transfers)):
            if run.program.strings.text(run.transfers.newest(row).currency) == USD:
                ours, theirs = crossed(run, row, kinds)
                assert ours == theirs


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(entries=streams(most=30), question=questions(), over=st.sampled_from((-1, 0, 1)))
def test_given_a_cap_one_cent_under_at_or_over_when_a_transfer_is_proposed_and_lands_then_both_cross_it_alike(
    entries: list[LogEntry], question: Question, over: int
) -> None:
    run = Run()
    for entry in entries:
        run.apply(entry)
    at = run.now + max(question.shift, 0)
    kind, data = landing_of(run.program, question.transfer, at)
    proposed = question.transfer
    run.apply(bank.a_bank_entry(kind, data, offset=1 << 59, created_at=at, appended_at=at))
    row = len(run.program.transfers) - 1
    expected = {each: run.oracle.most_of(each, run.transfers.newest(row), at) for each in CapKind}

    fresh = Run()
    fresh.state.apply(a_declaration(), fresh.rows.append)
    for entry in entries:
        fresh.state.apply(entry, fresh.rows.append)
    for each, value in expected.items():
        put_cap(fresh.program, each, None if value is None or value + over < 0 else value + over)
    would_cross = {reason.id for reason in assess_proposed(fresh.program, proposed, at=at).crossed}
    fresh.rows.clear()
    fresh.state.apply(bank.a_bank_entry(kind, data, offset=1 << 59, created_at=at, appended_at=at), fresh.rows.append)
    alerts = [each for each in fresh.rows if isinstance(each, AlertRow) and each.detector == "program_limit_breach"]

    limits = {f"limit:{each.value}" for each, value in expected.items() if value} if over < 0 else set[str]()
    assert would_cross == limits
    assert {f"limit:{msgspec.json.decode(each.evidence)['features']['limit']}" for each in alerts} == limits
    assert all((each.subject_type, each.severity, each.hard_signal) == ("program", "high", True) for each in alerts)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(entries=streams(most=30), question=questions())
def test_given_any_stream_when_a_transfer_is_proposed_then_the_ladder_sees_what_the_oracle_counts(
    entries: list[LogEntry], question: Question
) -> None:
    run = Run()
    for entry in entries:
        run.apply(entry)
    at, program, transfer = run.now + question.shift, run.program, question.transfer

    hits = {each.limit: int(each.observed) for each in assess_proposed(program, transfer, at=at).limits_hit}

    entity = None if transfer.entity_id is None else program.known_actor(transfer.entity_id)
    party = program.counterparties.get(transfer.counterparty_id or "")
    spent = {
        "entity.daily": 0 if entity is None else run.oracle.sent_by(entity.index, start_of_day(at), at, known_at=at),
        "entity.monthly": 0
        if entity is None
        else run.oracle.sent_by(entity.index, start_of_month(at), at, known_at=at),
        "counterparty.daily": 0 if party is None else run.oracle.sent_to(party.index, start_of_day(at), at),
        "counterparty.monthly": 0 if party is None else run.oracle.sent_to(party.index, start_of_month(at), at),
    }
    if transfer.direction is Direction.INCOMING:
        assert hits == {}
        return
    named = {name for name in ("entity", "counterparty") if getattr(transfer, f"{name}_id") is not None}
    for limit, moved in spent.items():
        actor, kind = limit.split(".")
        if actor not in named:
            continue
        band = program.scores.actors.value(entity.index) if actor == "entity" and entity else None
        assert limit not in hits or hits[limit] == moved
        ladder = getattr(LADDER_V1, actor).unscored
        if band is None and actor == "entity":
            cap = int(ladder.daily_cents if kind == "daily" else ladder.monthly_cents)
            assert (limit in hits) == (moved + int(transfer.amount_cents) > cap)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(entries=streams(most=30), shift=st.sampled_from((0, 1, DAY_US, 31 * DAY_US)))
def test_given_any_stream_when_the_use_of_caps_is_read_then_it_is_that_of_the_largest_entity(
    entries: list[LogEntry], shift: int
) -> None:
    run = Run()
    for entry in entries:
        run.apply(entry)
    now, oracle = run.now + shift, run.oracle
    owners = {index: run.program.merged.get(index, index) for index in range(len(run.program.actors))}

    usage = cap_usage(run.program, now)

    for kind in (CapKind.ACH_DEBIT_DAILY, CapKind.ACH_DEBIT_MONTHLY):
        assert (usage[kind].observed or 0) == oracle.observed(kind, -1, now, known_at=now)
    for kind in (CapKind.ENTITY_DAILY, CapKind.ENTITY_VELOCITY_24H):
        most = max((oracle.observed(kind, owner, now, known_at=now) for owner in owners.values()), default=0)
        assert (usage[kind].observed or 0) == most
    of_day = [
        each.cents
        for each in run.transfers.known(now)
        if each.moved and each.class_id % 2 and start_of_day(now) <= each.at <= now and each.cents >= 0
    ]
    assert usage[CapKind.PER_TRANSACTION] == (max(of_day, default=None), len(of_day))
    assert usage[CapKind.ENTITY_VELOCITY_24H].n == (usage[CapKind.ENTITY_VELOCITY_24H].observed or 0)
