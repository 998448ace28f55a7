"""A program's facts as a reader of the bank's reference writes them down: events in the order of their arrival.

Nothing here comes from the service's own reading of events; the tables are the reference's. Times are microseconds.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from clearhold.features.core.log_entry import LogEntry
from tests.oracle.status_order import life_of, place
from tests.oracle.texts import country as country_code

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

RAILS: Final = {  # bank-events 3 and 6.1
    "ach.outgoing_transfer": "ach",
    "ach.incoming_transfer": "ach",
    "wire.outgoing_transfer": "wire",
    "wire.incoming_transfer": "wire",
    "swift.outgoing_transfer": "intl_wire",
    "swift.incoming_transfer": "intl_wire",
    "realtime.outgoing_transfer": "realtime",
    "realtime.incoming_transfer": "realtime",
    "book.transfer": "book",
    "check.incoming_debit": "check",
    "check.outgoing_debit": "check",
    "card.authorization": "card",
    "card.transaction": "card",
}
NEVER_MOVED: Final = {  # bank-events 4: the groups failed and canceled
    *("REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"),
    *("CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"),
}
RETURN_UNDONE: Final = {"RETURN_DISHONORED", "RETURN_DISHONORED_FUNDS_UNLOCKED"}
DISHONOURS: Final = {f"R{number}" for number in range(61, 71)}
BETWEEN_BANKS: Final = {f"R{number}" for number in range(61, 78)}
DECIDED: Final = ("VERIFIED", "DENIED")
VERIFICATIONS: Final = ("PENDING", "MANUAL_REVIEW", *DECIDED)

Data = dict[str, Any]
Version = tuple[int, ...]
NEVER: Final[Version] = (-(2**62), -(2**62), 0)


class Return(NamedTuple):
    """The last return outside of what banks say to each other, and since when it is what it is."""

    code: str
    delivered_at: int
    undone: bool


@dataclass
class Transfer:
    """A transfer as last told. ``cents`` are US cents, None where the bank states none."""

    id: str
    rail: str
    direction: str
    type: str | None
    own: int
    arrived_at: int
    version: Version
    status: str = ""
    amount: int = 0
    cents: int | None = None
    sec_code: str | None = None
    party: tuple[str, ...] | None = None
    country: str | None = None
    reason: str | None = None
    returned: Return | None = None

    @property
    def moved(self) -> bool:
        return self.status not in NEVER_MOVED

    @property
    def leaves(self) -> bool:
        """Money leaves the program: an ACH debit runs against its direction, the rest along it."""
        return (self.direction == "outgoing") != (self.rail == "ach" and self.type == "DEBIT")


@dataclass
class Entity:
    version: Version = NEVER
    verification: str = "UNVERIFIED"
    decision: str | None = None
    decided_at: int = 0
    requires_screening: bool | None = None
    screened_at: int | None = None


@dataclass
class Feed:
    """What the bank and the platform have said of one program so far."""

    seen: set[str] = field(default_factory=set)
    transfers: dict[str, Transfer] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    accounts: set[str] = field(default_factory=set)
    balances: dict[str, tuple[Version, int]] = field(default_factory=dict)
    overdrafts: list[tuple[int, str]] = field(default_factory=list)
    freezes: list[tuple[int, str]] = field(default_factory=list)
    countries: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    counterparty_versions: dict[str, Version] = field(default_factory=dict)
    declarations: list[tuple[int, Data]] = field(default_factory=list)

    def take(self, entry: LogEntry) -> None:
        """One thing that arrived: a bank event, a declaration, an answer of the bank's directory, an owner."""
        if entry.kind == "bank":
            self.event(json.loads(entry.body), entry.appended_at)
        elif entry.kind == "program":
            self.declarations.append((entry.appended_at, json.loads(entry.body)))
        elif entry.kind == "directory":
            self._answer(json.loads(entry.body), entry.appended_at)
        elif entry.kind == "owner":
            body = json.loads(entry.body)
            self.accounts.add(body["accountId"])
            self.entities.setdefault(body["entityId"], Entity())

    def event(self, event: Data, arrived_at: int) -> None:
        """A fact is known from its event's own time on, which is never after its arrival."""
        if event["id"] in self.seen:
            return
        self.seen.add(event["id"])
        kind, data = event["type"], event["data"]
        at = min(instant(event["created_at"]), arrived_at)
        stem = ".".join(kind.split(".")[:2])
        if stem in RAILS:
            self._transfer(kind, data, at, arrived_at)
        elif kind.startswith("identity."):
            self._entity(kind, data, at)
        elif kind in ("account.overdrafted", "account.overdraft_released", "account.overdraft_cleared"):
            self.accounts.add(data["bank_account_id"])
            if kind == "account.overdrafted":
                self.overdrafts.append((at, data["bank_account_id"]))
        elif kind.startswith("account."):
            account = data.get("id") or data["bank_account_id"]
            if kind == "account.frozen":
                self.freezes.append((at, account))
            self._account(account, data, at)
        elif kind.startswith("counterparty."):
            self._counterparty(data, at, kind.rpartition(".")[2])

    def _answer(self, answer: Data, arrived_at: int) -> None:
        if answer["result"] != "found":
            return
        at = min(answer["fetchedAt"], arrived_at)
        if answer["kind"] == "account":
            self._account(answer["id"], answer["data"], at)
        elif answer["kind"] == "entity":
            self._entity("", answer["data"], at)
        else:
            self._counterparty(answer["data"], at)

    def _transfer(self, kind: str, data: Data, at: int, arrived_at: int) -> None:
        """The newest snapshot counts, by ``updated_at``, then by the event's time; a return is kept from older ones."""
        known = self.transfers.get(data["id"])
        if known is None:
            own = instant(data.get("created_at") or data.get("initiated_at"), at)
            rail = RAILS[".".join(kind.split(".")[:2])]
            known = Transfer(
                data["id"], rail, _direction(kind, data), _ach_type(rail, data), min(own, arrived_at), arrived_at, NEVER
            )
            self.transfers[known.id] = known
        told = return_told(data) if known.rail == "ach" else None
        life = life_of(known.rail, known.direction)
        version = _version(data, at, place(life, str(data.get("status") or "").upper()))
        if _is_older(version, known.version):
            if known.returned is None and told is not None:
                undone = told[1] or known.status in RETURN_UNDONE
                known.returned = Return(told[0], max(at, known.own), undone)
            return
        known.version = max(version, known.version)
        if told is not None:
            same = known.returned is not None and (known.returned.code, known.returned.undone) == told
            if not same:
                known.returned = Return(told[0], max(at, known.own), told[1])
        known.status = str(data.get("status") or known.status).upper()
        known.amount, known.cents = amount_of(known.rail, data), us_cents(known.rail, data)
        known.sec_code = data.get("entry_class_code") or data.get("sec_code") or known.sec_code
        known.reason = data.get("decision_reason") or data.get("processor_reason") or known.reason
        self._sides(known, data)

    def _sides(self, known: Transfer, data: Data) -> None:
        account = data.get("sender_bank_account_id") if known.rail == "book" else data.get("bank_account_id")
        if account is not None:
            self.accounts.add(account)
        if known.rail == "book" and data.get("receiver_bank_account_id"):
            self.accounts.add(data["receiver_bank_account_id"])
        if data.get("entity_id"):
            self.entities.setdefault(data["entity_id"], Entity())
        party, country = party_of(known, data), country_of(known, data)
        if party is not None and party != known.party and (party[0] == "id" or (known.party or ("",))[0] != "id"):
            known.party, known.country = party, self.countries.get(party)
        known.country = known.country if country is None else country
        if party is not None and country:
            self.countries[party] = country

    def _entity(self, kind: str, data: Data, at: int) -> None:
        entity = self.entities.setdefault(data.get("id") or data["entity_id"], Entity())
        word = str(data.get("verification_status") or kind.rpartition(".")[2]).upper()
        version = _version(data, at, place("entity", word))
        if _is_older(version, entity.version):
            return
        entity.version = max(version, entity.version)
        if word in VERIFICATIONS or data.get("verification_status"):
            if word in DECIDED and word != entity.verification:
                entity.decision, entity.decided_at = word, at
            entity.verification = word
        if data.get("requires_screening") is not None:
            entity.requires_screening = data["requires_screening"]
        if data.get("last_screened_at") is not None:
            entity.screened_at = instant(data["last_screened_at"])

    def _account(self, account: str, data: Data, at: int) -> None:
        """Balances of older pages are named ``*_balance``."""
        self.accounts.add(account)
        for owner in (data.get("owners") or [])[:1]:
            self.entities.setdefault(owner, Entity())
        said = data.get("balances") or {}
        version = _version(data, at, place("account", str(data.get("status")).upper()))
        if said and not _is_older(version, self.balances.get(account, (NEVER, 0))[0]):
            named = [_balance(said, name) for name in ("available", "locked")]
            if named[0] is not None:
                self.balances[account] = (version, named[0] + (named[1] or 0))

    def _counterparty(self, data: Data, at: int, word: str = "") -> None:
        version, party = _version(data, at, place("counterparty", word)), ("id", data["id"])
        newest = self.counterparty_versions.get(data["id"], NEVER)
        if not _is_older(version, newest):
            self.counterparty_versions[data["id"]] = max(version, newest)
            addresses = (data.get("address"), (data.get("wire") or {}).get("beneficiary_address"))
            stated = [(address or {}).get("country_code") for address in addresses]
            country = stated[0] or data.get("local_bank_country_code") or stated[1]
            self.countries[party] = country or self.countries.get(party)

    def declared_at(self, at: int) -> Data:
        """What was declared at an instant; the first declaration counts for the time before it too."""
        if not self.declarations:
            return {}
        return next((body for since, body in reversed(self.declarations) if since <= at), self.declarations[0][1])


def instant(text: str | None, otherwise: int = 0) -> int:
    """Microseconds since the epoch."""
    if not text:
        return otherwise
    stated = datetime.fromisoformat(text)
    return (stated - _EPOCH) // timedelta(microseconds=1)


def _version(data: Data, at: int, state: int) -> Version:
    """The last part is the rank of the state in the object's life, 0 without one."""
    return (instant(data.get("updated_at"), at), at, state)


def _is_older(version: Version, newest: Version) -> bool:
    """Of two snapshots with equal times, the one with the later state is newer."""
    return 0 < version[2] < newest[2] if version[:2] == newest[:2] else version < newest


def _balance(said: Data, name: str) -> int | None:
    """Either spelling; 0 is a balance."""
    for spelling in (f"{name}_amount", f"{name}_balance"):
        if said.get(spelling) is not None:
            return int(said[spelling])
    return None


def _direction(kind: str, data: Data) -> str:
    """Who originated. The words on checks describe the request for money, so they are turned round (trap 2)."""
    family, resource, *_, suffix = kind.split(".")
    if family == "check":
        return "outgoing" if resource == "incoming_debit" else "incoming"
    if family == "card":
        return "incoming" if suffix == "refunded" else "outgoing"
    if family == "book":
        return "outgoing"
    if isinstance(data.get("is_incoming"), bool):
        return "incoming" if data["is_incoming"] else "outgoing"
    return resource.partition("_")[0]


def _ach_type(rail: str, data: Data) -> str | None:
    return str(data["type"]).upper() if rail == "ach" and data.get("type") else None


def amount_of(rail: str, data: Data) -> int:
    names = ("deposited_amount", "positive_pay_amount", "amount") if rail == "check" else ("amount",)
    return next((int(data[name]) for name in names if data.get(name) is not None), 0)


def us_cents(rail: str, data: Data) -> int | None:
    """Ruling 38: another currency counts with the US dollars that the bank states."""
    if str(data.get("currency_code") or "USD").upper() == "USD":
        return amount_of(rail, data)
    for which in ("settled", "instructed"):
        if data.get(f"{which}_currency_code") == "USD" and data.get(f"{which}_amount") is not None:
            return int(data[f"{which}_amount"])
    return None


def return_told(data: Data) -> tuple[str, bool] | None:
    """Code and whether it was undone. A notice of change is no return, and neither is a dishonour."""
    details = data.get("return_details") or []
    steps = [details] if isinstance(details, dict) else details
    codes = [str(step.get("return_code") or step.get("code")) for step in steps]
    own = [code for code in codes if code not in BETWEEN_BANKS and not code.startswith("C")]
    if not own:
        return None
    status = str(data.get("status")).upper()
    dishonoured = status in RETURN_UNDONE or (codes[-1] in DISHONOURS and status != "RETURN_CONTESTED")
    return own[-1], dishonoured


def party_of(transfer: Transfer, data: Data) -> tuple[str, ...] | None:
    """The other side by its id, else by its name."""
    if transfer.rail == "book":
        other = data.get("receiver_bank_account_id")
    elif transfer.rail == "card":
        other = (data.get("merchant") or {}).get("id")
    else:
        other = data.get("counterparty_id") or (data.get("counterparty") or {}).get("id")
    if other is not None:
        return ("id", other)
    ours = transfer.direction == "outgoing"
    names = {"ach": "receiver_name" if ours else "company_name", "check": "payee_name"}
    name = data.get(names.get(transfer.rail, "beneficiary_name" if ours else "originator_name"))
    return ("name", " ".join(name.casefold().split())) if name and transfer.rail != "card" else None


def country_of(transfer: Transfer, data: Data) -> str | None:
    """The stated country of the counterparty, or of a card's merchant. Empty where no country has this code."""
    if transfer.rail == "card":
        stated = (data.get("merchant") or {}).get("country_code")
        return (country_code(stated) or "") if stated else None
    embedded = ((data.get("counterparty") or {}).get("address") or {}).get("country_code")
    side = "beneficiary" if transfer.direction == "outgoing" else "originator"
    stated = (data.get(f"{side}_address") or {}).get("country_code")
    return embedded or stated
