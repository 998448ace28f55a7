"""Program caps and the ladder's windows against an oracle that counts anew, on streams of anything a bank may send.

Streams have late, repeated, corrected and canceled transfers, both directions, every rail, and owners told late.
"""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.bank.events import decode_event
from clearhold.features.core.entries.actions import CapKind, CapVersion
from clearhold.features.core.instants import DAY_US, HOUR_US, parse_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry, event_time
from clearhold.features.core.money import USD
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.limits.caps import cap_usage, crossed_by_landed
from clearhold.features.limits.ladder import LadderParties, bands_of, ladder_hits
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from tests.features.limits.test_caps import NOTHING_MAY_MOVE
from tests.features.limits.test_proposed_matches_landing import Question, landing_of, questions
from tests.oracle.limits import LimitsOracle, Transfers, is_outgoing, start_of_day, start_of_month
from tests.support import bank_events as bank
from tests.support.builders import a_log_entry, a_program
from tests.support.clock import T0
from tests.support.random_streams import streams

SHIFTS = (0, 1, DAY_US, 31 * DAY_US, -HOUR_US, -8 * DAY_US)
VELOCITIES = (0, 1, 2, 3, 8)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


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


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(entries=streams(most=30), velocity=st.sampled_from(VELOCITIES), shift=st.sampled_from(SHIFTS))
def test_given_any_stream_then_caps_and_the_ladder_see_what_the_oracle_counts(
    entries: list[LogEntry], velocity: int, shift: int
) -> None:
    run = Run()
    for kind in CapKind:
        put_cap(run.program, kind, velocity if kind is CapKind.ENTITY_VELOCITY_24H else 0)
    for entry in entries:
        run.apply(entry)

    for row in range(len(run.program.transfers)):
        assert_crossings_agree(run, row, velocity)
    assert_ladder_agrees(run, run.now + shift)
    assert_usage_agrees(run, run.now + max(shift, 0))


def assert_crossings_agree(run: Run, row: int, velocity: int) -> None:
    """With caps of nothing every sum is shown; of a count it is shown only that it is over its cap."""
    stored, record = StoredTransfer.read(run.program, row), run.transfers.newest(row)
    if run.program.strings.text(record.currency) != USD:
        return
    ours = {each.kind: each.observed for each in crossed_by_landed(run.program, stored, now=run.now)}
    theirs = {kind: run.oracle.most_of(kind, record, run.now) or 0 for kind in CapKind}
    is_over = CapKind.ENTITY_VELOCITY_24H in ours
    assert is_over == (theirs.pop(CapKind.ENTITY_VELOCITY_24H) > velocity)
    ours.pop(CapKind.ENTITY_VELOCITY_24H, None)
    assert ours == {kind: value for kind, value in theirs.items() if value}


def assert_ladder_agrees(run: Run, at: int) -> None:
    program, oracle = run.program, run.oracle
    starts = {"daily": start_of_day(at), "monthly": start_of_month(at)}
    for actor in program.actors:
        if actor.index not in program.merged:
            shown = observed_by_ladder(program, LadderParties(actor.id, actor, None, None), at)
            for kind, start in starts.items():
                assert shown[f"entity.{kind}"] == oracle.sent_by(actor.index, start, at, known_at=at)
    for party in program.counterparties.all:
        shown = observed_by_ladder(program, LadderParties(None, None, party.id, party), at)
        for kind, start in starts.items():
            assert shown[f"counterparty.{kind}"] == oracle.sent_to(party.index, start, at)


def observed_by_ladder(program: ProgramState, parties: LadderParties, at: int) -> dict[str, int]:
    hits = ladder_hits(NOTHING_MAY_MOVE, parties, bands_of(program, parties, at=at), cents=1, at=at)
    return {hit.limit: int(hit.observed) for hit in hits}


def assert_usage_agrees(run: Run, now: int) -> None:
    oracle, usage = run.oracle, cap_usage(run.program, now)
    owners = {run.program.merged.get(index, index) for index in range(len(run.program.actors))}
    for kind in (CapKind.ACH_DEBIT_DAILY, CapKind.ACH_DEBIT_MONTHLY):
        assert (usage[kind].observed or 0) == oracle.observed(kind, -1, now, known_at=now)
    for kind in (CapKind.ENTITY_DAILY, CapKind.ENTITY_VELOCITY_24H):
        most = max((oracle.observed(kind, owner, now, known_at=now) for owner in owners), default=0)
        assert (usage[kind].observed or 0) == most
        for actor in run.program.actors:
            owner = run.program.merged.get(actor.index, actor.index)
            of_one = cap_usage(run.program, now, entity_id=run.program.actors[owner].id)[kind]
            assert (of_one.observed or 0) == oracle.observed(kind, owner, now, known_at=now)
        assert cap_usage(run.program, now, entity_id="enti_nowhere")[kind] == (None, 0)
    of_day = [
        each.cents
        for each in run.transfers.known(now)
        if each.moved and is_outgoing(each) and start_of_day(now) <= each.at <= now and each.cents >= 0
    ]
    assert usage[CapKind.PER_TRANSACTION] == (max(of_day, default=None), len(of_day))
    assert usage[CapKind.ENTITY_VELOCITY_24H].n == (usage[CapKind.ENTITY_VELOCITY_24H].observed or 0)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
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
