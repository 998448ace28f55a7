"""Random streams of bank events as the bank sends them: no entity on a transfer but our own card events' one.

Accounts get their owners late: by a freeze, from the platform, from the bank's API, which also answers what it knows of
entities and counterparties; identities are told before and after. A transfer is
told again when it settles, is corrected, refused, canceled, returned, and when its return is dishonoured or contested;
events come twice, late and in another order. Times cluster and lie on the edges of windows, amounts on thresholds.
"""

import json
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.oracle.random_amounts import CENTS, money, set_amount
from tests.oracle.random_parties import ACCOUNTS, LATE, ON_FILE, OWNERS, verified
from tests.oracle.random_policies import approval, cap_change, other_thresholds
from tests.oracle.random_scenes import SCENES, Plan
from tests.support import bank_events as bank
from tests.support.clock import T0

GAPS: Final = (
    *(0, 1, SECOND_US, 60 * SECOND_US, 60 * SECOND_US, 10 * 60 * SECOND_US, 10 * 60 * SECOND_US, HOUR_US, HOUR_US),
    *(3 * HOUR_US, 5 * HOUR_US, 8 * HOUR_US, DAY_US - 1, DAY_US, 2 * DAY_US),
)
LONG_GAPS: Final = (3 * DAY_US, 7 * DAY_US, 30 * DAY_US, 95 * DAY_US)
WINDOWS: Final = tuple(h * HOUR_US for h in (1, 8, 24, 48, 72)) + tuple(d * DAY_US for d in (7, 30, 35, 60, 90))
MOVES: Final = (
    *(("ach", "outgoing", "CREDIT"), ("ach", "outgoing", "DEBIT"), ("ach", "outgoing", "DEBIT")),
    *(("ach", "incoming", "CREDIT"), ("ach", "incoming", "DEBIT"), ("ach", "incoming", "DEBIT")),
    *(("wire", "outgoing", None), ("wire", "incoming", None), ("realtime", "outgoing", None)),
    *(("realtime", "incoming", None), ("intl_wire", "outgoing", None), ("intl_wire", "incoming", None)),
    *(("intl_wire", "outgoing", None), ("intl_wire", "incoming", None)),
    *(("book", "outgoing", None), ("book", "outgoing", None), ("check", "outgoing", None)),
    *(("check", "incoming", None), ("card", "outgoing", None), ("card", "outgoing", None), ("card", "incoming", None)),
)
BUILDERS: Final = {
    "ach": bank.an_ach_transfer,
    "wire": bank.a_wire,
    "intl_wire": bank.an_international_wire,
    "realtime": bank.a_realtime_transfer,
    "book": bank.a_book_transfer,
    "check": bank.a_check,
    "card": bank.a_card_authorization,
}
PREFIXES: Final = {
    "ach": "acht",
    "wire": "wire",
    "intl_wire": "swft",
    "realtime": "rttr",
    "book": "book",
    "check": "chkt",
    "card": "ctxn",
}
STATUSES: Final = {
    "ach": ("INITIATED", "SUBMITTED", "SETTLED", "SETTLED", "COMPLETED", "CANCELED"),
    "wire": ("INITIATED", "COMPLETED", "COMPLETED", "MANUAL_REVIEW", "REJECTED"),
    "intl_wire": ("SUBMITTED", "COMPLETED", "COMPLETED", "PENDING_RETURN", "RETURNED"),
    "realtime": ("completed", "completed", "pending", "rejected", "blocked", "manual_review_rejected"),
    "book": ("COMPLETED", "COMPLETED", "HOLD", "CANCELED"),
    "check": ("issued", "settled", "settled", "deposited", "pending_first_return", "stopped", "rejected"),
    "card": ("PENDING", "PENDING", "SETTLED", "DECLINED", "VOIDED", "EXPIRED"),
}
MORE_KINDS: Final = {"ach": (*(("return",) * 3), *(("dishonour",) * 2)), "card": ("purchase",) * 3}
PLACES: Final = ("US", "US", "US", "USA", "MX", "ZZ", None)
CATEGORIES: Final = ("5816", "5816", "5816", "5411", "5411", "4511", "581", None)
CODES: Final = ("R01", "R02", "R03", "R04", "R05", "R07", "R10", "R10", "R11", "R16", "R20", "R23", "R29", "R51")
REASONS: Final = ("INSUFFICIENT_FUNDS", "INCORRECT_PIN", "suspected_fraud", "FRAUD_ADVICE", "no such word", None)
CARDS: Final = {"bacc_1": ("card_1", "card_2", "card_3"), "bacc_2": ("card_4",), "bacc_3": ("card_5",), "bacc_4": ()}
PARTIES: Final = (*(f"cpty_{n}" for n in range(1, 7)), "bacc_1", "bacc_2", "bacc_9", "enti_2")
HAPPENINGS: Final = (
    *("transfer", "again", "scene", "identity", "account", "owner", "directory"),
    *("repeat", "aside", "dispute", "counterparty", "declaration", "thresholds", "cap"),
)
HOW_OFTEN: Final = (44, 30, 12, 6, 6, 2, 8, 3, 2, 3, 1, 2, 2, 2)
ANSWERS: Final = ("found",) * 7 + ("unchanged", "missing", "unusable")
OUTCOMES: Final = ("WON", "LOST", "WITHDRAWN", None)

Data = dict[str, Any]


def streams(*, most: int, least: int = 5) -> st.SearchStrategy[list[LogEntry]]:
    """Streams of a number of happenings; a scene alone is up to ninety entries."""
    return st.builds(stream_of, st.randoms(use_true_random=False), st.integers(least, most))


def stream_of(chance: Random, happenings: int, *, program_id: str = "prg_1") -> list[LogEntry]:
    teller = Teller(chance, program_id)
    for _ in range(happenings):
        teller.happen()
    return teller.entries


class Teller:
    """What was delivered so far, so that later events can correct, repeat and contradict it."""

    def __init__(self, chance: Random, program_id: str) -> None:
        self.chance = chance
        self.program_id = program_id
        self.now = T0
        self.made = 0
        self.entries: list[LogEntry] = []
        self.told: list[tuple[str, Data, int]] = []
        self.versions: list[Data] = []

    def happen(self) -> None:
        self._let_time_pass()
        (kind,) = self.chance.choices(HAPPENINGS, HOW_OFTEN)
        if kind in {"again", "repeat"} and not self.told:
            kind = "transfer"
        getattr(self, kind)()

    def _let_time_pass(self) -> None:
        drawn = self.chance.random()
        if self.told and drawn < 0.25:  # the edge of a window around something that happened
            _, data, _ = self.chance.choice(self.told)
            edge = data["_own"] + self.chance.choice(WINDOWS) + self.chance.choice((-1, 0, 1))
            self.now = edge if self.now <= edge <= self.now + 10 * DAY_US else self.now
        else:
            self.now += self.chance.choice(LONG_GAPS if drawn > 0.95 else GAPS)

    def say(self, kind: str, data: Data, event_at: int) -> None:
        told = {name: value for name, value in data.items() if not name.startswith("_")}
        offset = (len(self.entries) + 1) << 20
        self.entries.append(
            bank.a_bank_entry(
                kind, told, offset=offset, created_at=event_at, appended_at=self.now, program_id=self.program_id
            )
        )

    def deliver(self, kind: str, data: Data, event_at: int) -> None:
        self.told.append((kind, data, event_at))
        self.say(kind, data, event_at)

    def transfer(self) -> None:
        """One transfer of any rail, sometimes told of late, sometimes with a time still to come."""
        chance = self.chance
        rail, direction, ach_type = chance.choice(MOVES)
        own = self.now - (chance.choice(LATE) if chance.random() < 0.2 else 0)
        own += HOUR_US if chance.random() < 0.02 else 0
        plan = Plan(0, rail, direction, ach_type, chance.choice(CENTS), chance.choice(ACCOUNTS), chance.choice(PARTIES))
        data = self._built(plan, own)
        data["status"] = "REFUNDED" if (rail, direction) == ("card", "incoming") else chance.choice(STATUSES[rail])
        if rail == "intl_wire":
            data |= money(chance, plan.cents)
        if rail == "card":
            data |= self._card(plan.account, data["status"]) | self._bought(f"mrch_{chance.randint(0, 4)}")
        if rail not in ("book", "card") and chance.random() < 0.15:
            data["counterparty_id"] = None
        event_at = min(own + SECOND_US, self.now) if chance.random() < 0.6 else self.now
        self.deliver(kind_of(rail, direction, data), data | {"updated_at": bank.rfc3339(event_at)}, event_at)

    def scene(self) -> None:
        """Several transfers that belong together: as they happen, or the newest first, or all of them long after."""
        plans = self.chance.choice(SCENES)(self.chance, ACCOUNTS, PARTIES)
        late = self.chance.choice(LATE) if self.chance.random() < 0.2 else 0
        at, timed = self.now - late, []
        for plan in plans:
            at += plan.gap
            timed.append((at, plan))
        if self.chance.random() < 0.15:
            timed.reverse()
            self.now = max(self.now, at)
        for own, plan in timed:
            self.now = max(self.now, own)
            data = self._built(plan, own)
            if plan.rail == "card":
                data |= self._card(plan.account, plan.status) | self._bought(f"mrch_{self.chance.randint(0, 4)}")
                data["card_id"] = self.chance.choice(("card_1", "card_1", "card_4"))
            data |= {"status": plan.status, "updated_at": bank.rfc3339(own)}
            if plan.code is not None:
                data["return_details"] = [bank.a_return(plan.code, own)]
            self.deliver(kind_of(plan.rail, plan.direction, data), data, own)

    def _built(self, plan: Plan, own: int) -> Data:
        self.made += 1
        data = BUILDERS[plan.rail](id=f"{PREFIXES[plan.rail]}_{self.made}", created_at=bank.rfc3339(own))
        data["_own"] = own
        data.pop("entity_id", None)
        if "is_incoming" in data:
            data["is_incoming"] = plan.direction == "incoming"
        if plan.rail == "book":
            receivers = [each for each in (*ACCOUNTS, "bacc_9") if each != plan.account]
            receiver = plan.party if plan.party in receivers else self.chance.choice(receivers)
            data |= {"sender_bank_account_id": plan.account, "receiver_bank_account_id": receiver}
        elif plan.rail == "card":
            data |= {"bank_account_id": plan.account, "merchant": {"id": f"mrch_{plan.cents % 3}", "name": "Shop"}}
        else:
            data |= {"bank_account_id": plan.account, "counterparty_id": plan.party} | _names(plan)
        set_amount(data, plan)
        return data | ({"type": plan.type} if plan.rail == "ach" else {})

    def _card(self, account: str, status: str) -> Data:
        """Who the card is of, as our own events say it: more or less of it."""
        chance = self.chance
        reason = chance.choice(REASONS) if status == "DECLINED" else "APPROVED"
        data: Data = {"decision_reason": reason, "processor_reason": reason}
        data["card_id"] = chance.choice((*CARDS[account], None))
        if chance.random() < 0.4:
            data["entity_id"] = OWNERS[ACCOUNTS.index(account)]
        if chance.random() < 0.15:
            data["bank_account_id"] = None
        return data

    def _bought(self, merchant: str) -> Data:
        """What the bank says of a purchase: more or less of it, and not all of it to be used."""
        choice = self.chance.choice
        place = {"country_code": choice(PLACES), "state": choice(("TX", "TX", "or", "ON", None))}
        return {
            "merchant": {"id": merchant, "name": "Shop", "category_code": choice(CATEGORIES)} | place,
            "card_present": choice((True, True, True, False, False, None)),
            "entry_mode": choice(("ecommerce", "Key-entered", "CHIP", None)),
        }

    def again(self) -> None:
        """A newer snapshot of a transfer, or an older one that comes late, or one that says when it was told before."""
        chance = self.chance
        told = self.told[-60:]
        returned = [each for each in told if each[1].get("return_details")]
        kind, before, event_before = chance.choice(returned if returned and chance.random() < 0.2 else told)
        data = before | self._change(kind, before)
        event_at = self.now if chance.random() < 0.8 else max(event_before - HOUR_US, self.now - chance.choice(LATE))
        drawn = chance.random()
        if drawn < 0.75:
            data["updated_at"] = bank.rfc3339(event_at)
        elif drawn < 0.9:
            data["updated_at"] = None
        self.deliver(kind_of(*way_of(kind), data), data, event_at)

    def _change(self, kind: str, before: Data) -> Data:
        rail, direction = way_of(kind)
        kinds = ["status", "status", "amount", "party", "refused", "nothing"]
        what = self.chance.choice([*kinds, *MORE_KINDS.get(rail, ())])
        if what == "status":
            return {"status": before["status"] if direction == "incoming" else self.chance.choice(STATUSES[rail])}
        if what == "refused":
            if (rail, direction) == ("card", "incoming"):
                return {}  # a refund is a transfer of its own, which nothing undoes
            return {"status": {"ach": "CANCELED", "card": "VOIDED", "book": "CANCELED"}.get(rail, "rejected")}
        if what == "amount":
            return self._corrected(rail, before)
        if what == "purchase" or (what == "party" and rail not in ("book", "card")):
            party = {"counterparty_id": self.chance.choice(PARTIES)}
            return party if what == "party" else self._bought(before["merchant"]["id"])
        return self._returned(before, what) if what in {"return", "dishonour"} else {}

    def _corrected(self, rail: str, before: Data) -> Data:
        """Another amount; a wire whose US cents were not known is told what it was settled for."""
        cents = self.chance.choice(CENTS)
        if rail == "check":
            return {name: cents for name in ("deposited_amount", "positive_pay_amount") if name in before}
        if before["currency_code"] != "USD":
            return {"settled_amount": cents, "settled_currency_code": "USD"}
        return {"amount": cents}

    def _returned(self, before: Data, what: str) -> Data:
        details = list(before["return_details"])
        if what == "return" or not details:
            return {"status": "RETURNED", "return_details": [bank.a_return(self.chance.choice(CODES), self.now)]}
        if before["status"] == "RETURN_DISHONORED":
            return {"status": "RETURN_CONTESTED", "return_details": [*details, bank.a_return("R73", self.now)]}
        return {"status": "RETURN_DISHONORED", "return_details": [*details, bank.a_return("R68", self.now)]}

    def repeat(self) -> None:
        """The same delivery once more."""
        entry = self.chance.choice(self.entries)
        offset = (len(self.entries) + 1) << 20
        self.entries.append(LogEntry(0, offset, entry.kind, entry.program_id, self.now, entry.body))

    def identity(self) -> None:
        event_at = self.now - (self.chance.choice(LATE) if self.chance.random() < 0.2 else 0)
        word, data = verified(self.chance, event_at)
        self.say(f"identity.verification.{word}", data, event_at)

    def account(self) -> None:
        """Owners are told of by a freeze, and sometimes change; the alert of an overdraft says nothing of them."""
        chance, account = self.chance, self.chance.choice(ACCOUNTS)
        event_at = self.now - (chance.choice(LATE) if chance.random() < 0.3 else 0)
        if chance.random() < 0.2:
            self.say("account.overdrafted", {"bank_account_id": account, "overdraft_amount": {"cents": 6000}}, event_at)
            return
        owner = OWNERS[ACCOUNTS.index(account)] if chance.random() < 0.85 else chance.choice(OWNERS)
        kind = chance.choice(("account.frozen", "account.unfrozen"))
        self.say(kind, bank.an_account(id=account, owners=[owner, "enti_9"][: chance.randint(1, 2)]), event_at)

    def owner(self) -> None:
        """The platform tells an owner."""
        account = self.chance.choice(ACCOUNTS)
        usual = OWNERS[ACCOUNTS.index(account)]
        body: Data = {"id": f"own_{len(self.entries)}", "accountId": account, "operator": "sam", "at": self.now}
        self.log(EntryKind.OWNER, body | {"entityId": usual if self.chance.random() < 0.8 else "enti_9"})

    def directory(self) -> None:
        """What the bank's API answered about a party: its owners, its identity, its account and country."""
        kind = self.chance.choice(("account", "account", "entity", "counterparty", "counterparty"))
        result, fetched_at = self.chance.choice(ANSWERS), self.now - self.chance.choice((0, SECOND_US, HOUR_US))
        data = ON_FILE[kind](self.chance, fetched_at)
        body = {"kind": kind, "id": data["id"], "result": result, "fetchedAt": fetched_at}
        self.log(EntryKind.DIRECTORY, body | ({"data": data} if result == "found" else {}))

    def dispute(self) -> None:
        """A card's payment is disputed, and the dispute decided or withdrawn."""
        cards = [data["id"] for kind, data, _ in self.told if kind.startswith("card.")]
        data: Data = {"id": "disp_1", "transfer_id": self.chance.choice(cards or ["ctxn_0"]), "amount": 5_000}
        outcome = self.chance.choice(OUTCOMES)
        if outcome is not None:
            data |= {"status": "CLOSED", "outcome": outcome}
        self.say("card.dispute.opened" if outcome is None else "card.dispute.closed", data, self.now)

    def aside(self) -> None:
        """What is neither transfer nor party: a request to send money back, the state of a card."""
        kind, data = self.chance.choice(
            (
                ("wire.incoming_return_request.initiated", {"id": "wrrq_1", "amount": 5_000, "status": "INITIATED"}),
                ("realtime.outgoing_return_request.pending", {"id": "rtrr_1", "reason_code": "CUST"}),
                ("card.paused", {"id": "card_1", "bank_account_id": "bacc_1"}),
                ("card.account.suspended", {"id": "cacc_1", "entity_id": "enti_1", "status": "SUSPENDED"}),
                ("loan.created", {"id": "loan_1", "status": "current"}),
            )
        )
        self.say(kind, dict(data), self.now)

    def counterparty(self) -> None:
        which = self.chance.randint(1, 4)
        number = self.chance.choice(("000001111", "000002222"))
        data = bank.a_counterparty(id=f"cpty_{which}", name=f"Party {which}", account_number=number)
        self.say("counterparty.updated", data | {"updated_at": bank.rfc3339(self.now)}, self.now)

    def declaration(self) -> None:
        body: Data = {"id": self.program_id, "tenantId": "ten_1", "slug": "acme", "name": "Acme"}
        body |= {"declaredRails": ["ach", "wire"], "declaredCountries": ["US", "DE"][: self.chance.randint(0, 2)]}
        body["declaredMonthlyVolumeCents"] = self.chance.choice((None, "100000000", "2500000"))
        self.log(EntryKind.PROGRAM, body)

    def thresholds(self) -> None:
        """Other reporting thresholds and lists of countries come into force, or earlier ones again."""
        number = 2 + len(self.entries)
        body = other_thresholds(self.chance, number)
        if self.versions and self.chance.random() < 0.2:
            body = self.chance.choice(self.versions) | {"actionId": f"act_{number}"}
        is_first = not self.told and not self.versions and not body["ofProgram"]  # what a new program begins with
        self.versions.append(body)
        self.log(EntryKind.POLICY, body | {"fromStart": is_first and self.chance.random() < 0.5})

    def cap(self) -> None:
        """A cap of the program is requested and approved: by another person, or in vain by the same one."""
        number = len(self.entries)
        change = cap_change(self.chance, self.program_id, number, self.now)
        self.log(EntryKind.ACTION, change)
        for tries in range(self.chance.randint(1, 2)):
            self.log(EntryKind.APPROVAL, approval(self.chance, change["id"], number + tries, self.now))

    def log(self, kind: EntryKind, body: Data) -> None:
        """An entry that is no bank event."""
        offset = (len(self.entries) + 1) << 20
        self.entries.append(LogEntry(0, offset, kind, self.program_id, self.now, json.dumps(body).encode()))


def way_of(kind: str) -> tuple[str, str]:
    stem, _, suffix = kind.rpartition(".")
    if stem.startswith("card."):
        return ("card", "incoming" if suffix == "refunded" else "outgoing")
    return next(way for way, resource in bank.RESOURCES.items() if resource == stem)


def kind_of(rail: str, direction: str, data: Data) -> str:
    """The event that goes with an object's status."""
    word = str(data["status"]).lower()
    if rail == "card":
        word = {"pending": "authorization.approved", "settled": "transaction.settled"}.get(word, word)
        word = {"refunded": "transaction.refunded", "voided": "authorization.reversed"}.get(word, word)
        return f"card.{word if '.' in word else f'authorization.{word}'}"
    return f"{bank.RESOURCES[rail, direction]}.{word}"


def _names(plan: Plan) -> Data:
    """What the bank says inline of the other side: a name on ACH, name and account on wires, nothing on realtime."""
    name, outgoing = f"Party {plan.party[-1]}", plan.direction == "outgoing"
    if plan.rail == "ach":
        return {"receiver_name": name if outgoing else "Harbor Remit", "company_name": "Harbor" if outgoing else name}
    if plan.rail in ("wire", "intl_wire"):
        who = "beneficiary" if outgoing else "originator"
        return {f"{who}_name": name, f"{who}_account_number": f"00000{plan.party[-1] * 4}"}
    return {"payee_name": name} if plan.rail == "check" else {}
