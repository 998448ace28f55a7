"""Golden streams of the indicators that are not rates of ACH returns: reserve, accounts, volume, parties, cards."""

from typing import Any, Final

from tests.checks.kri_bank import DAY, HOUR, Bank
from tests.checks.kri_cases import JUNE, case

RESERVE: Final = "bacc_reserve"

# Reserve: under 1.25 and under 1.


def reserve(bank: Bank, available: int, locked: int, *, spelling: str = "amount") -> None:
    """Ten debits of 100.00: four of an hour ago, six of twenty days ago; an R01 and an R10 of the old ones came back.

    Overall 2/10, unauthorized 1/10. Eight can still come back: 4 x 100.00 x 0.2 + 8 x 100.00 x 0.1 = 160.00.
    """
    bank.declared |= {"programReserveAccountId": RESERVE}
    bank.account(RESERVE, 3 * HOUR, balances={"available_amount": 1})
    bank.account(RESERVE, 2 * HOUR, balances={f"available_{spelling}": available, f"locked_{spelling}": locked})
    old = bank.entries(6, ago=20 * DAY, amount=100_00)
    bank.entries(4, ago=HOUR, amount=100_00)
    bank.returned(old[0], "R01", ago=18 * DAY)
    bank.returned(old[1], "R10", ago=15 * DAY)


COVERAGE: Final = "reserve_coverage"
case(COVERAGE, "200.00 of 160.00 = 1.25", lambda b: reserve(b, 150_00, 50_00), "5/4", 8, "ok")
case(COVERAGE, "199.99 is under 1.25", lambda b: reserve(b, 149_99, 50_00), "19999/16000", 8, "watch")
case(COVERAGE, "160.00 of 160.00 = 1", lambda b: reserve(b, 160_00, 0), "1", 8, "watch")
case(COVERAGE, "159.99 is under 1", lambda b: reserve(b, 0, 159_99), "15999/16000", 8, "breach")
case(COVERAGE, "older names", lambda b: reserve(b, 100_00, 60_00, spelling="balance"), "1", 8, "watch")
case(COVERAGE, "an empty reserve is 0", lambda b: reserve(b, 0, 0), "0", 8, "breach")
case(COVERAGE, "no reserve account declared", lambda b: b.debits(4), None, None, "unmeasured")


def unheard_reserve(bank: Bank) -> None:
    bank.declared |= {"programReserveAccountId": RESERVE}
    bank.debits(4)


def idle_reserve(bank: Bank) -> None:
    bank.declared |= {"programReserveAccountId": RESERVE}
    bank.account(RESERVE)


case(COVERAGE, "the bank said nothing of the account", unheard_reserve, None, None, "unmeasured")
case(COVERAGE, "no debit", idle_reserve, None, 0, "unmeasured")

# Accounts: overdrafts from 1 and over 3, freezes from 1 and over 2.

OVERDRAFTS: Final = "overdraft_events"
FREEZES: Final = "freeze_events"


def overdrafts(bank: Bank, *accounts: str, ago: int = DAY) -> None:
    for name in ("one", "two", "three", "four"):
        bank.account(f"bacc_{name}", kind="account.unfrozen")
    for name in accounts:
        bank.overdraft(f"bacc_{name}", ago)


def freezes(bank: Bank, *accounts: str, ago: int = DAY) -> None:
    for place, name in enumerate(accounts):
        bank.account(f"bacc_{name}", ago - 2 * place * HOUR)
        bank.account(f"bacc_{name}", ago - (2 * place + 1) * HOUR, kind="account.unfrozen")
    bank.account("bacc_one", HOUR, kind="account.unfrozen")


def late_freeze(bank: Bank) -> None:
    """The unfreeze arrives first."""
    bank.account("bacc_one", DAY, kind="account.unfrozen")
    bank.account("bacc_one", 2 * DAY)


def released(bank: Bank) -> None:
    overdrafts(bank)
    bank.overdraft("bacc_one", kind="account.overdraft_released")
    bank.overdraft("bacc_two", kind="account.overdraft_cleared")


case(OVERDRAFTS, "no account, no measure", lambda b: b.entity("enti_x"), None, 0, "unmeasured")
case(OVERDRAFTS, "none", overdrafts, "0", 4, "ok")
case(OVERDRAFTS, "one", lambda b: overdrafts(b, "one"), "1", 4, "watch")
case(OVERDRAFTS, "one account twice is one", lambda b: overdrafts(b, "one", "one"), "1", 4, "watch")
case(OVERDRAFTS, "three", lambda b: overdrafts(b, "one", "two", "three"), "3", 4, "watch")
case(OVERDRAFTS, "four", lambda b: overdrafts(b, "one", "two", "three", "four"), "4", 4, "breach")
case(OVERDRAFTS, "31 days ago is over", lambda b: overdrafts(b, "one", ago=31 * DAY), "0", 4, "ok")
case(OVERDRAFTS, "a release is none", released, "0", 4, "ok")
case(FREEZES, "an unfreeze is none", freezes, "0", 1, "ok")
case(FREEZES, "one", lambda b: freezes(b, "one"), "1", 1, "watch")
case(FREEZES, "one account twice is two", lambda b: freezes(b, "one", "one"), "2", 1, "watch")
case(FREEZES, "late news is news", late_freeze, "1", 1, "watch")
case(FREEZES, "three", lambda b: freezes(b, "one", "two", "one"), "3", 2, "breach")
case(FREEZES, "31 days ago is over", lambda b: freezes(b, "one", "one", ago=31 * DAY), "0", 1, "ok")

# Volume: 2 and 3 times the usual day; 80 and 100 % of what was declared.

VELOCITY: Final = "volume_velocity"
USE: Final = "declared_volume_use"


def volume(bank: Bank, before: int, today: int, *, age: int = 10 * DAY) -> None:
    bank.wire(before, age)
    bank.wire(today, HOUR)


def old_program(bank: Bank) -> None:
    """Sixty days old: 100.00 then, 600.00 ten days ago, 300.00 today. 900.00 in 30 days are 30.00 a day; ten times."""
    bank.wire(100_00, 60 * DAY)
    volume(bank, 600_00, 300_00)


def attempts(bank: Bank) -> None:
    """1,000.00 in ten days, 200.00 today, and what never moved."""
    volume(bank, 800_00, 200_00)
    bank.wire(9_000_00, HOUR, status="REJECTED")
    bank.card("INSUFFICIENT_FUNDS", HOUR, amount=9_000_00)
    bank.ach(ago=HOUR, amount=9_000_00, status="CANCELED")


def day_edge(bank: Bank) -> None:
    """A day is (t - 24 h, t]: 300.00 of exactly 24 hours ago are not of it."""
    volume(bank, 500_00, 200_00)
    bank.wire(300_00, DAY)


case(VELOCITY, "200.00 against 100.00 a day", lambda b: volume(b, 800_00, 200_00), "2", 2, "watch", exact_time=True)
case(
    VELOCITY,
    "199.99 against 100.00 a day",
    lambda b: volume(b, 800_01, 199_99),
    "19999/10000",
    2,
    "ok",
    exact_time=True,
)
case(VELOCITY, "300.00 against 100.00 a day", lambda b: volume(b, 700_00, 300_00), "3", 2, "watch", exact_time=True)
case(
    VELOCITY,
    "300.01 against 100.00 a day",
    lambda b: volume(b, 699_99, 300_01),
    "30001/10000",
    2,
    "breach",
    exact_time=True,
)
case(
    VELOCITY,
    "a program of six days has no usual day",
    lambda b: volume(b, 800_00, 200_00, age=6 * DAY),
    None,
    None,
    "unmeasured",
)
case(VELOCITY, "nothing yet", lambda b: b.entity("enti_x"), None, 0, "unmeasured")
case(VELOCITY, "an old one's usual day is of 30", old_program, "10", 2, "breach")
case(VELOCITY, "what did not move is no volume", attempts, "2", 2, "watch", exact_time=True)
case(VELOCITY, "a day is half open", day_edge, "2", 3, "watch", exact_time=True)


def declared(bank: Bank, *cents: int, ago: int = HOUR) -> None:
    bank.declared |= {"declaredMonthlyVolumeCents": "100000"}
    for amount in cents:
        bank.wire(amount, ago)


def both_ways(bank: Bank) -> None:
    """Volume is what moved, either way: 300.00 + 300.00 + 200.00, and 977.00 euros of which no dollars are known."""
    declared(bank, 300_00)
    bank.wire(300_00, HOUR, "incoming")
    bank.ach(ago=HOUR, amount=200_00)
    bank.abroad(977_00, "US", HOUR, currency_code="EUR", settled_currency_code=None, instructed_currency_code=None)


def in_euros(bank: Bank) -> None:
    """700.00 euros, settled for 800.00 dollars."""
    declared(bank)
    money = {"currency_code": "EUR", "settled_amount": 800_00, "instructed_currency_code": "EUR"}
    bank.abroad(700_00, "US", HOUR, **money)


def last_month(bank: Bank) -> None:
    """A second ago it was May."""
    declared(bank, 900_00, ago=1_000_000)
    declared(bank, 100_00, ago=0)


case(USE, "799.99 of 1,000.00", lambda b: declared(b, 500_00, 299_99), "79999/100000", 2, "ok")
case(USE, "800.00 of 1,000.00", lambda b: declared(b, 500_00, 300_00), "4/5", 2, "watch")
case(USE, "1,000.00 of 1,000.00", lambda b: declared(b, 1_000_00), "1", 1, "watch")
case(USE, "1,000.01 of 1,000.00", lambda b: declared(b, 1_000_01), "100001/100000", 1, "breach")
case(USE, "nothing declared", lambda b: b.wire(100_00, HOUR), None, None, "unmeasured")
case(USE, "nothing moved", declared, None, 0, "unmeasured")
case(USE, "money in and out", both_ways, "4/5", None, "watch")
case(USE, "dollars as settled", in_euros, "4/5", 1, "watch")
case(USE, "the month begins at midnight UTC", last_month, "1/10", 1, "ok", exact_time=True, now=JUNE)

# Counterparties: 25 and 40 % of what leaves.

TOP: Final = "counterparty_concentration"


def paid(bank: Bank, *cents: int, ago: int = DAY) -> None:
    for place, amount in enumerate(cents):
        bank.wire(amount, ago, counterparty_id=f"cpty_{bank.mark}{place}")


def paid_again(bank: Bank) -> None:
    paid(bank, 20_00, 40_00)
    bank.wire(40_00, HOUR, counterparty_id=bank.events[0].data["counterparty_id"])


def by_flow(bank: Bank) -> None:
    """Out: a credit sent 30.00, a debit pulled from us 30.00, our check 40.00. In: what we pull, receive, deposit."""
    bank.ach("outgoing CREDIT", amount=30_00, counterparty_id="cpty_a", receiver_name=None)
    bank.ach("incoming DEBIT", amount=30_00, counterparty_id="cpty_b", company_name=None)
    bank.check(40_00, DAY, deposited=False)
    bank.ach(amount=5_000_00, counterparty_id="cpty_a")
    bank.wire(5_000_00, DAY, "incoming", counterparty_id="cpty_a")
    bank.check(5_000_00, DAY, deposited=True)


def and_nobody(bank: Bank) -> None:
    """60.00 to one, 40.00 to nobody whom the bank names."""
    paid(bank, 60_00)
    nobody: dict[str, Any] = {
        "beneficiary_name": None,
        "beneficiary_account_number": None,
        "creditor_agent_routing_number": None,
    }
    bank.wire(40_00, DAY, counterparty_id=None, **nobody)


case(TOP, "24 of 100", lambda b: paid(b, 24_00, 19_00, 19_00, 19_00, 19_00), "6/25", 5, "ok")
case(TOP, "25 of 100", lambda b: paid(b, 25_00, 25_00, 25_00, 25_00), "1/4", 4, "watch")
case(TOP, "40 of 100", lambda b: paid(b, 40_00, 30_00, 30_00), "2/5", 3, "watch")
case(TOP, "41 of 100", lambda b: paid(b, 41_00, 30_00, 29_00), "41/100", 3, "breach")
case(TOP, "several payments to one are one sum", paid_again, "3/5", 2, "breach")
case(TOP, "31 days ago is over", lambda b: paid(b, 40_00, ago=31 * DAY), None, 0, "unmeasured")
case(TOP, "by where the money goes", by_flow, "2/5", 3, "watch")
case(TOP, "money to nobody named is of the whole", and_nobody, "3/5", 1, "breach")
