"""Scores of entities and counterparties as a program's events change them, and the records of it."""

import uuid
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.vocabulary import Reason, Score
from clearhold.features.measurement.actor_evaluation import evaluate_actor
from clearhold.features.parties.actor_scores import (
    add_transfer_score,
    emit_counterparty_score,
    emit_entity_score,
    score_id,
)
from tests.support.bank_events import Data, a_counterparty, a_wire, an_entity, rfc3339
from tests.support.clock import T0
from tests.support.daily_payments import (
    ACH,
    LONG_AGO,
    RETURNED,
    WIRE,
    a_credit,
    a_returned_debit,
    pay_daily,
    reason_ids,
)
from tests.support.stories import ShardStory

_IDENTITY: Final = ("TRS-KYC-01", "TRS-KYC-02", "TRS-SCR-02", "TRS-SCR-05")  # reasons of an entity's identity


def test_given_too_few_transfers_when_the_fifth_comes_then_the_entitys_first_record_is_written() -> None:
    story = pay_daily(ShardStory(), 4)
    before = story.scores()

    story.deliver(ACH, a_credit(5, T0), at=T0)

    (row,) = story.scores()
    assert before == []
    assert (row.subject_id, row.version, row.score, row.band, row.n) == ("enti_1", "ers-v1", 0, "clear", 5)
    assert (row.confidence, row.hard, row.degraded, row.scored_at) == (0.2, False, False, T0)
    assert (row.offset, row.program_id) == (story.entries[-1].offset, "prg_1")


def test_given_a_scored_entity_when_nothing_changes_then_no_further_record_is_written() -> None:
    story = pay_daily(ShardStory(), 5)

    assert [pay_daily(story, 1, first=number, at=T0 + number).scores() for number in range(6, 9)] == [[]] * 3


def test_given_a_counterparty_when_its_third_transfer_comes_then_its_first_record_is_written() -> None:
    story = pay_daily(ShardStory(), 2, at=T0 - 2 * DAY_US)
    before = story.scores("counterparty")

    story.deliver(ACH, a_credit(3, T0), at=T0)

    (row,) = story.scores("counterparty")
    assert before == []
    assert (row.subject_id, row.version, row.score, row.n) == ("cpty_1", "crs-v1", 10, 3)
    assert reason_ids(row) == ["CRS-CPY-01"]


def test_given_a_counterparty_in_an_embargoed_country_when_first_seen_then_the_hard_reasons_are_on_record() -> None:
    story = ShardStory().deliver(WIRE, a_wire(beneficiary_address={"country_code": "IR"}))

    (row,) = story.scores("counterparty")

    assert (row.score, row.band, row.confidence, row.hard) == (None, "unscored", None, True)
    assert reason_ids(row) == ["CRS-GEO-01", "CRS-GEO-03"]


def test_given_a_counterparty_when_the_bank_names_its_country_then_it_is_scored_anew() -> None:
    story = pay_daily(ShardStory(), 3)

    party = a_counterparty(address={"country_code": "MM"}, updated_at=rfc3339(T0))
    story.deliver("counterparty.updated", party, at=T0)

    (row,) = story.scores("counterparty")
    assert (row.score, row.hard) == (40 + 5, True)


def test_given_a_transfers_score_when_days_go_by_then_the_entitys_halves_in_14() -> None:
    story = pay_daily(ShardStory(), 6)
    story.deliver(WIRE, a_wire(entity_id="enti_1", counterparty_id="cpty_9", beneficiary_name="New Inc"), at=T0)
    transfer, (fresh,) = story.scoring, story.scores()

    story.deliver(ACH, a_credit(90, T0 + 14 * DAY_US), at=T0 + 14 * DAY_US)

    (faded,) = story.scores()
    assert transfer.score is not None
    assert (fresh.score, faded.score) == (transfer.score, transfer.score // 2)
    assert '"transferScoreDays":14' in faded.inputs


def test_given_a_verified_entity_when_it_is_denied_then_a_hard_record_is_written_at_that_time() -> None:
    story = pay_daily(ShardStory().deliver("identity.created", an_entity()), 5)
    denied = T0 + DAY_US

    story.deliver("identity.updated", an_entity(verification_status="DENIED", updated_at=rfc3339(denied)), at=denied)

    (row,) = story.scores()
    assert (row.score, row.band, row.hard, row.scored_at) == (60, "review", True, denied)
    assert reason_ids(row) == ["ERS-KYC-01"]


def test_given_an_entity_that_never_moved_when_it_is_denied_then_that_is_on_record_without_a_score() -> None:
    story = ShardStory().deliver("identity.created", an_entity(verification_status="DENIED"))

    (row,) = story.scores()

    assert (row.score, row.n, row.hard) == (None, 0, True)
    assert reason_ids(row) == ["ERS-KYC-01"]


def test_given_an_unverified_entity_then_what_its_transfers_hold_of_that_counts_once() -> None:
    story = ShardStory().deliver("identity.created", an_entity(verification_status="UNVERIFIED"))

    pay_daily(story, 7, at=T0)

    assert story.scoring.score == 15
    rows: list[Any] = []
    emit_entity_score(story.program, story.program.actors[0], story.end, rows.append, force=True)
    (row,) = rows
    assert row.score == 15
    assert reason_ids(row) == ["ERS-KYC-02", "ERS-TRF-01", "ERS-CAP-03"]


def test_given_a_return_when_it_is_delivered_then_both_sides_are_scored_with_it() -> None:
    story = pay_daily(ShardStory(), 5, type="DEBIT")

    story.deliver(RETURNED, a_returned_debit(2, LONG_AGO + DAY_US, "R10", T0), at=T0)

    (entity,), (party,) = story.scores(), story.scores("counterparty")
    assert "ERS-RET-01" in reason_ids(entity)
    assert "CRS-RET-01" in reason_ids(party)
    assert entity.scored_at == party.scored_at == T0


def test_given_returns_when_one_more_debit_makes_their_share_small_then_the_record_follows_the_same_day() -> None:
    story = pay_daily(ShardStory(), 10, type="DEBIT")
    story.deliver(WIRE, a_wire(entity_id="enti_1", counterparty_id="cpty_9", beneficiary_name="New Inc"), at=T0)
    for number in (1, 2):
        own = LONG_AGO + (number - 1) * DAY_US
        story.deliver(RETURNED, a_returned_debit(number, own, "R01", T0), at=T0)
    (before,), (party_before,) = story.scores(), story.scores("counterparty")

    pay_daily(story, 1, first=11, at=T0 + 1, type="DEBIT")

    (after,), (party_after,) = story.scores(), story.scores("counterparty")
    assert (reason_ids(before), reason_ids(after)) == (["ERS-TRF-01", "ERS-RET-03"], ["ERS-TRF-01"])
    assert "CRS-RET-03" in reason_ids(party_before)
    assert "CRS-RET-03" not in reason_ids(party_after)


def test_given_returns_of_two_counterparties_that_tell_of_accounts_then_the_entity_probes() -> None:
    story = ShardStory()
    for number in range(1, 13):
        at, party = LONG_AGO + number * DAY_US, f"cpty_{number % 2}"
        story.deliver(ACH, a_credit(number, at, type="DEBIT", counterparty_id=party), at=at)
    for number in (1, 2):
        data = a_returned_debit(number, LONG_AGO + number * DAY_US, "R03", T0, counterparty_id=f"cpty_{number % 2}")
        story.deliver(RETURNED, data, at=T0)

    (row,) = story.scores()
    assert reason_ids(row) == ["ERS-RET-04"]


def test_given_a_transfer_when_it_turns_out_to_be_another_entitys_then_its_score_goes_with_it() -> None:
    story = pay_daily(ShardStory(), 6)
    pay_daily(story, 6, first=20, entity_id="enti_2", counterparty_id="cpty_2")
    story.deliver(WIRE, a_wire(entity_id="enti_1", counterparty_id="cpty_9", beneficiary_name="New Inc"), at=T0)
    (before,) = story.scores()

    later = T0 + HOUR_US
    over: Data = {"entity_id": "enti_2", "counterparty_id": "cpty_9", "beneficiary_name": "New Inc"}
    story.deliver("wire.outgoing_transfer.completed", a_wire(**over, updated_at=rfc3339(later)), at=later)

    after = {row.subject_id: row.score for row in story.scores()}
    assert before.score is not None
    assert before.score > 0
    assert after == {"enti_1": 0, "enti_2": story.scoring.score}


def test_given_a_large_transfer_when_its_amount_is_corrected_then_the_entitys_score_falls_with_it() -> None:
    story = pay_daily(ShardStory(), 6)
    story.deliver(WIRE, a_wire(entity_id="enti_1"), at=T0)
    assert [(row.score or 0) > 0 for row in story.scores()] == [True]

    later = T0 + HOUR_US
    story.deliver(
        "wire.outgoing_transfer.completed", a_wire(entity_id="enti_1", amount=1_00, updated_at=rfc3339(later)), at=later
    )

    assert [row.score for row in story.scores()] == [story.scoring.score]


def test_given_an_account_that_changes_under_a_known_id_then_the_counterpartys_score_says_so() -> None:
    story = ShardStory().deliver("counterparty.created", a_counterparty(address=None), at=LONG_AGO)
    pay_daily(story, 3)

    changed = T0 + 1
    story.deliver(
        "counterparty.updated",
        a_counterparty(address=None, account_number="000999888", updated_at=rfc3339(changed)),
        at=changed,
    )

    (row,) = story.scores("counterparty")
    assert reason_ids(row) == ["CRS-CPY-03", "CRS-CPY-02"]


def test_given_a_namesake_under_another_account_then_the_new_counterpartys_score_says_so() -> None:
    def named(number: int, party: str, account: str) -> Data:
        at = rfc3339(T0 + number)
        return a_wire(
            id=f"wire_{number}", counterparty_id=party, beneficiary_account_number=account, created_at=at, amount=100
        )

    story = ShardStory().deliver(WIRE, named(1, "cpty_1", "000001111"), at=T0 + 1)

    for number in (2, 3, 4):
        story.deliver(WIRE, named(number, "cpty_2", "000002222"), at=T0 + number)

    (row,) = story.scores("counterparty")
    assert "CRS-CPY-03" in reason_ids(row)


def test_given_a_third_entity_that_pays_one_account_then_the_counterpartys_score_says_so_at_once() -> None:
    story = ShardStory().deliver("counterparty.created", a_counterparty(address=None), at=T0 - 40 * DAY_US)
    pay_daily(story, 3, at=T0 - 40 * DAY_US)
    for entity in (1, 2):
        pay_daily(story, 1, first=entity * 10, at=T0 + entity, entity_id=f"enti_{entity}")
    before = story.scores("counterparty")

    pay_daily(story, 1, first=30, at=T0 + 3, entity_id="enti_3")

    (row,) = story.scores("counterparty")
    assert before == []
    assert reason_ids(row) == ["CRS-CPY-04"]


def test_given_transfers_of_an_account_without_an_owner_then_no_entity_is_scored() -> None:
    story = pay_daily(ShardStory(), 8, entity_id=None)

    assert story.program.actors[0].is_account
    rows: list[Any] = []
    emit_entity_score(story.program, story.program.actors[0], story.end, rows.append, force=True)
    assert rows == story.scores() == []


def test_given_a_counterparty_without_an_id_then_it_has_no_record() -> None:
    story = ShardStory()
    for number in range(5):
        wire = a_wire(id=f"wire_{number}", counterparty_id=None, beneficiary_address={"country_code": "IR"})
        story.deliver(WIRE, wire, at=T0 + number)
        assert story.scores("counterparty") == []

    (party,) = story.program.counterparties.all
    rows: list[Any] = []
    emit_counterparty_score(story.program, party, story.end, rows.append, force=True)
    assert rows == []


def test_given_a_late_entry_then_it_does_not_turn_back_the_time_of_the_score() -> None:
    story = pay_daily(ShardStory(), 6, type="DEBIT")
    returned = T0 + 50 * DAY_US
    story.deliver(RETURNED, a_returned_debit(1, LONG_AGO, "R10", returned), at=returned)
    assert [row.scored_at for row in story.scores()] == [returned]

    profile = an_entity(is_high_risk=True, updated_at=rfc3339(T0))
    story.deliver("identity.updated", profile, at=T0 - DAY_US, appended_at=returned)

    (row,) = story.scores()
    assert row.scored_at == returned
    assert {"ERS-RET-01", "ERS-SCR-03"} <= set(reason_ids(row))


def test_given_force_when_nothing_changed_then_a_record_of_the_same_score_is_written() -> None:
    story = pay_daily(ShardStory(), 6)
    program, when = story.program, story.end
    actor, (party,) = program.actors[0], program.counterparties.all

    rows: list[Any] = []
    emit_entity_score(program, actor, when, rows.append)
    emit_counterparty_score(program, party, when, rows.append)
    assert rows == []
    emit_entity_score(program, actor, when, rows.append, force=True)
    emit_counterparty_score(program, party, when, rows.append, force=True)
    entity, counterparty = rows
    assert (entity.score, entity.n, counterparty.score, counterparty.n) == (0, 6, 10, 6)
    assert entity.id != counterparty.id


@given(offset=st.integers(1, 2**62), subject=st.text(st.characters(exclude_categories=["Cs"])))
def test_given_what_led_to_a_record_then_its_id_is_the_uuid_of_that(offset: int, subject: str) -> None:
    found = score_id(EntryPosition(3, offset, 0, 0), "ers-v1", "entity", subject)

    scores = uuid.uuid5(uuid.NAMESPACE_URL, "https://clearhold.invalid/scores")
    assert found == str(uuid.uuid5(scores, f"3/{offset}/ers-v1/entity/{subject}"))


@pytest.mark.parametrize("points", [(90, 90), (100, 100, 100, 100), (-20, 5), (101,)])
def test_given_a_card_whose_identity_points_leave_0_to_100_then_a_score_has_0_to_100_of_them(
    points: tuple[int, ...],
) -> None:
    story = pay_daily(ShardStory(), 5)
    actor = story.program.entity("enti_1")
    assert actor is not None
    reasons = tuple(
        Reason(id=each, signal="identity", weight=weight, hard=False, sentence="Stated.")
        for each, weight in zip(_IDENTITY, points, strict=False)
    )
    score = Score(version="trs-v1", value=100, n=20, confidence=0.5, reasons=reasons)

    add_transfer_score(story.program, actor, (99, T0), score, again=False)

    stored = story.program.scores.transfers.best(actor.index)
    assert stored == (100, T0 // DAY_US, min(max(sum(points), 0), 100), 0)
    assert evaluate_actor(story.program, actor, T0 + DAY_US) is not None
