"""The other indicators, worked out by hand: at, under and over each line, and what never counts."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from clearhold.features.catalogue.kris import KriName
from clearhold.features.core.instants import DAYS_30, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.policy.seeds import KRI_V1, LADDER_V1
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.kris import days, originate, seen, small_story
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory, detector_story

DAY = days(1)
UNMEASURED = (None, 0, "unmeasured")


def account_event(story: ShardStory, state: str, account: str, at: int) -> None:
    overdraft: Any = {"bank_account_id": account, "overdraft_amount": {"cents": 6000, "currency_code": "USD"}}
    data = overdraft if state.startswith("overdraft") else bank.an_account(id=account, status="open")
    story.deliver(f"account.{state}", data, at=T0 + at)


def test_given_overdrafts_then_the_accounts_that_had_one_are_counted_for_thirty_days() -> None:
    story = detector_story()
    assert seen(story, KriName.OVERDRAFT_EVENTS, 0) == UNMEASURED
    account_event(story, "unfrozen", "bacc_0", 0)
    assert seen(story, KriName.OVERDRAFT_EVENTS, 0) == (0, 1, "ok")
    told = []
    for account in (1, 2, 3, 4):
        for place in range(2):  # the second one is the same account's
            account_event(story, "overdrafted", f"bacc_{account}", account * HOUR_US + place)
        account_event(story, "overdraft_released", f"bacc_{account}", account * HOUR_US + 2)
        told.append(seen(story, KriName.OVERDRAFT_EVENTS, 4 * HOUR_US))

    assert told == [(1, 2, "watch"), (2, 3, "watch"), (3, 4, "watch"), (4, 5, "breach")]
    assert seen(story, KriName.OVERDRAFT_EVENTS, DAYS_30 + HOUR_US)[0] == 4
    assert seen(story, KriName.OVERDRAFT_EVENTS, DAYS_30 + HOUR_US + 1)[0] == 3  # by the account's last one


def test_given_freezes_then_each_is_counted_and_the_accounts_of_transfers_are_seen() -> None:
    story = detector_story()
    originate(story, 1, 0, bank_account_id="bacc_9")
    told = [seen(story, KriName.FREEZE_EVENTS, 0)]
    for place in range(3):
        account_event(story, "frozen", "bacc_1", place)
        account_event(story, "unfrozen", "bacc_1", place)
        told.append(seen(story, KriName.FREEZE_EVENTS, 3))

    assert told == [(0, 1, "ok"), (1, 2, "watch"), (2, 2, "watch"), (3, 2, "breach")]
    assert [seen(story, KriName.FREEZE_EVENTS, DAYS_30 + at)[0] for at in (0, 2)] == [2, 0]


@pytest.mark.parametrize(
    ("before", "newest", "value", "status"),
    [
        (400_00, 99_99, 99_990 / 49_999, "ok"),
        (400_00, 100_00, 2.0, "watch"),
        (700_00, 300_00, 3.0, "watch"),
        (700_00, 300_01, 300_010 / 100_001, "breach"),
    ],
)
def test_given_ten_days_then_the_last_day_is_held_against_the_average_of_all(
    before: int, newest: int, value: float, status: str
) -> None:
    story = detector_story()
    originate(story, 1, 0, amount=before)
    originate(story, 1, 5 * DAY, amount=9_999_99, status="CANCELED")
    originate(story, 1, 10 * DAY, amount=newest)

    assert seen(story, KriName.VOLUME_VELOCITY, 10 * DAY) == (value, 2, status)


def test_given_a_program_in_its_first_week_or_one_at_rest_then_there_is_no_usual_day() -> None:
    story = detector_story()
    originate(story, 1, 0)

    assert seen(story, KriName.VOLUME_VELOCITY, 7 * DAY - 1) == UNMEASURED
    assert seen(story, KriName.VOLUME_VELOCITY, 7 * DAY) == (0, 1, "ok")
    assert seen(story, KriName.VOLUME_VELOCITY, DAYS_30) == UNMEASURED


def test_given_a_declared_volume_then_its_use_is_that_of_the_calendar_month() -> None:
    story = detector_story(declared_monthly_volume_cents="100000")
    originate(story, 1, 0, amount=5_000_00, created_at="2026-02-28T23:59:59.999999Z")
    assert seen(story, KriName.DECLARED_VOLUME_USE, 0) == UNMEASURED  # no transfer in March
    told = []
    for cents in (799_99, 1, 200_00, 1):
        originate(story, 1, 0, amount=cents)
        told.append(seen(story, KriName.DECLARED_VOLUME_USE, 0))

    assert told == [(0.79999, 1, "ok"), (0.8, 2, "watch"), (1.0, 3, "watch"), (1.00001, 4, "breach")]
    assert seen(story, KriName.DECLARED_VOLUME_USE, 29 * DAY)[1] == 4  # 31 March
    assert seen(story, KriName.DECLARED_VOLUME_USE, 30 * DAY) == UNMEASURED
    assert seen(detector_story(), KriName.DECLARED_VOLUME_USE, 0) == UNMEASURED


def test_given_a_transfer_without_us_cents_then_it_is_none_of_those_that_make_up_the_months_volume() -> None:
    story = detector_story(declared_monthly_volume_cents="100000")
    foreign = bank.an_international_wire(id="swft_1", currency_code="EUR", instructed_currency_code="EUR")
    foreign |= {"settled_amount": None, "settled_currency_code": None}
    story.deliver("swift.outgoing_transfer.completed", foreign)
    told = [seen(story, KriName.DECLARED_VOLUME_USE, 1)]
    originate(story, 1, 0, amount=100_00)
    told.append(seen(story, KriName.DECLARED_VOLUME_USE, 1))
    priced = {"settled_amount": 400_00, "settled_currency_code": "USD", "updated_at": bank.rfc3339(T0 + 1)}
    story.deliver("swift.outgoing_transfer.completed", foreign | priced, at=T0 + 1)
    told.append(seen(story, KriName.DECLARED_VOLUME_USE, 1))

    assert told == [UNMEASURED, (0.1, 1, "ok"), (0.5, 2, "ok")]


def test_given_money_that_leaves_then_the_largest_counterpartys_part_is_measured_by_where_the_money_goes() -> None:
    story = detector_story()
    for place in range(4):
        story.wire("enti_1", f"cpty_{place + 2}", 15_00, place)
    told = []
    for cents in (19_99, 1, 19_99, 1, 1):  # of 60.00 and what it adds
        story.wire("enti_1", "cpty_1", cents, HOUR_US)
        told.append(seen(story, KriName.COUNTERPARTY_CONCENTRATION, HOUR_US))

    assert [(n, status) for _, n, status in told] == [
        (5, "ok"),
        (5, "watch"),
        (5, "watch"),
        (5, "watch"),
        (5, "breach"),
    ]
    assert [value for value, _, _ in told] == [1999 / 7999, 0.25, 3999 / 9999, 0.4, 4001 / 10001]
    originate(story, 1, HOUR_US, counterparty_id="cpty_9")  # pulls money in
    originate(story, 1, HOUR_US, counterparty_id="cpty_9", is_incoming=True, type="CREDIT")
    assert seen(story, KriName.COUNTERPARTY_CONCENTRATION, HOUR_US) == told[-1]
    originate(story, 1, HOUR_US, counterparty_id="cpty_9", is_incoming=True, amount=199_99)  # takes money out
    assert seen(story, KriName.COUNTERPARTY_CONCENTRATION, HOUR_US) == (19999 / 30000, 6, "breach")
    assert seen(story, KriName.COUNTERPARTY_CONCENTRATION, DAYS_30 + 1)[1] == 4
    assert seen(story, KriName.COUNTERPARTY_CONCENTRATION, DAYS_30 + HOUR_US) == UNMEASURED


def test_given_a_payment_that_changes_then_it_is_counted_as_it_stands() -> None:
    story = detector_story()
    wire = bank.a_wire(amount=75_00, counterparty_id="cpty_1")
    story.deliver("wire.outgoing_transfer.initiated", wire)
    story.deliver("wire.outgoing_transfer.initiated", bank.a_wire(id="wire_2", amount=25_00, counterparty_id="cpty_2"))
    told = [seen(story, KriName.COUNTERPARTY_CONCENTRATION, 1)[:2]]
    for change in ({"amount": 15_00}, {"counterparty_id": "cpty_2"}, {"status": "REJECTED"}):
        wire |= change | {"updated_at": bank.rfc3339(T0 + len(told))}
        story.deliver("wire.outgoing_transfer.initiated", wire, at=T0 + len(told))
        told.append(seen(story, KriName.COUNTERPARTY_CONCENTRATION, len(told))[:2])

    assert told == [(0.75, 2), (0.625, 2), (1, 1), (1, 1)]


def verify(story: ShardStory, entity: int, status: str, at: int) -> None:
    data = bank.an_entity(id=f"enti_{entity}", verification_status=status, updated_at=bank.rfc3339(T0 + at))
    story.deliver("identity.verification.verified", data, at=T0 + at)


def test_given_decisions_on_entities_then_the_denied_part_of_the_newest_ones_is_measured_for_thirty_days() -> None:
    story = small_story()
    for entity in range(20):
        verify(story, entity, "PENDING", 0)
    assert seen(story, KriName.VERIFICATION_DENIAL_RATE, 0) == UNMEASURED
    for entity in range(20):
        verify(story, entity, "VERIFIED", 1)
    told = [seen(story, KriName.VERIFICATION_DENIAL_RATE, 2)]
    for entity in range(3):
        verify(story, entity, "DENIED", 2)
        told.append(seen(story, KriName.VERIFICATION_DENIAL_RATE, 2))

    assert told == [(0, 20, "ok"), (0.05, 20, "watch"), (0.1, 20, "watch"), (0.15, 20, "breach")]
    verify(story, 5, "VERIFIED", 3)  # no new decision
    verify(story, 6, "MANUAL_REVIEW", 3)
    verify(story, 7, "MANUAL_REVIEW", 3)
    verify(story, 7, "VERIFIED", 4)
    assert seen(story, KriName.VERIFICATION_DENIAL_RATE, DAYS_30) == (0.15, 20, "breach")
    assert seen(story, KriName.VERIFICATION_DENIAL_RATE, DAYS_30 + 1) == (0.75, 4, "breach")
    assert seen(story, KriName.VERIFICATION_DENIAL_RATE, DAYS_30 + 2) == (0, 1, "ok")
    assert seen(story, KriName.VERIFICATION_DENIAL_RATE, DAYS_30 + 4) == UNMEASURED


def test_given_card_authorizations_then_declines_and_those_for_fraud_are_parts_of_all_of_them() -> None:
    story = small_story()
    assert seen(story, KriName.CARD_DECLINE_RATE, 0) == UNMEASURED
    for place in range(13):
        story.card("bacc_1", 10_00, place, ("PENDING", "SETTLED", "VOIDED")[place % 3])
    story.deliver(
        "card.transaction.refunded", bank.a_card_authorization(id="ctxn_refund", status="REFUNDED", amount=10_00)
    )
    for place, reason in enumerate(("SUSPECTED_FRAUD", "PIN_OR_CVV", "INSUFFICIENT_FUNDS", "CARD_CLOSED")):
        data = bank.a_card_authorization(id=f"ctxn_{place}", amount=10_00)
        story.deliver("card.authorization.approved", data)
        assert seen(story, KriName.CARD_DECLINE_RATE, HOUR_US)[:2] == (place / (14 + place), 14 + place)
        decline(story, data, reason)

    assert seen(story, KriName.CARD_DECLINE_RATE, HOUR_US) == (4 / 17, 17, "watch")
    assert seen(story, KriName.CARD_FRAUD_DECLINE_SHARE, HOUR_US) == (2 / 17, 17, "breach")
    assert seen(story, KriName.CARD_DECLINE_RATE, DAYS_30 + 13) == UNMEASURED


def decline(story: ShardStory, data: bank.Data, reason: str) -> None:
    change = {"status": "DECLINED", "decision_reason": reason, "updated_at": bank.rfc3339(T0 + HOUR_US)}
    story.deliver("card.authorization.declined", data | change, at=T0 + HOUR_US)


@pytest.mark.parametrize(
    ("declined", "fraud", "rate", "share"),
    [(2, 0, "ok", "ok"), (3, 1, "watch", "watch"), (6, 2, "watch", "watch"), (7, 3, "breach", "breach")],
)
def test_given_twenty_authorizations_then_the_lines_are_as_documented(
    declined: int, fraud: int, rate: str, share: str
) -> None:
    story = detector_story()
    for place in range(20):
        reason = "SUSPECTED_FRAUD" if place < fraud else "INSUFFICIENT_FUNDS"
        status = "DECLINED" if place < declined else "SETTLED"
        story.card("bacc_1", 10_00, place, status, reason if status == "DECLINED" else "APPROVED")

    assert seen(story, KriName.CARD_DECLINE_RATE, HOUR_US) == (declined / 20, 20, rate)
    assert seen(story, KriName.CARD_FRAUD_DECLINE_SHARE, HOUR_US) == (fraud / 20, 20, share)


def test_given_a_declaration_then_what_it_does_not_name_is_outside_any_part_of_it_is_watched() -> None:
    story = small_story(declared_rails=("ach",), declared_countries=("US",))
    originate(story, 99, 0)
    told = [seen(story, KriName.OUTSIDE_DECLARED_SHARE, 0)]
    for place in range(2):
        story.wire("enti_1", "cpty_1", 10_00, place, status="REJECTED")  # an attempt is outside too
        told.append(seen(story, KriName.OUTSIDE_DECLARED_SHARE, 2))

    assert told == [(0, 99, "ok"), (0.01, 100, "watch"), (2 / 101, 101, "breach")]
    changed = a_program(declared_rails=("ach", "wire"), declared_countries=("US",))
    story.append(EntryKind.PROGRAM, msgspec.json.encode(changed), at=T0 + 2)
    story.wire("enti_1", "cpty_1", 10_00, HOUR_US)
    assert seen(story, KriName.OUTSIDE_DECLARED_SHARE, HOUR_US) == (2 / 102, 102, "breach")  # as declared at their time
    assert seen(story, KriName.OUTSIDE_DECLARED_SHARE, DAYS_30 + 1) == (0, 1, "ok")


def test_given_countries_alone_then_a_transfer_without_one_is_not_compared() -> None:
    story = small_story(declared_rails=(), declared_countries=("US",))
    story.wire("enti_1", "cpty_1", 10_00, 0)
    assert seen(story, KriName.OUTSIDE_DECLARED_SHARE, 0) == UNMEASURED
    for place, country in enumerate(("US", "DE")):
        party = bank.a_counterparty(id=f"cpty_{country}", address={"country_code": country})
        story.deliver("counterparty.created", party)
        story.wire("enti_1", f"cpty_{country}", 10_00, place + 1)
    assert seen(story, KriName.OUTSIDE_DECLARED_SHARE, 2) == (0.5, 2, "breach")

    silent = small_story(declared_rails=(), declared_countries=())
    silent.wire("enti_1", "cpty_1", 10_00, 0)
    assert seen(silent, KriName.OUTSIDE_DECLARED_SHARE, 0) == UNMEASURED


def test_given_scores_then_the_hold_bands_part_is_by_the_newest_score_of_each() -> None:
    story = detector_story()
    originate(story, 101, 0)
    rows = [StoredTransfer.read(story.program, row) for row in range(101)]
    for transfer in rows:
        set_score(transfer, -1)
    assert seen(story, KriName.HOLD_SHARE, 0) == UNMEASURED
    for transfer in rows[:100]:
        set_score(transfer, 69)
    told = []
    for transfer in rows[:6]:
        told.append(seen(story, KriName.HOLD_SHARE, 0))
        set_score(transfer, 70)

    assert [(value, status) for value, _, status in told] == [
        *((0, "ok"), (0.01, "ok"), (0.02, "watch"), (0.03, "watch"), (0.04, "watch"), (0.05, "watch"))
    ]
    assert seen(story, KriName.HOLD_SHARE, 0) == (0.06, 100, "breach")


def set_score(transfer: StoredTransfer, score: int) -> None:
    transfer.record = replace(transfer.record, score=score)
    transfer.write()


def screen(story: ShardStory, entity: str, screened_at: int | None, **over: Any) -> None:
    told = None if screened_at is None else bank.rfc3339(T0 + screened_at)
    data = bank.an_entity(id=entity, last_screened_at=told, updated_at=None, **over)
    story.deliver("identity.created", data, at=T0 + (screened_at or 0))


def test_given_screenings_then_those_older_than_their_bands_cadence_in_whole_days_are_stale() -> None:
    story = small_story()
    screen(story, "enti_none", None, requires_screening=False)
    assert seen(story, KriName.STALE_SCREENING_SHARE, 0) == UNMEASURED
    for place in range(19):
        screen(story, f"enti_{place}", 100 * DAY)
    told = [seen(story, KriName.STALE_SCREENING_SHARE, 100 * DAY)]
    for place in range(3):
        screen(story, f"enti_never{place}", None, requires_screening=True)
        told.append(seen(story, KriName.STALE_SCREENING_SHARE, 100 * DAY))

    assert told == [(0, 19, "ok"), (0.05, 20, "watch"), (2 / 21, 21, "watch"), (3 / 22, 22, "breach")]
    assert seen(story, KriName.STALE_SCREENING_SHARE, 281 * DAY - 1)[0] == 3 / 22  # unscored: 180 whole days
    assert seen(story, KriName.STALE_SCREENING_SHARE, 281 * DAY) == (1, 22, "breach")


def test_given_a_band_a_profile_or_a_ladder_that_changes_then_what_is_stale_follows() -> None:
    story = detector_story()
    screen(story, "enti_1", 0)
    at = 31 * DAY
    told = [seen(story, KriName.STALE_SCREENING_SHARE, at)[0]]
    actor = story.program.entity("enti_1")
    assert actor is not None
    story.program.scores.actors.instant(actor.index, T0)
    story.program.scores.actors.exchange(actor.index, 70, hard=False)
    told.append(seen(story, KriName.STALE_SCREENING_SHARE, at)[0])
    ladder = replace(LADDER_V1, rescreen_days=replace(LADDER_V1.rescreen_days, hold=31))
    in_force_at(story, "ladder-v2", ladder, at)
    told.append(seen(story, KriName.STALE_SCREENING_SHARE, at)[0])
    at += DAY
    told.append(seen(story, KriName.STALE_SCREENING_SHARE, at)[0])
    screen(story, "enti_1", 20 * DAY)
    told.append(seen(story, KriName.STALE_SCREENING_SHARE, at)[0])

    assert told == [0, 1, 0, 1, 0]


def test_given_lines_that_change_then_status_and_threshold_are_those_in_force_at_the_instant() -> None:
    story = detector_story(declared_monthly_volume_cents="100000")
    originate(story, 1, 0, amount=500_00)
    before = seen(story, KriName.DECLARED_VOLUME_USE, 0)
    lines = tuple(
        replace(line, watch=0.4, breach=0.45) if line.kri is KriName.DECLARED_VOLUME_USE else line
        for line in KRI_V1.lines
    )
    in_force_at(story, "kri-v2", replace(KRI_V1, lines=lines), HOUR_US)

    assert (before[2], seen(story, KriName.DECLARED_VOLUME_USE, HOUR_US)[2]) == ("ok", "breach")
    assert msgspec.json.decode(msgspec.json.encode(KRI_V1), type=type(KRI_V1)) == KRI_V1
