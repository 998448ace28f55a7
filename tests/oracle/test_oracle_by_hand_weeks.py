"""The oracle against stories of new parties over weeks and of where money came from, worked out by hand."""

from clearhold.features.core.instants import DAY_US
from tests.oracle.story import Story, told


def test_given_new_payers_of_weeks_when_a_payee_is_paid_then_they_are_counted_beside_its_usual_month() -> None:
    story = Story()
    first = story.wire("outgoing", 10_000, 0, account="bacc_A")
    story.wire("outgoing", 10_000, 65 * DAY_US, account="bacc_B")
    story.wire("outgoing", 10_000, 95 * DAY_US, account="bacc_C")
    fourth = story.wire("outgoing", 10_000, 100 * DAY_US, account="bacc_D")
    fifth = story.wire("outgoing", 10_000, 102 * DAY_US, account="bacc_E")  # C's first payment is 7 days ago
    again = story.wire("outgoing", 10_000, 103 * DAY_US, account="bacc_E")

    weeks = ("payee.newPayers7d", "payee.newPayers30d", "payer.newPayees30d", "payee.newPayersOverUsualPercent")
    assert told(first, *weeks) == (None, None, None, None)
    assert told(fourth, *weeks) == (2, 2, 1, 133)  # one in the 60 days before: 2 / (1 + 1 / 2)
    assert told(fifth, *weeks) == (2, 3, 1, 200)
    assert told(again, *weeks) == (None, None, None, None)


def test_given_a_payer_that_was_paid_by_new_parties_when_it_pays_on_then_they_are_counted_without_the_payee() -> None:
    story = Story()
    story.book("bacc_0", "bacc_9", 1, 0)
    for n in range(3):
        story.book(f"bacc_{n + 1}", "bacc_X", 10_000, (20 + n) * DAY_US)

    young = story.book("bacc_X", "bacc_Y", 30_000, 23 * DAY_US)
    later = story.book("bacc_X", "bacc_Z", 30_000, 51 * DAY_US)  # the first of the three was 31 days ago

    names = ("payer.newPayers30d", "payer.newPayersOverUsualPercent")
    assert told(young, *names) == (3, None)
    assert told(later, *names) == (1, 25)  # two in the 21 days before: 1 / (1 + 2 x 30 / 21), which is 7 / 27


def test_given_first_payments_in_a_row_when_the_money_is_paid_on_then_the_chain_ends_with_the_oldest_of_14_days() -> (
    None
):
    story = Story()
    story.book("bacc_0", "bacc_9", 1, 0)
    story.book("bacc_Z", "bacc_A", 10_000, 10 * DAY_US)
    story.book("bacc_A", "bacc_B", 10_000, 20 * DAY_US)
    story.book("bacc_B", "bacc_C", 9_000, 22 * DAY_US)
    last = story.book("bacc_C", "bacc_D", 8_000, 23 * DAY_US)
    again = story.book("bacc_C", "bacc_D", 8_000, 24 * DAY_US)

    assert told(last, "first.chain14dHops") == (3,)  # Z paid A 13 days before
    assert told(last, "payer.lastReceiptHours", "payer.lastReceiptCents") == (24, 9_000)
    assert told(last, "payer.received30dCents", "payer.sent30dCents") == (0, 8_000)  # a book transfer is its sender's
    assert told(again, "first.chain14dHops", "first.middles30d", "payer.sent30dCents") == (None, None, None)


def test_given_two_first_payments_of_one_instant_when_the_money_is_paid_on_then_the_chain_ends_there() -> None:
    story = Story()
    story.book("bacc_0", "bacc_9", 1, 0)
    story.book("bacc_A", "bacc_C", 10_000, 20 * DAY_US)
    story.book("bacc_B", "bacc_C", 10_000, 20 * DAY_US)
    last = story.book("bacc_C", "bacc_D", 8_000, 23 * DAY_US)

    assert told(last, "first.chain14dHops") == (0,)


def test_given_middlemen_of_one_party_when_they_pay_one_payee_then_they_are_counted_unless_it_pays_many() -> None:
    story = Story()
    for number in range(4):
        story.book("bacc_S", f"bacc_{number}", 10_000, number)
    first, second, third = (story.book(f"bacc_{n}", "bacc_T", 9_000, DAY_US + n) for n in range(3))
    for number in range(20):
        story.book("bacc_S", f"bacc_x{number}", 10_000, 2 * DAY_US + number)
    last = story.book("bacc_3", "bacc_T", 9_000, 3 * DAY_US)

    assert [told(each, "first.middles30d") for each in (first, second, third)] == [(0,), (2,), (3,)]
    assert told(last, "first.middles30d") == (0,)  # 4 of its 24 payees
