"""KRIs 1 to 4, worked out by hand: at, under and over each line, and what never counts."""

from itertools import cycle

import msgspec

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.instants import DAYS_60
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.features.policy.seeds import KRI_V1
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.kris import days, give_back, measured, originate, seen, small_story
from tests.support.policies import in_force_at
from tests.support.stories import detector_story

UNAUTHORIZED = KriName.ACH_UNAUTHORIZED_RETURN_RATE
ADMINISTRATIVE = KriName.ACH_ADMINISTRATIVE_RETURN_RATE
OVERALL = KriName.ACH_OVERALL_RETURN_RATE
CREDITS = KriName.ACH_CREDIT_RETURN_RATE
DAY = days(1)
LINES = (
    (UNAUTHORIZED, ("R05", "R07", "R10", "R11", "R29", "R51"), 0, {3: "ok", 4: "watch", 5: "watch", 6: "breach"}),
    (ADMINISTRATIVE, ("R02", "R03", "R04"), 0, {23: "ok", 24: "watch", 30: "watch", 31: "breach"}),
    (OVERALL, ("R01", "R09", "R16"), 37, {82: "ok", 83: "watch", 113: "watch", 114: "breach"}),
)


def test_given_a_thousand_debits_when_they_come_back_one_by_one_then_each_line_is_where_it_is_documented() -> None:
    story = detector_story()
    debits = originate(story, 1_000, 0)
    for name, codes, before, expected in LINES:
        assert seen(story, name, DAY) == (before / 1_000, 1_000, "ok")
        for count, code in zip(range(1, max(expected) + 1), cycle(codes)):
            give_back(story, debits.pop(), code, DAY)
            if count in expected:
                assert seen(story, name, DAY) == ((before + count) / 1_000, 1_000, expected[count])


def test_given_hundred_credits_when_they_come_back_then_their_rate_alone_rises() -> None:
    story = detector_story()
    originate(story, 100, 0)
    sent = originate(story, 100, 0, type="CREDIT")
    expected = {2: "ok", 3: "watch", 5: "watch", 6: "breach"}

    for count in range(1, 7):
        give_back(story, sent.pop(), ("R10", "R02", "R23")[count % 3], DAY)
        if count in expected:
            assert seen(story, CREDITS, DAY) == (count / 100, 100, expected[count])

    assert [seen(story, name, DAY) for name in (UNAUTHORIZED, ADMINISTRATIVE, OVERALL)] == [(0, 100, "ok")] * 3


def test_given_under_two_hundred_debits_then_the_rate_is_raw_and_its_note_says_so() -> None:
    story = detector_story()
    (debit, *_) = originate(story, 199, 0)
    give_back(story, debit, "R11", DAY)

    few = measured(story, UNAUTHORIZED, DAY)
    assert (few.value, few.status.value, few.note) == (
        1 / 199,
        "breach",
        "Under 200 debits, one return can cross the line.",
    )
    originate(story, 1, DAY)
    enough = measured(story, UNAUTHORIZED, DAY)
    assert (enough.value, enough.status.value) == (0.005, "watch")
    assert enough.note is msgspec.UNSET


def test_given_no_entry_then_no_rate_is_measured() -> None:
    story = detector_story()
    give_back(story, originate(story, 1, 0, is_incoming=True)[0], "R10", DAY)

    assert {seen(story, name, DAY) for name in (UNAUTHORIZED, ADMINISTRATIVE, OVERALL, CREDITS)} == {
        (None, 0, "unmeasured")
    }


def test_given_incoming_entries_that_we_return_then_they_count_in_no_rate() -> None:
    story = small_story()
    originate(story, 10, 0)
    originate(story, 10, 0, type="CREDIT")
    for kind in ("DEBIT", "CREDIT"):
        for code in ("R10", "R03"):
            give_back(story, originate(story, 1, 0, is_incoming=True, type=kind)[0], code, DAY)

    assert {seen(story, name, DAY) for name in (UNAUTHORIZED, ADMINISTRATIVE, OVERALL, CREDITS)} == {(0, 10, "ok")}


def test_given_rck_entries_then_the_overall_rate_alone_leaves_them_out() -> None:
    story = small_story()
    originate(story, 5, 0)
    give_back(story, originate(story, 1, 0, entry_class_code="RCK")[0], "R51", DAY)
    give_back(story, originate(story, 1, 0, entry_class_code="RCK")[0], "R03", DAY)
    give_back(story, originate(story, 1, 0)[0], "R01", DAY)

    assert seen(story, UNAUTHORIZED, DAY) == (1 / 8, 8, "breach")
    assert seen(story, ADMINISTRATIVE, DAY) == (1 / 8, 8, "breach")
    assert seen(story, OVERALL, DAY) == (1 / 6, 6, "breach")


def test_given_a_return_that_is_dishonoured_and_contested_then_it_leaves_and_comes_back() -> None:
    story = detector_story()
    originate(story, 9, 0)
    (debit,) = originate(story, 1, 0)
    told = []
    debit = give_back(story, debit, "R02", DAY)
    told.append(seen(story, ADMINISTRATIVE, DAY))
    debit = give_back(story, debit, "R68", 2 * DAY, status="RETURN_DISHONORED")
    told += [seen(story, name, 2 * DAY) for name in (ADMINISTRATIVE, OVERALL)]
    give_back(story, debit, "R73", 3 * DAY, status="RETURN_CONTESTED")
    told += [seen(story, name, 3 * DAY) for name in (ADMINISTRATIVE, OVERALL)]

    assert [value for value, _, _ in told] == [0.1, 0, 0, 0.1, 0.1]


def test_given_prenotes_then_they_thin_no_rate_and_their_returns_count_in_none() -> None:
    story = small_story(program_reserve_account_id="bacc_r")
    balances = {"available_amount": 153, "locked_amount": 0}
    account = bank.an_account(id="bacc_r", type="PROGRAM_RESERVE", balances=balances)
    story.deliver("account.unfrozen", account)
    for kind in ("DEBIT", "CREDIT"):
        originate(story, 2, 0, type=kind)
        for code in ("R03", "R10"):
            give_back(story, originate(story, 3, 0, type=kind, amount=0)[0], code, DAY)

    assert [seen(story, name, DAY) for name in (UNAUTHORIZED, ADMINISTRATIVE, OVERALL, CREDITS)] == [(0, 2, "ok")] * 4
    assert seen(story, KriName.RESERVE_COVERAGE, DAY) == (5, 2, "ok")  # 153 over 2,000 x 0.0153


def test_given_a_notice_of_change_then_it_is_no_return() -> None:
    story = small_story()
    (debit,) = originate(story, 1, 0)
    give_back(story, debit, "C01", DAY, status="SETTLED")
    noc = {"notification_of_changes": {"code": "C01"}, "updated_at": bank.rfc3339(T0 + DAY)}
    story.deliver("ach.outgoing_transfer.noc", debit | noc, at=T0 + DAY)

    assert seen(story, OVERALL, DAY) == (0, 1, "ok")


def test_given_an_entry_that_never_left_then_it_was_not_originated_and_neither_is_its_return() -> None:
    story = small_story()
    originate(story, 2, 0)
    debit, credit = (originate(story, 1, 0)[0], originate(story, 1, 0, type="CREDIT")[0])
    give_back(story, debit, "R10", DAY)
    assert seen(story, UNAUTHORIZED, DAY) == (1 / 3, 3, "breach")
    for data in (debit, credit):
        canceled = {"status": "CANCELED", "updated_at": bank.rfc3339(T0 + 2 * DAY)}
        story.deliver("ach.outgoing_transfer.canceled", data | canceled, at=T0 + 2 * DAY)

    assert seen(story, UNAUTHORIZED, 2 * DAY) == seen(story, OVERALL, 2 * DAY) == (0, 2, "ok")
    assert seen(story, CREDITS, 2 * DAY) == (None, 0, "unmeasured")


def test_given_a_return_then_it_counts_by_its_delivery_and_its_debit_by_its_own_time_for_sixty_days() -> None:
    story = small_story()
    (old,) = originate(story, 1, 0)
    originate(story, 3, 30 * DAY)
    originate(story, 2, 30 * DAY, type="CREDIT")
    give_back(story, old, "R05", 40 * DAY)

    assert seen(story, UNAUTHORIZED, DAYS_60 - 1) == (1 / 4, 4, "breach")
    assert seen(story, UNAUTHORIZED, DAYS_60) == (
        1 / 3,
        3,
        "breach",
    )  # half open: the debit has left, the return has not
    assert seen(story, CREDITS, 30 * DAY + DAYS_60 - 1) == (0, 2, "ok")
    assert seen(story, CREDITS, 30 * DAY + DAYS_60) == (None, 0, "unmeasured")


def test_given_a_code_that_is_corrected_then_the_return_counts_under_the_newer_one_alone() -> None:
    story = detector_story()
    originate(story, 3, 0)
    (debit,) = originate(story, 1, 0)
    give_back(story, debit, "R02", DAY)
    give_back(story, debit, "R10", 2 * DAY)

    assert [seen(story, name, 2 * DAY)[0] for name in (UNAUTHORIZED, ADMINISTRATIVE, OVERALL)] == [0.25, 0, 0.25]


def test_given_fewer_debits_than_the_policy_asks_for_then_the_rate_is_shown_and_not_measured() -> None:
    story = detector_story()
    (debit, *_) = originate(story, 19, 0)
    give_back(story, debit, "R10", DAY)

    few = measured(story, UNAUTHORIZED, DAY)
    assert (few.value, few.n, few.status.value, few.note) == (
        1 / 19,
        19,
        "unmeasured",
        "Not measured: 19 of 20 needed.",
    )
    story.snapshot(DAY)
    assert story.alerts("unauthorized_return_rate") == []
    originate(story, 1, DAY)
    assert seen(story, UNAUTHORIZED, DAY) == (1 / 20, 20, "breach")
    story.snapshot(DAY + 1)
    assert len(story.alerts("unauthorized_return_rate")) == 1


def test_given_one_debit_that_came_back_then_the_program_has_no_score_of_it() -> None:
    story = detector_story()
    (debit,) = originate(story, 1, 0)
    give_back(story, debit, "R01", DAY)
    story.snapshot(DAY)

    snapshot = story.one(KriSnapshotRow)
    assert seen(story, OVERALL, DAY) == (1, 1, "unmeasured")
    assert (snapshot.program_score, snapshot.band) == (None, "unscored")


def test_given_a_policy_of_another_least_then_it_is_the_one_that_counts() -> None:
    story = detector_story()
    body = msgspec.structs.replace(KRI_V1, min_observations=3)
    in_force_at(story, "kri-v2", body, -1)
    originate(story, 2, 0)
    assert seen(story, OVERALL, DAY) == (0, 2, "unmeasured")
    originate(story, 1, 0)
    assert seen(story, OVERALL, DAY) == (0, 3, "ok")
