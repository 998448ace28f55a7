"""Random streams with many cases of one kind: equal times, spellings of names and numbers, countries, times.

One class for each kind.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import LogEntry
from tests.oracle.random_parties import ACCOUNTS, OWNERS, verified
from tests.oracle.random_scenes import Plan
from tests.oracle.random_streams import PARTIES, Teller, kind_of
from tests.support import bank_events as bank

HAPPENINGS: Final = 40

Data = dict[str, Any]
States = tuple[str, ...]

TIED: Final[tuple[tuple[str, str, str | None, States], ...]] = (
    ("ach", "outgoing", "DEBIT", ("SETTLED", "RETURNED")),
    ("ach", "outgoing", "DEBIT", ("COMPLETED", "RETURNED", "RETURN_DISHONORED")),
    ("ach", "outgoing", "DEBIT", ("RETURNED", "RETURN_DISHONORED", "RETURN_CONTESTED")),
    ("ach", "outgoing", "CREDIT", ("INITIATED", "CANCELED")),
    ("ach", "incoming", "DEBIT", ("SCHEDULED", "SETTLED", "RETURNED")),
    ("wire", "outgoing", None, ("INITIATED", "REJECTED")),
    ("wire", "outgoing", None, ("MANUAL_REVIEW", "COMPLETED")),
    ("realtime", "outgoing", None, ("initiated", "completed")),
    ("realtime", "outgoing", None, ("manual_review", "manual_review_rejected")),
    ("realtime", "outgoing", None, ("pending", "rejected")),
    ("intl_wire", "outgoing", None, ("SUBMITTED", "COMPLETED", "RETURNED")),
    ("book", "outgoing", None, ("HOLD", "COMPLETED")),
    ("book", "outgoing", None, ("HOLD", "CANCELED")),
    ("check", "outgoing", None, ("issued", "stopped")),
    ("check", "incoming", None, ("initiated", "deposited")),
    ("card", "outgoing", None, ("PENDING", "DECLINED")),
    ("card", "outgoing", None, ("PENDING", "VOIDED")),
)
CODES: Final = {"RETURNED": ("R10",), "RETURN_DISHONORED": ("R10", "R68"), "RETURN_CONTESTED": ("R10", "R68", "R73")}

SPELLINGS: Final = (
    *("Cedar Freight LLC", "CEDAR FREIGHT LLC", "Cedar  Freight\u00a0LLC", "Cedar Freight LLC\u200b"),
    *("Cedar Fre\u2060ight LLC", "Cedar Freight, L.L.C.", "\uff23edar Freight LLC"),
    *("Olmo Caf\u00e9", "Olmo Cafe\u0301", "OLMO CAF\u00c9", "Olmo Caf\u00e9\ufe0f", "Birch & Sons", "Birch Sons"),
    *("C\u0435dar Freight LLC", "CedarFreight LLC", "Birch + Sons", "Olmo, Caf\u00e9"),
)
NUMBERS: Final = (
    "000123454321",
    "744-5678-99",
    "744567899",
    "DE89 3704 0044 0532 0130 00",
    "DE89370400440532013000",
    None,
)
ROUTINGS: Final = ("021000021", "021-000-021", " 021000021 ", "111000025", "21000021", None)
COUNTRIES: Final = ("US", "USA", "us", "UK", "GBR", "EL", "IRN", "IR", "PRK", " de ", "ZZ", "XX", "Germany", "DEU", 5)
CURRENCIES: Final = ("392", 392, "EURO", "\u00a5", "USDC", "usd", " USD", "EUR", None, "")
UNTRUE: Final = ("0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1989-12-31T23:59:59Z", "2199-01-01T00:00:00Z")
LEAP: Final = "2016-12-31T23:59:60Z"


class TiedTeller(Teller):
    """Most objects have several snapshots in one second, in any order; when ``lonely``, with nothing between."""

    def __init__(self, chance: Random, program_id: str, *, lonely: bool = False) -> None:
        super().__init__(chance, program_id)
        self.lonely = lonely

    def happen(self) -> None:
        self._let_time_pass()
        self.chance.choices((super().happen, self.tie, self.tied_identity, self.tied_party), (4, 5, 1, 1))[0]()

    def tie(self) -> None:
        """States of one transfer with equal times, sometimes with another transfer between them."""
        chance = self.chance
        rail, direction, ach_type, states = chance.choice(TIED)
        own = self.now - chance.choice((0, 0, HOUR_US, DAY_US))
        cents, account, party = (
            chance.choice((12_500, 95_000, 300_000)),
            chance.choice(ACCOUNTS),
            chance.choice(PARTIES),
        )
        data = self._built(Plan(0, rail, direction, ach_type, cents, account, party), own)
        event_at = own + chance.choice((0, 0, SECOND_US)) * (own < self.now)
        told = list(states)
        chance.shuffle(told)
        for state in told:
            more: Data = {"status": state, "updated_at": bank.rfc3339(event_at)}
            if rail == "ach":
                more["return_details"] = [bank.a_return(code, event_at) for code in CODES.get(state, ())]
            if rail == "card":
                more |= {
                    "card_id": "card_1",
                    "decision_reason": "suspected_fraud" if state == "DECLINED" else "APPROVED",
                }
            self.deliver(kind_of(rail, direction, data | more), data | more, event_at)
            if not self.lonely and chance.random() < 0.2:
                self.transfer()

    def tied_identity(self) -> None:
        event_at = self.now - self.chance.choice((0, HOUR_US))
        _, data = verified(self.chance, event_at)
        words = [*self.chance.sample(("pending", "manual_review", "verified"), 2), "denied"]
        for word in self.chance.sample(words[: self.chance.randint(2, 3)], 2):
            more = {"verification_status": word.upper(), "updated_at": bank.rfc3339(event_at)}
            self.say(f"identity.verification.{word}", data | more, event_at)

    def tied_party(self) -> None:
        which, event_at = self.chance.randint(1, 4), self.now - self.chance.choice((0, HOUR_US))
        for word in self.chance.sample(("created", "updated"), 2):
            number = "000001111" if word == "created" else "000002222"
            data = bank.a_counterparty(id=f"cpty_{which}", name=f"Party {which}", account_number=number)
            self.say(f"counterparty.{word}", data | {"updated_at": bank.rfc3339(event_at)}, event_at)


class SpelledTeller(Teller):
    """Wires to payees without an id, whose names and numbers are spelled in many ways."""

    def transfer(self) -> None:
        chance, own = self.chance, self.now
        plan = Plan(0, "wire", "outgoing", None, chance.choice((12_500, 100_000)), chance.choice(ACCOUNTS), "cpty_1")
        sides = {
            "counterparty_id": None,
            "beneficiary_name": chance.choice(SPELLINGS),
            "beneficiary_account_number": chance.choice(NUMBERS),
            "creditor_agent_routing_number": chance.choice(ROUTINGS),
        }
        data = self._built(plan, own) | sides | {"status": "COMPLETED", "updated_at": bank.rfc3339(own)}
        self.deliver("wire.outgoing_transfer.completed", data, own)

    def happen(self) -> None:
        self._let_time_pass()
        self.chance.choices((self.transfer, self.identity, self.owner), (10, 1, 1))[0]()


class AbroadTeller(Teller):
    """International wires with countries in every spelling."""

    countries: Sequence[Any] = COUNTRIES
    currencies: Sequence[Any] = ("USD",)

    def happen(self) -> None:
        self._let_time_pass()
        self.chance.choices((super().happen, self.abroad), (1, 1))[0]()

    def abroad(self) -> None:
        chance, own = self.chance, self.now
        way = chance.choice(("outgoing", "incoming"))
        party, account = chance.choice((*PARTIES[:6], None)), chance.choice(ACCOUNTS)
        data = self._built(
            Plan(0, "intl_wire", way, None, chance.choice((95_000, 150_000_000)), account, party or "x"), own
        )
        who = "beneficiary" if way == "outgoing" else "originator"
        data |= {"counterparty_id": party, f"{who}_address": {"country_code": chance.choice(self.countries)}}
        data |= {
            "currency_code": chance.choice(self.currencies),
            "status": "COMPLETED",
            "updated_at": bank.rfc3339(own),
        }
        for which in ("settled", "instructed"):
            stated = chance.random() < 0.5
            data[f"{which}_amount"] = chance.choice((970_000, 42_000)) if stated else None
            data[f"{which}_currency_code"] = chance.choice(("USD", "usd", "392", "EUR")) if stated else None
        self.deliver(f"swift.{way}_transfer.completed", data, own)


class CurrencyTeller(AbroadTeller):
    """International wires with currencies in every spelling."""

    countries = ("US", "DE", None)
    currencies = CURRENCIES


class UntrueTeller(Teller):
    """Times that cannot be true, without an offset, and leap seconds."""

    def happen(self) -> None:
        self._let_time_pass()
        self.chance.choices((super().happen, self.untrue, self.unscreened), (4, 2, 1))[0]()

    def untrue(self) -> None:
        """A wire with times that cannot be true, or a leap second."""
        chance, own = self.chance, self.now
        plan = Plan(0, "wire", "outgoing", None, 42_000, chance.choice(ACCOUNTS), chance.choice(PARTIES[:6]))
        data = self._built(plan, own) | {"status": "COMPLETED", "updated_at": bank.rfc3339(own)}
        without_offset = bank.rfc3339(own - 30 * DAY_US).removesuffix("Z")
        for name in chance.sample(("created_at", "updated_at", "initiated_at"), chance.randint(1, 2)):
            data[name] = chance.choice((*UNTRUE, without_offset))
        if chance.random() < 0.1:
            data["created_at"] = LEAP
        self.deliver("wire.outgoing_transfer.completed", data, own)

    def unscreened(self) -> None:
        data = {"id": self.chance.choice(OWNERS), "verification_status": "VERIFIED", "requires_screening": True}
        for name in ("last_screened_at", "created_at"):
            data[name] = self.chance.choice((*UNTRUE, bank.rfc3339(self.now - DAY_US)))
        self.say("identity.verification.verified", data, self.now)


TELLERS: Final[dict[str, Callable[[Random, str], Teller]]] = {
    "ties": TiedTeller,
    "names and numbers": SpelledTeller,
    "countries": AbroadTeller,
    "currencies": CurrencyTeller,
    "times": UntrueTeller,
}


def stream_of(piece: str, seed: int, happenings: int = HAPPENINGS) -> list[LogEntry]:
    teller = TELLERS[piece](Random(seed), "prg_1")
    for _ in range(happenings):
        teller.happen()
    return teller.entries
