"""Log entries out of drawn bytes: eight bytes are one thing that happens, so that a failing stream shrinks well.

A stream is about a few entities and accounts, which also pay one another, and a handful of counterparties, some of
which share a name or an account. The tables below are full of edges on purpose: whole windows between events, amounts
around the thresholds, own times long past.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.support import bank_events as bank
from tests.support import random_scenes as scenes
from tests.support.clock import T0

WIDTH: Final = 8
DELAYS: Final = (1, SECOND_US, 60 * SECOND_US, 0, HOUR_US, 5 * HOUR_US, DAY_US, DAY_US - 1, 3 * DAY_US, 7 * DAY_US)
LATENESS: Final = (0, 0, 0, 0, 0, 1, SECOND_US, HOUR_US, DAY_US, 2 * DAY_US, 7 * DAY_US, 30 * DAY_US, 60 * DAY_US)
LONG_LATE: Final = (*LATENESS, 90 * DAY_US, 200 * DAY_US, -HOUR_US, -2 * DAY_US)
# A stream of nothing but the largest still adds up to what 64 bits hold.
AMOUNTS: Final = (
    *(12_500, 1, 0, 99, 270_000, 299_999, 300_000, 240_000, 239_999, 269_999, 285_000, 290_000, 800_000, 950_000),
    *(999_999, 1_000_000, 799_999, 899_999, 900_000, 5_000_000, 123_456_789, 10**16 - 1, 7 * 10**15, 42_000),
    *(500_000, 600_000, 1_200_000, 500, 499, 50, 100, 11_250, 11_249, 13_750, 95_000, 100_000),
)
MOVES: Final = (
    *(("ach", "outgoing", "DEBIT"), ("ach", "outgoing", "CREDIT"), ("ach", "incoming", "DEBIT")),
    *(("wire", "outgoing", None), ("wire", "incoming", None), ("realtime", "outgoing", None)),
    *(("intl_wire", "outgoing", None), ("book", "outgoing", None), ("check", "outgoing", None)),
    *(("check", "incoming", None), ("card", "outgoing", None), ("ach", "outgoing", "DEBIT")),
    *(("ach", "outgoing", "DEBIT"), ("ach", "incoming", "CREDIT"), ("ach", "outgoing", "DEBIT")),
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
NAMES: Final = ("Acme Supplies", "ACME  Supplies,", "\u0410cme\u200b Supplies", "Borealis", "Cole & Daughters")
ROUTING: Final = ("021000021", "026-009-593", "021000021", "121145307", "121145307")
NUMBERS: Final = ("000001111", "0000-022-22", "00 000 11 11", "000004444", "000005555")
COUNTRIES: Final = ("US", "de", "IRN", "UK", None)
GOOD: Final = ("SUBMITTED", "SETTLED", "COMPLETED", "PENDING_SUBMISSION")
NOT_MOVED: Final = ("CANCELED", "REJECTED", "FAILED", "DECLINED")
ACTORS_AS_PARTIES: Final = ("bacc_1", "enti_2", "bacc_3", "enti_1", "bacc_2")
REVIEWS: Final[tuple[list[str] | None, ...]] = (
    [],
    ["ssn_mismatch"],
    ["fraud_risk"],
    ["name_mismatch", "Fraud_Risk"],
    None,
)
SINCE: Final = (0, DAY_US, 30 * DAY_US, 200 * DAY_US, -DAY_US, 1)
VERIFICATIONS: Final = ("VERIFIED", "PENDING", "DENIED", "UNVERIFIED", "MANUAL_REVIEW")
PEPS: Final = ("no", "yes", "potential", "not_checked")
BURST_AT_MOST: Final = 80
BACKWARDS_FROM: Final = 200
DETAILS: Final = (
    *("receiver_name", "company_name", "payee_name", "odfi_routing_number", "creditor_agent_routing_number"),
    *("originator_name", "originator_account_number", "beneficiary_name", "beneficiary_account_number"),
)

# Each kind of happening has the first bytes below its number that the ones before it have not.
KINDS: Final = (
    *((70, "new_transfer"), (140, "transfer_again"), (147, "repeat"), (162, "entity"), (170, "account")),
    *(
        (180, "counterparty"),
        (185, "declaration"),
        (190, "burst"),
        (214, "chain"),
        (226, "scatter"),
        (233, "fan"),
        (235, "crowd"),
    ),
    *((244, "cards"), (250, "tiny_entries"), (256, "returned_debits")),
)
NEED_A_TRANSFER: Final = ("transfer_again", "repeat")

Data = dict[str, Any]


def streams(*, most: int, least: int = 0) -> st.SearchStrategy[list[LogEntry]]:
    """Streams of a number of happenings; a burst alone is up to eighty entries, a crowd twice as many."""
    happening = st.binary(min_size=WIDTH, max_size=WIDTH)
    return st.lists(happening, min_size=least, max_size=most).map(stream_of)


def stream_of(happenings: Sequence[bytes], *, program_id: str = "prg_1") -> list[LogEntry]:
    stream = Stream(program_id)
    for happening in happenings:
        stream.happen(happening)
    return stream.entries


class Stream:
    """What was delivered so far, so that later entries can correct, repeat and contradict it."""

    def __init__(self, program_id: str) -> None:
        self.program_id = program_id
        self.now = T0
        self.entries: list[LogEntry] = []
        self.delivered: list[tuple[str, Data, int]] = []
        self.transfers = 0

    def happen(self, happening: bytes) -> None:
        kind, rest = happening[0], happening[1:]
        self.now += DELAYS[rest[0] % len(DELAYS)]
        name = next(name for below, name in KINDS if kind < below)
        if name in scenes.SCENES:
            self.play(scenes.SCENES[name](rest), rest)
        elif name in NEED_A_TRANSFER and not self.delivered:
            self.new_transfer(rest)
        else:
            getattr(self, name)(rest)

    def append(self, kind: str, data: object, created_at: int) -> None:
        offset = (len(self.entries) + 1) << 20
        self.entries.append(
            bank.a_bank_entry(
                kind,
                data,
                offset=offset,
                created_at=created_at,
                appended_at=self.now,
                program_id=self.program_id,
            )
        )

    def new_transfer(self, chosen: bytes) -> None:
        _, move, actor, party, amount, late, status = chosen
        rail, direction, ach_type = MOVES[move % len(MOVES)]
        created_at = self.now - LONG_LATE[late % len(LONG_LATE)]
        self.transfers += 1
        data = BUILDERS[rail](
            id=f"trf_{self.transfers}",
            created_at=bank.rfc3339(created_at),
            updated_at=None,
            status=GOOD[status % len(GOOD)],
        )
        if ach_type is not None:
            data["type"] = ach_type
        if "is_incoming" in data:
            data["is_incoming"] = direction == "incoming"
        _set_amount(data, rail, direction, AMOUNTS[amount % len(AMOUNTS)])
        if rail == "ach" and status % 8 == 0:
            data["entry_class_code"] = "RCK"
        _set_actor(data, rail, actor)
        _set_party(data, rail, direction, party)
        if status >= 220:
            data["status"] = NOT_MOVED[status % len(NOT_MOVED)]
        if rail == "ach" and 175 <= status < 220:
            data |= {
                "status": "RETURNED",
                "return_details": [bank.a_return(scenes.RETURN_CODES[status % len(scenes.RETURN_CODES)])],
            }
        self.deliver(rail, direction, data, created_at + SECOND_US * (late % 2) if late < 128 else self.now)

    def deliver(self, rail: str, direction: str, data: Data, event_at: int) -> None:
        suffix = "refunded" if (rail, direction) == ("card", "incoming") else "initiated"
        kind = f"{bank.RESOURCES[rail, direction]}.{suffix}"
        self.delivered.append((kind, data, event_at))
        self.append(kind, data, event_at)

    def play(self, planned: list[scenes.Planned], chosen: bytes) -> None:
        """Deliver a scene: mostly as it happens, sometimes its newest transfer first, sometimes long after."""
        late, how = LATENESS[chosen[2] % len(LATENESS)] * (chosen[5] % 2), chosen[6]
        at, timed = self.now - late, []
        for plan in planned:
            at += plan.gap
            timed.append((at, plan))
        if how >= BACKWARDS_FROM:
            timed.reverse()
            self.now = max(self.now, at)
        for at, plan in timed:
            self.now = max(self.now, at)
            self.transfers += 1
            created_at = bank.rfc3339(at)
            data = BUILDERS[plan.rail](
                id=f"trf_{self.transfers}", created_at=created_at, updated_at=None, status=plan.status
            )
            _set_amount(data, plan.rail, plan.direction, plan.cents)
            _set_plan(data, plan)
            self.deliver(plan.rail, plan.direction, data, at)

    def transfer_again(self, chosen: bytes) -> None:
        _, which, what, value, event_time, version, _ = chosen
        kind, before, event_before = self.delivered[which % len(self.delivered)]
        rail = "intl_wire" if kind.startswith("swift") else kind.split(".")[0]
        direction = next(way for (its, way), stem in bank.RESOURCES.items() if its == rail and kind.startswith(stem))
        data = dict(before)
        _change(data, rail, direction, what, value)
        created_at = self.now
        if event_time >= 224:
            created_at = self.now + DAY_US
        elif event_time >= 150:
            created_at = min(self.now, event_before + DELAYS[event_time % len(DELAYS)])
        data["updated_at"] = bank.rfc3339(created_at)
        if version >= 250:
            data["updated_at"] = bank.rfc3339(created_at - DAY_US)
        elif version >= 200:
            data["updated_at"] = None
        elif version >= 190:
            data["updated_at"] = bank.rfc3339(event_before)
        self.delivered.append((kind, data, created_at))
        self.append(kind, data, created_at)

    def repeat(self, chosen: bytes) -> None:
        entry = self.entries[chosen[1] % len(self.entries)]
        again = LogEntry(0, (len(self.entries) + 1) << 20, entry.kind, entry.program_id, self.now, entry.body)
        self.entries.append(again)

    def entity(self, chosen: bytes) -> None:
        _, which, verification, pep, flags, screened, late = chosen
        created_at = self.now - LATENESS[late % len(LATENESS)]
        data = bank.an_entity(
            id=f"enti_{which % 3 + 1}",
            verification_status=VERIFICATIONS[verification % len(VERIFICATIONS)],
            is_high_risk=bool(flags & 1),
            requires_screening=bool(flags & 2),
            last_screened_at=bank.rfc3339(created_at - screened * DAY_US) if flags & 4 else None,
            created_at=bank.rfc3339(created_at - SINCE[screened % len(SINCE)]) if flags & 16 else None,
            review_reasons=REVIEWS[(flags >> 5) % len(REVIEWS)],
            updated_at=bank.rfc3339(created_at) if flags & 8 else None,
        )
        data["person_details"] = {**data["person_details"], "pep_status": PEPS[pep % len(PEPS)]}
        self.append("identity.updated", data, created_at)

    def account(self, chosen: bytes) -> None:
        _, which, owner, late, state, *_ = chosen
        created_at = self.now - LATENESS[late % len(LATENESS)]
        data = bank.an_account(id=f"bacc_{which % 3 + 1}", owners=[f"enti_{owner % 3 + 1}"])
        if state & 3 == 1:
            data = {"bank_account_id": data["id"], "reserve_account_id": "bacc_3"}
        elif state & 4:
            data |= {"type": "PROGRAM_RESERVE", "balances": {"available_balance": state * 1_000, "locked_balance": "5"}}
        self.append(f"account.{('updated', 'overdrafted', 'frozen', 'unfrozen')[state & 3]}", data, created_at)

    def counterparty(self, chosen: bytes) -> None:
        _, which, country, late, *_ = chosen
        created_at = self.now - LATENESS[late % len(LATENESS)]
        at = which % len(NAMES)
        code = COUNTRIES[country % len(COUNTRIES)]
        data = bank.a_counterparty(
            id=f"cpty_{at + 1}",
            name=NAMES[at],
            routing_number=ROUTING[at],
            account_number=NUMBERS[at],
            address={"country_code": code} if code is not None else None,
            updated_at=bank.rfc3339(created_at),
        )
        self.append("counterparty.updated", data, created_at)

    def declaration(self, chosen: bytes) -> None:
        _, volume, rails, countries, *_ = chosen
        body: Data = {
            "id": self.program_id,
            "tenantId": "ten_1",
            "slug": "acme",
            "name": "Acme",
            "declaredMonthlyVolumeCents": str(volume * 1_000_00) if volume % 4 else None,
            "declaredRails": ["ach", "wire", "card"][: rails % 4],
            "declaredCountries": ["US", "DE", "MX"][: countries % 4],
            "programReserveAccountId": "bacc_3" if countries & 4 else None,
        }
        offset = (len(self.entries) + 1) << 20
        self.entries.append(
            LogEntry(0, offset, EntryKind.PROGRAM, self.program_id, self.now, json.dumps(body).encode())
        )

    def burst(self, chosen: bytes) -> None:
        """Many transfers alike, enough for a baseline of their own."""
        _, move, actor, party, amount, count, step = chosen
        for number in range(count % BURST_AT_MOST):
            delay = (step + number) % len(DELAYS)
            self.new_transfer(
                bytes((delay, move, actor + number % 2 & 255, party, (amount + number * step) & 255, 0, 0))
            )
            self.now += DELAYS[delay] // 2


def _set_amount(data: Data, rail: str, direction: str, cents: int) -> None:
    """In US dollars and on no named card: the oracle of these streams knows neither other currencies nor cards."""
    data["currency_code"] = "USD"
    if rail == "card":
        data["card_id"] = None
    if rail == "check":
        data.pop("positive_pay_amount", None)
        data["deposited_amount" if direction == "incoming" else "positive_pay_amount"] = cents
    else:
        data["amount"] = cents


def _set_actor(data: Data, rail: str, actor: int) -> None:
    data.pop("entity_id", None)
    data["sender_bank_account_id" if rail == "book" else "bank_account_id"] = f"bacc_{actor % 3 + 1}"
    if actor & 32:
        data["entity_id"] = f"enti_{actor % 3 + 1}"
    if actor >= 242 and rail != "book":
        data["bank_account_id"] = None
    if 242 <= actor < 250:
        data.pop("entity_id", None)


def _set_plan(data: Data, plan: scenes.Planned) -> None:
    """The two sides of a planned transfer, by their ids alone."""
    account = plan.actor if plan.actor.startswith("bacc") else None
    data.pop("entity_id", None)
    data["sender_bank_account_id" if plan.rail == "book" else "bank_account_id"] = account
    if account is None:
        data["entity_id"] = plan.actor
    if plan.ach_type is not None:
        data["type"] = plan.ach_type
    if "is_incoming" in data:
        data["is_incoming"] = plan.direction == "incoming"
    if plan.return_code is not None:
        data["return_details"] = [bank.a_return(plan.return_code)]
    if plan.rail == "book":
        data["receiver_bank_account_id"] = plan.party
    elif plan.rail == "card":
        data |= {"merchant": {"id": plan.party}, "decision_reason": plan.reason, "processor_reason": plan.reason}
    else:
        data |= dict.fromkeys(DETAILS) | {"counterparty_id": plan.party}


def _set_party(data: Data, rail: str, direction: str, party: int) -> None:
    at = party % len(NAMES)
    if rail == "book":
        data["receiver_bank_account_id"] = f"bacc_{at + 6 if party & 16 else at % 3 + 1}"
        return
    if rail == "card":
        data["merchant"] = {"id": f"mrch_{at}", "name": NAMES[at]} if party & 32 else None
        return
    named = party & 64
    data["counterparty_id"] = f"cpty_{at + 1}" if party & 32 or not named else None
    if party & 16 and not named:
        data["counterparty_id"] = ACTORS_AS_PARTIES[at]
    for side in ("receiver_name", "company_name", "payee_name"):
        data.pop(side, None)
    if rail == "ach":
        data["receiver_name" if direction == "outgoing" else "company_name"] = NAMES[at] if named else None
    elif rail == "check" and direction == "outgoing":
        data["payee_name"] = NAMES[at] if named else None
    elif rail in ("wire", "intl_wire"):
        who = "beneficiary" if direction == "outgoing" else "originator"
        data[f"{who}_name"] = NAMES[at] if named else None
        data[f"{who}_account_number"] = NUMBERS[at] if named else None
        data["creditor_agent_routing_number"] = ROUTING[at] if named and direction == "outgoing" else None
    elif named:
        data["counterparty"] = {"name": NAMES[at], "routing_number": ROUTING[at], "account_number": NUMBERS[at]}
    if party >= 248:
        data["counterparty_id"] = None


def _change(data: Data, rail: str, direction: str, what: int, value: int) -> None:
    """One change of a transfer by a later event."""
    if what < 20:
        data["status"] = GOOD[value % len(GOOD)]
    elif what < 45:
        data["status"] = NOT_MOVED[value % len(NOT_MOVED)]
    elif what < 70:
        _set_amount(data, rail, direction, AMOUNTS[value % len(AMOUNTS)])
    elif what < 90:
        _set_party(data, rail, direction, value)
    elif what < 105:
        data["entity_id"] = f"enti_{value % 3 + 1}"
    elif what < 150 and rail == "intl_wire":
        data["beneficiary_address"] = {"country_code": COUNTRIES[value % len(COUNTRIES)]}
    elif rail == "card":
        status, reason = scenes.DECISIONS[value % len(scenes.DECISIONS)]
        data |= {"status": status, "decision_reason": reason, "processor_reason": reason}
    elif rail == "ach":
        _change_return(data, value)
    if rail == "ach" and value % 16 == 0:
        data["entry_class_code"] = "RCK"


def _change_return(data: Data, value: int) -> None:
    """An ACH transfer is returned, then the return is dishonoured, then that is contested."""
    details = data["return_details"]
    if not details:
        data |= {
            "status": "RETURNED",
            "return_details": [bank.a_return(scenes.RETURN_CODES[value % len(scenes.RETURN_CODES)])],
        }
    elif len(details) == 1:
        data |= {"status": "RETURN_DISHONORED", "return_details": [*details, bank.a_return("R68")]}
    elif value < 128:
        data |= {"status": "RETURN_CONTESTED", "return_details": [*details, bank.a_return("R73")]}
