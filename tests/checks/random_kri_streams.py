"""Random streams of one program that reach every indicator: what the oracle's streams have, and what only KRIs see.

Balances, freezes and overdrafts; entries that come back long after, as RCK, as credits; screenings; declarations.
"""

from random import Random
from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.oracle.random_amounts import CENTS
from tests.oracle.random_parties import ACCOUNTS, LATE, OWNERS
from tests.oracle.random_streams import CODES, REASONS, Teller
from tests.support import bank_events as bank

RESERVES: Final = ("bacc_1", "bacc_reserve")
HAPPENINGS: Final = (
    *("transfer", "again", "scene", "identity", "account", "owner", "directory"),
    *("repeat", "aside", "counterparty", "declaration"),
    *("sent", "back", "cards", "balance", "freeze", "overdraft", "screening", "calm"),
)
HOW_OFTEN: Final = (18, 14, 4, 4, 3, 2, 4, 3, 1, 1, 4, 16, 22, 5, 5, 3, 3, 5, 4)
SENT: Final = ("SETTLED", "SETTLED", "COMPLETED", "SUBMITTED", "CANCELED", "REJECTED")
AGES: Final = (*(d * DAY_US for d in (1, 30, 45, 59, 60, 61, 65, 80)), 60 * DAY_US - 1, HOUR_US)
SCREENED: Final = (*(d * DAY_US for d in (1, 29, 30, 31, 180, 181, 365, 366, 400)), 181 * DAY_US - 1)
NAMES: Final = {"receiver_name", "company_name", "payee_name", "originator_name", "beneficiary_name"}
RAILS: Final = ("ach", "wire", "realtime", "intl_wire", "book", "check", "card")


class KriTeller(Teller):
    """Tells of what indicators count, most of all of entries and what came back of them."""

    def say(self, kind: str, data: dict[str, Any], event_at: int) -> None:
        """Whom the bank gives no id, it does not name either: the oracle does not match names."""
        unnamed = dict.fromkeys(NAMES & data.keys()) if data.get("counterparty_id", "") is None else {}
        super().say(kind, data | unnamed, event_at)

    def happen(self) -> None:
        self._let_time_pass()
        (kind,) = self.chance.choices(HAPPENINGS, HOW_OFTEN)
        if kind in {"again", "repeat", "back"} and not self.told:
            kind = "sent"
        getattr(self, kind)()

    def sent(self) -> None:
        """Several entries of one kind, told of as they are sent or long after."""
        chance = self.chance
        ach_type = chance.choice(("DEBIT", "DEBIT", "DEBIT", "CREDIT"))
        late = chance.choice(AGES) if chance.random() < 0.4 else 0
        sec_code = chance.choice(("WEB", "PPD", "RCK"))
        for _ in range(chance.randint(1, 8)):
            self.made += 1
            own = self.now - late
            data = bank.an_ach_transfer(
                id=f"acht_{self.made}",
                type=ach_type,
                amount=chance.choice(CENTS),
                status=chance.choice(SENT),
                entry_class_code=sec_code,
                bank_account_id=chance.choice(ACCOUNTS),
                counterparty_id=f"cpty_{chance.randint(1, 6)}",
                receiver_name=None,
                created_at=bank.rfc3339(own),
                updated_at=bank.rfc3339(own),
            )
            data["_own"] = own
            event_at = own if chance.random() < 0.5 else self.now
            self.deliver(f"ach.outgoing_transfer.{data['status'].lower()}", data, event_at)
            self.now += chance.choice((0, 1, SECOND_US))

    def back(self) -> None:
        """An entry, old or new, comes back, is dishonoured, is contested; sometimes the news of it is late."""
        entries = [each for each in self.told if each[0].startswith("ach.outgoing")]
        if not entries:
            return self.sent()
        _, data, told_at = self.chance.choice(entries)
        newest = next(each[1] for each in reversed(self.told) if each[1]["id"] == data["id"])
        details = list(newest["return_details"])
        event_at = max(self.now - self.chance.choice((0, 0, *LATE)), told_at)
        if not details or self.chance.random() < 0.1:
            details, status = [*details, bank.a_return(self.chance.choice(CODES), event_at)], "RETURNED"
        elif newest["status"] == "RETURN_DISHONORED":
            details, status = [*details, bank.a_return("R73", event_at)], "RETURN_CONTESTED"
        else:
            details, status = [*details, bank.a_return("R68", event_at)], "RETURN_DISHONORED"
        change = {"status": status, "return_details": details, "updated_at": bank.rfc3339(event_at)}
        return self.deliver(f"ach.outgoing_transfer.{status.lower()}", newest | change, event_at)

    def cards(self) -> None:
        """Authorizations at a shop, some of them declined, all of them new."""
        for _ in range(self.chance.randint(1, 9)):
            self.made += 1
            declined = self.chance.random() < 0.3
            reason = self.chance.choice(REASONS) if declined else "APPROVED"
            data = bank.a_card_authorization(
                id=f"ctxn_{self.made}",
                status="DECLINED" if declined else "PENDING",
                decision_reason=reason,
                processor_reason=reason,
                amount=self.chance.choice(CENTS),
                created_at=bank.rfc3339(self.now),
                updated_at=bank.rfc3339(self.now),
            )
            data["_own"] = self.now
            self.deliver(f"card.authorization.{'declined' if declined else 'approved'}", data, self.now)

    def balance(self) -> None:
        """The bank tells an account whole, under one spelling or the other."""
        spelling = self.chance.choice(("amount", "balance"))
        balances = {f"{name}_{spelling}": self.chance.choice((0, *CENTS)) for name in ("available", "locked")}
        self._account(self.chance.choice(RESERVES), "account.unfrozen", balances=balances)

    def freeze(self) -> None:
        self._account(self.chance.choice(ACCOUNTS), "account.frozen")

    def _account(self, account: str, kind: str, **over: Any) -> None:
        event_at = self.now - (self.chance.choice(LATE) if self.chance.random() < 0.3 else 0)
        self.say(kind, bank.an_account(id=account, owners=[]) | over, event_at)

    def overdraft(self) -> None:
        kind = self.chance.choice(("overdrafted", "overdrafted", "overdraft_released", "overdraft_cleared"))
        event_at = self.now - (self.chance.choice(LATE) if self.chance.random() < 0.3 else 0)
        data = {"bank_account_id": self.chance.choice(ACCOUNTS), "overdraft_amount": {"cents": 6_000}}
        self.say(f"account.{kind}", data, event_at)

    def screening(self) -> None:
        """An entity as it stands after a screening, or with one due."""
        chance, event_at = self.chance, self.now
        last = None if chance.random() < 0.2 else bank.rfc3339(event_at - chance.choice(SCREENED))
        status = chance.choice(("VERIFIED", "VERIFIED", "VERIFIED", "DENIED", "PENDING"))
        entity = bank.an_entity(
            id=chance.choice((*OWNERS, *(f"enti_{n}" for n in range(4, 13)))),
            verification_status=status,
            requires_screening=chance.random() < 0.8,
            last_screened_at=last,
            updated_at=bank.rfc3339(event_at),
        )
        self.say(f"identity.verification.{status.lower()}", entity, event_at)

    def calm(self) -> None:
        """A few days without news."""
        self.now += self.chance.choice((DAY_US, 7 * DAY_US, 29 * DAY_US, 30 * DAY_US, 31 * DAY_US))

    def declaration(self) -> None:
        chance = self.chance
        body: dict[str, Any] = {"id": self.program_id, "tenantId": "ten_1", "slug": "acme", "name": "Acme"}
        body |= {"declaredRails": chance.sample(RAILS, chance.choice((0, 2, 5)))}
        body |= {"declaredCountries": chance.choice((["US"], ["US", "DE"], []))}
        body |= {"declaredMonthlyVolumeCents": chance.choice((None, "1000000", "25000000"))}
        body |= {"programReserveAccountId": chance.choice((None, *RESERVES))}
        self.log(EntryKind.PROGRAM, body)


def kri_stream(chance: Random, happenings: int) -> list[LogEntry]:
    """A declared program, and so many things that happen to it."""
    teller = KriTeller(chance, "prg_1")
    teller.declaration()
    for _ in range(happenings):
        teller.happen()
    return teller.entries
