"""Scores of entities, counterparties and agents as a program's events change them, and the records of it."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from features.instants import DAY_US, HOUR_US
from features.log_entry import LogEntry
from features.outcomes import ScoreRow, TransferRow
from features.reason import Reason, Score
from features.scorers import ars_v1, crs_v1, ers_v1
from features.scorers.actor_decay import decayed
from features.scorers.prs_v1 import DEFINED, KriReading, KriStatus
from features.state.actor_scores import counterparty_score_row, entity_score_row, program_score_row
from features.state.records import When
from features.state.score_memory import STRONGEST
from features.state.shard import ShardState
from features.vocabulary import band_word
from tests.features.streams import streams
from tests.support.applied import Applied
from tests.support.bank_events import Data, a_counterparty, a_return, a_wire, an_ach_transfer, an_entity, rfc3339
from tests.support.builders import a_program
from tests.support.clock import T0

ACH: Final = "ach.outgoing_transfer.initiated"
WIRE: Final = "wire.outgoing_transfer.initiated"
REALTIME_IN: Final = "realtime.incoming_transfer.completed"
LONG_AGO: Final = T0 - 20 * DAY_US
SLOW_IS_FINE: Final = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
_OF_VERSION: Final[dict[str, tuple[type[msgspec.Struct], Callable[[Any], Score]]]] = {
    "ers-v1": (ers_v1.EntityInputs, ers_v1.score),
    "crs-v1": (crs_v1.CounterpartyInputs, crs_v1.score),
    "ars-v1": (ars_v1.AgentInputs, ars_v1.score),
}


def a_credit(number: int, at: int, **over: Any) -> Data:
    usual: Data = {
        "id": f"acht_{number}",
        "entity_id": "enti_1",
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }
    return an_ach_transfer(**usual | over)


def pay(applied: Applied, count: int, *, first: int = 1, at: int = LONG_AGO, **over: Any) -> Applied:
    """So many ACH transfers, a day apart."""
    for number in range(first, first + count):
        now = at + (number - first) * DAY_US
        applied.deliver(ACH, a_credit(number, now, **over), at=now)
    return applied


def scores(applied: Applied, subject_type: str = "entity") -> list[ScoreRow]:
    return [row for row in applied.all(ScoreRow) if row.subject_type == subject_type]


def reason_ids(row: ScoreRow) -> list[str]:
    return [reason.id for reason in msgspec.json.decode(row.reasons, type=tuple[Reason, ...])]


def the_end(applied: Applied) -> When:
    return When(0, 99 << 20, applied.entries[-1].appended_at, applied.entries[-1].appended_at)


def test_given_too_few_transfers_when_the_fifth_comes_then_the_entitys_first_record_is_written() -> None:
    applied = pay(Applied(), 4)
    before = scores(applied)

    applied.deliver(ACH, a_credit(5, T0), at=T0)

    (row,) = scores(applied)
    assert before == []
    assert (row.subject_id, row.version, row.score, row.band, row.n) == ("enti_1", "ers-v1", 0, "clear", 5)
    assert (row.confidence, row.hard, row.degraded, row.scored_at) == (0.2, False, False, T0)
    assert (row.offset, row.program_id) == (applied.entries[-1].offset, "prg_1")


def test_given_a_scored_entity_when_nothing_changes_then_no_further_record_is_written() -> None:
    applied = pay(Applied(), 5)

    assert [scores(pay(applied, 1, first=number, at=T0 + number)) for number in range(6, 9)] == [[]] * 3


def test_given_a_counterparty_when_its_third_transfer_comes_then_its_first_record_is_written() -> None:
    applied = pay(Applied(), 2, at=T0 - 2 * DAY_US)
    before = scores(applied, "counterparty")

    applied.deliver(ACH, a_credit(3, T0), at=T0)

    (row,) = scores(applied, "counterparty")
    assert before == []
    assert (row.subject_id, row.version, row.score, row.n) == ("cpty_1", "crs-v1", 10, 3)
    assert reason_ids(row) == ["CRS-CPY-01"]


def test_given_a_counterparty_in_an_embargoed_country_when_first_seen_then_the_hard_reasons_are_on_record() -> None:
    applied = Applied().deliver(WIRE, a_wire(beneficiary_address={"country_code": "IR"}))

    (row,) = scores(applied, "counterparty")

    assert (row.score, row.band, row.confidence, row.hard) == (None, "unscored", None, True)
    assert reason_ids(row) == ["CRS-GEO-01", "CRS-GEO-03"]


def test_given_a_counterparty_when_the_bank_names_its_country_then_it_is_scored_anew() -> None:
    applied = pay(Applied(), 3)

    party = a_counterparty(address={"country_code": "MM"}, updated_at=rfc3339(T0))
    applied.deliver("counterparty.updated", party, at=T0)

    (row,) = scores(applied, "counterparty")
    assert (row.score, row.hard) == (40 + 5, True)


def test_given_a_transfers_score_when_days_go_by_then_the_entitys_halves_in_14() -> None:
    applied = pay(Applied(), 6)
    applied.deliver(WIRE, a_wire(entity_id="enti_1", counterparty_id="cpty_9", beneficiary_name="New Inc"), at=T0)
    transfer, (fresh,) = applied.scoring, scores(applied)

    applied.deliver(ACH, a_credit(90, T0 + 14 * DAY_US), at=T0 + 14 * DAY_US)

    (faded,) = scores(applied)
    assert transfer.score is not None
    assert (fresh.score, faded.score) == (transfer.score, transfer.score // 2)
    assert '"transferScoreDays":14' in faded.inputs


def test_given_a_verified_entity_when_it_is_denied_then_a_hard_record_is_written_at_that_time() -> None:
    applied = pay(Applied().deliver("identity.created", an_entity()), 5)
    denied = T0 + DAY_US

    applied.deliver("identity.updated", an_entity(verification_status="DENIED", updated_at=rfc3339(denied)), at=denied)

    (row,) = scores(applied)
    assert (row.score, row.band, row.hard, row.scored_at) == (60, "review", True, denied)
    assert reason_ids(row) == ["ERS-KYC-01"]


def test_given_an_entity_that_never_moved_when_it_matches_a_sanctions_list_then_that_is_on_record_without_a_score() -> (
    None
):
    applied = Applied().deliver("identity.created", an_entity(review_reasons=["sanctions_match"]))

    (row,) = scores(applied)

    assert (row.score, row.n, row.hard) == (None, 0, True)
    assert reason_ids(row) == ["ERS-SCR-06"]


def test_given_an_unverified_entity_then_what_its_transfers_hold_of_that_counts_once() -> None:
    applied = Applied().deliver("identity.created", an_entity(verification_status="UNVERIFIED"))

    pay(applied, 7, at=T0)

    assert applied.scoring.score == 15
    row = entity_score_row(applied.program, applied.program.actors[0], the_end(applied), force=True)
    assert row is not None
    assert row.score == 15
    assert reason_ids(row) == ["ERS-KYC-02", "ERS-TRF-01", "ERS-CAP-03"]


def test_given_a_return_when_it_is_delivered_then_both_sides_are_scored_with_it() -> None:
    applied = pay(Applied(), 5, type="DEBIT")
    returned, own = T0, LONG_AGO + DAY_US
    over: Data = {"status": "RETURNED", "return_details": [a_return("R10", returned)], "updated_at": rfc3339(returned)}

    applied.deliver("ach.outgoing_transfer.returned", a_credit(2, own, type="DEBIT", **over), at=returned)

    (entity,), (party,) = scores(applied), scores(applied, "counterparty")
    assert "ERS-RET-01" in reason_ids(entity)
    assert "CRS-RET-01" in reason_ids(party)
    assert entity.scored_at == party.scored_at == returned


def test_given_a_transfer_when_it_turns_out_to_be_another_entitys_then_its_score_goes_with_it() -> None:
    applied = pay(Applied(), 6)
    pay(applied, 6, first=20, entity_id="enti_2", counterparty_id="cpty_2")
    applied.deliver(WIRE, a_wire(entity_id="enti_1", counterparty_id="cpty_9", beneficiary_name="New Inc"), at=T0)
    (before,) = scores(applied)

    later = T0 + HOUR_US
    over: Data = {"entity_id": "enti_2", "counterparty_id": "cpty_9", "beneficiary_name": "New Inc"}
    applied.deliver("wire.outgoing_transfer.completed", a_wire(**over, updated_at=rfc3339(later)), at=later)

    after = {row.subject_id: row.score for row in scores(applied)}
    assert before.score is not None
    assert before.score > 0
    assert after == {"enti_1": 0, "enti_2": applied.scoring.score}


def test_given_a_large_transfer_when_its_amount_is_corrected_then_the_entitys_score_falls_with_it() -> None:
    applied = pay(Applied(), 6)
    applied.deliver(WIRE, a_wire(entity_id="enti_1"), at=T0)
    assert [(row.score or 0) > 0 for row in scores(applied)] == [True]

    later = T0 + HOUR_US
    applied.deliver(
        "wire.outgoing_transfer.completed", a_wire(entity_id="enti_1", amount=1_00, updated_at=rfc3339(later)), at=later
    )

    assert [row.score for row in scores(applied)] == [applied.scoring.score]


def test_given_an_account_that_changes_under_a_known_id_then_the_counterpartys_score_says_so() -> None:
    applied = Applied().deliver("counterparty.created", a_counterparty(address=None), at=LONG_AGO)
    pay(applied, 3)

    changed = T0 + 1
    applied.deliver(
        "counterparty.updated",
        a_counterparty(address=None, account_number="000999888", updated_at=rfc3339(changed)),
        at=changed,
    )

    (row,) = scores(applied, "counterparty")
    assert reason_ids(row) == ["CRS-CPY-03", "CRS-CPY-02"]


def test_given_a_namesake_under_another_account_then_the_new_counterpartys_score_says_so() -> None:
    def named(number: int, party: str, account: str) -> Data:
        at = rfc3339(T0 + number)
        return a_wire(
            id=f"wire_{number}", counterparty_id=party, beneficiary_account_number=account, created_at=at, amount=100
        )

    applied = Applied().deliver(WIRE, named(1, "cpty_1", "000001111"), at=T0 + 1)

    for number in (2, 3, 4):
        applied.deliver(WIRE, named(number, "cpty_2", "000002222"), at=T0 + number)

    (row,) = scores(applied, "counterparty")
    assert "CRS-CPY-03" in reason_ids(row)


def test_given_a_third_entity_that_pays_one_account_then_the_counterpartys_score_says_so_at_once() -> None:
    applied = Applied().deliver("counterparty.created", a_counterparty(address=None), at=T0 - 40 * DAY_US)
    pay(applied, 3, at=T0 - 40 * DAY_US)
    for entity in (1, 2):
        pay(applied, 1, first=entity * 10, at=T0 + entity, entity_id=f"enti_{entity}")
    before = scores(applied, "counterparty")

    pay(applied, 1, first=30, at=T0 + 3, entity_id="enti_3")

    (row,) = scores(applied, "counterparty")
    assert before == []
    assert reason_ids(row) == ["CRS-CPY-04"]


def test_given_transfers_of_an_account_without_an_owner_then_no_entity_is_scored() -> None:
    applied = pay(Applied(), 8, entity_id=None)

    assert applied.program.actors[0].is_account
    assert entity_score_row(applied.program, applied.program.actors[0], the_end(applied), force=True) is None
    assert scores(applied) == []


def test_given_a_counterparty_without_an_id_then_it_has_no_record() -> None:
    applied = Applied()
    for number in range(5):
        wire = a_wire(id=f"wire_{number}", counterparty_id=None, beneficiary_address={"country_code": "IR"})
        applied.deliver(WIRE, wire, at=T0 + number)
        assert scores(applied, "counterparty") == []

    (party,) = applied.program.counterparties.all
    assert counterparty_score_row(applied.program, party, the_end(applied), force=True) is None


def test_given_a_late_entry_then_it_does_not_turn_back_the_time_of_the_score() -> None:
    applied = pay(Applied(), 6, type="DEBIT")
    returned = T0 + 50 * DAY_US
    over: Data = {"status": "RETURNED", "return_details": [a_return("R10", returned)], "updated_at": rfc3339(returned)}
    applied.deliver("ach.outgoing_transfer.returned", a_credit(1, LONG_AGO, type="DEBIT", **over), at=returned)
    assert [row.scored_at for row in scores(applied)] == [returned]

    profile = an_entity(is_high_risk=True, updated_at=rfc3339(T0))
    applied.deliver("identity.updated", profile, at=T0 - DAY_US, appended_at=returned)

    (row,) = scores(applied)
    assert row.scored_at == returned
    assert {"ERS-RET-01", "ERS-SCR-03"} <= set(reason_ids(row))


def test_given_force_when_nothing_changed_then_a_record_of_the_same_score_is_written() -> None:
    applied = pay(Applied(), 6)
    program, when = applied.program, the_end(applied)
    actor, (party,) = program.actors[0], program.counterparties.all

    assert entity_score_row(program, actor, when) is None
    assert counterparty_score_row(program, party, when) is None
    entity = entity_score_row(program, actor, when, force=True)
    counterparty = counterparty_score_row(program, party, when, force=True)
    assert entity is not None
    assert counterparty is not None
    assert (entity.score, entity.n, counterparty.score, counterparty.n) == (0, 6, 10, 6)
    assert entity.id != counterparty.id


def a_settlement(number: int, payer: str, at: int) -> Data:
    return {
        "id": f"rttr_{number}",
        "status": "completed",
        "is_incoming": True,
        "amount": 2_50,
        "currency_code": "USD",
        "entity_id": "agent:8453:0xa:22",
        "counterparty_id": payer,
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }


def test_given_the_program_of_agents_when_one_settles_then_it_has_an_agents_score() -> None:
    applied = Applied().declare(a_program(slug="agents"))
    applied.deliver("identity.created", an_entity(id="agent:8453:0xa:22", verification_status="UNVERIFIED"), at=T0)
    rows = []
    for number in range(12):
        at = T0 + number * DAY_US
        payer = "wallet:8453:0x1" if number != 4 else "wallet:8453:0x2"
        rows += scores(applied.deliver(REALTIME_IN, a_settlement(number, payer, at), at=at), "agent")

    (row,) = rows
    assert (row.version, row.score, row.n, row.confidence, row.degraded) == ("ars-v1", 22, 10, 0.165, True)
    assert reason_ids(row) == ["ARS-FLO-01", "ARS-REG-01"]
    inputs = msgspec.json.decode(row.inputs, type=ars_v1.AgentInputs)
    assert (inputs.volume_cents, inputs.distinct_payers, inputs.top_payer_settlements) == (25_00, 2, 9)
    assert (inputs.settlements_24h, inputs.settlements_30d, inputs.round_trips_30d) == (1, 10, 0)
    assert inputs.wallet_screening is None


def test_given_an_agent_with_a_sanctions_match_then_its_wallet_is_a_hit() -> None:
    applied = Applied().declare(a_program(slug="agents"))

    applied.deliver("identity.created", an_entity(review_reasons=["OFAC_MATCH"]), at=T0)

    (row,) = scores(applied, "agent")
    assert reason_ids(row) == ["ARS-SCR-01"]


def test_given_an_agent_that_pays_its_payers_back_then_each_is_a_round_trip() -> None:
    applied = Applied().declare(a_program(slug="agents"))
    for number in range(12):
        at = T0 + number * HOUR_US
        applied.deliver(REALTIME_IN, a_settlement(number, f"wallet:8453:0x{number}", at), at=at)
    rows = []
    for number in range(3):
        at = T0 + (20 + number) * HOUR_US
        back = a_settlement(50 + number, f"wallet:8453:0x{number}", at) | {"is_incoming": False}
        applied.deliver("realtime.outgoing_transfer.completed", back, at=at)
        rows += scores(applied, "agent")

    assert [reason_ids(row)[0] for row in rows] == ["ARS-FLO-03", "ARS-FLO-04"]
    assert [row.hard for row in rows] == [False, True]


def test_given_indicators_when_they_change_then_the_programs_record_follows() -> None:
    applied = Applied().declare(a_program())
    ok, breach = KriReading(0.0, 10, KriStatus.OK), KriReading(0.6, 10, KriStatus.BREACH, 0.4)
    calm = dict.fromkeys(DEFINED[:3], ok)
    program, when = applied.program, the_end(applied)

    rows = [
        program_score_row(program, readings, when)
        for readings in (calm, calm, calm | {"counterparty_concentration": breach})
    ]

    assert [row and (row.subject_type, row.subject_id, row.score, row.n) for row in rows] == [
        ("program", "prg_1", 0, 3),
        None,
        ("program", "prg_1", 25, 4),
    ]


def score_rows(state: ShardState, entries: list[LogEntry]) -> list[bytes]:
    rows: list[msgspec.Struct] = []
    for entry in entries:
        state.apply(entry, rows.append)
    return [msgspec.json.encode(row) for row in rows if isinstance(row, ScoreRow)]


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=60, least=10))
def test_given_a_random_stream_then_each_record_is_another_score_and_its_inputs_give_it_again(
    entries: list[LogEntry],
) -> None:
    last: dict[tuple[str, str], ScoreRow] = {}
    ids: set[str] = set()
    for encoded in score_rows(ShardState(0), entries):
        row = msgspec.json.decode(encoded, type=ScoreRow)
        inputs_type, score_of = _OF_VERSION[row.version]
        score = score_of(msgspec.json.decode(row.inputs, type=inputs_type))
        before = last.get((row.subject_type, row.subject_id))

        assert (row.score, row.n, row.confidence, row.hard) == (score.value, score.n, score.confidence, score.hard)
        assert row.band == band_word(score.value)
        assert msgspec.json.decode(row.reasons, type=tuple[Reason, ...]) == score.reasons
        assert (row.score, row.hard) != ((before.score, before.hard) if before else (None, False))
        assert before is None or (before.offset < row.offset and before.scored_at <= row.scored_at)
        assert row.id not in ids
        last[row.subject_type, row.subject_id] = row
        ids.add(row.id)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=50, least=10), part=st.integers(0, 100))
def test_given_a_random_stream_when_it_is_played_again_or_loaded_midway_then_the_records_are_the_same_bytes(
    entries: list[LogEntry], part: int
) -> None:
    at_once = score_rows(ShardState(0), entries)
    split = len(entries) * part // 100
    state = ShardState(0)

    before = score_rows(state, entries[:split])
    loaded = ShardState.loaded(iter(list(state.dump())))

    assert score_rows(ShardState(0), entries) == at_once
    assert before + score_rows(loaded, entries[split:]) == at_once


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(entries=streams(most=60, least=10))
def test_given_a_random_stream_then_an_entitys_strongest_transfer_is_the_one_that_stands(
    entries: list[LogEntry],
) -> None:
    """Found again among the newest versions of all transfers, of the entities that had fewer than four scored anew."""
    state, rows = ShardState(0), list[msgspec.Struct]()
    for entry in entries:
        state.apply(entry, rows.append)
    versions = [row for row in rows if isinstance(row, TransferRow)]
    newest = {row.id: row for row in versions}
    program = state.program("prg_1")
    for actor in program.actors:
        ever = {row.id for row in versions if row.entity_id == actor.id}
        anew = {(row.id, row.scored_offset) for row in versions if row.id in ever}
        if actor.is_account or len(anew) - len(ever) >= STRONGEST:
            continue
        own = [row for row in newest.values() if row.entity_id == actor.id]
        best = program.scores.transfers.best(actor.index)
        standing = [(row.score or 0, row.bank_created_at // DAY_US) for row in own]
        today = max([best.day, *(day for _, day in standing)])
        assert decayed(best.score, today - best.day) == max(
            (decayed(score, today - day) for score, day in standing), default=0
        )
