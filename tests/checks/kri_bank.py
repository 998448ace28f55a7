"""A bank that tells of one program up to an instant: each method is one or more events, ``ago`` before the end."""

from typing import Any, Final, NamedTuple

from tests.support import bank_events as bank

SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR

Data = dict[str, Any]


class Event(NamedTuple):
    id: str
    kind: str
    data: Data
    at: int


class Bank:
    """The events of a program that is ``now`` an instant old; ids begin with the program's own mark."""

    def __init__(self, now: int, mark: str = "a") -> None:
        self.now, self.mark = now, mark
        self.events: list[Event] = []
        self.declared: Data = {}

    def id(self, prefix: str) -> str:
        return f"{prefix}_{self.mark}{len(self.events)}"

    def say(self, kind: str, data: Data, ago: int) -> Data:
        self.events.append(Event(self.id("evnt"), kind, data, self.now - ago))
        return data

    def again(self) -> None:
        """The last event once more, as after a lost answer."""
        self.events.append(self.events[-1])

    def _stamps(self, ago: int) -> Data:
        at = bank.rfc3339(self.now - ago)
        return {"created_at": at, "updated_at": at}

    def ach(self, way: str = "outgoing DEBIT", ago: int = DAY, **over: Any) -> Data:
        """One entry, settled unless its status says something else."""
        direction, ach_type = way.split()
        usual = {"id": self.id("acht"), "type": ach_type, "is_incoming": direction == "incoming", "status": "SETTLED"}
        data = bank.an_ach_transfer(**usual | self._stamps(ago) | over)
        return self.say(f"ach.{direction}_transfer.{data['status'].lower()}", data, ago)

    def entries(self, count: int, way: str = "outgoing DEBIT", ago: int = DAY, **over: Any) -> list[Data]:
        return [self.ach(way, ago, **over) for _ in range(count)]

    def newer(self, kind: str, data: Data, ago: int, **over: Any) -> Data:
        """A later snapshot of an object."""
        return self.say(kind, data | {"updated_at": bank.rfc3339(self.now - ago)} | over, ago)

    def returned(self, data: Data, *codes: str, ago: int = HOUR, status: str = "RETURNED") -> Data:
        """The entry came back; a dishonour adds its code to the return's, a contest adds another."""
        way = "incoming" if data["is_incoming"] else "outgoing"
        details = [bank.a_return(code, self.now - ago) for code in codes]
        kind = f"ach.{way}_transfer.{status.lower()}"
        return self.newer(kind, data, ago, status=status, return_details=details)

    def debits(self, count: int, *codes: str, **over: Any) -> None:
        """Debits of a day ago, of which some came back an hour ago."""
        sent = self.entries(count, **over)
        for data, code in zip(sent, codes, strict=False):
            self.returned(data, code)

    def wire(self, cents: int, ago: int, direction: str = "outgoing", **over: Any) -> Data:
        usual = {"id": self.id("wire"), "amount": cents, "is_incoming": direction == "incoming"}
        data = bank.a_wire(**usual | self._stamps(ago) | over)
        return self.say(f"wire.{direction}_transfer.{data['status'].lower()}", data, ago)

    def abroad(self, cents: int, country: str | None, ago: int = DAY, **over: Any) -> Data:
        """An international wire in US dollars to a country."""
        money = {"currency_code": "USD", "settled_currency_code": "USD", "instructed_currency_code": "USD"}
        usual = {"id": self.id("swft"), "amount": cents, "settled_amount": cents, "instructed_amount": cents} | money
        where = {"beneficiary_address": {"country_code": country} if country else None}
        data = bank.an_international_wire(**usual | where | self._stamps(ago) | over)
        return self.say("swift.outgoing_transfer.submitted", data, ago)

    def check(self, cents: int, ago: int, *, deposited: bool) -> Data:
        data = bank.a_check(id=self.id("chkt"), counterparty_id=f"cpty_{self.mark}_check", **self._stamps(ago))
        if deposited:
            del data["positive_pay_amount"]
        data |= {"deposited_amount" if deposited else "positive_pay_amount": cents, "status": "settled"}
        return self.say(f"check.{'outgoing' if deposited else 'incoming'}_debit.settled", data, ago)

    def card(self, reason: str = "APPROVED", ago: int = DAY, **over: Any) -> Data:
        """An authorization, declined when there is a reason to."""
        declined = reason != "APPROVED"
        usual = {"id": self.id("ctxn"), "status": "DECLINED" if declined else "PENDING", "decision_reason": reason}
        usual |= {"decision": "DECLINED" if declined else "APPROVED", "processor_reason": reason}
        data = bank.a_card_authorization(**usual | self._stamps(ago) | over)
        return self.say(f"card.authorization.{'declined' if declined else 'approved'}", data, ago)

    def cards(self, count: int, *reasons: str) -> None:
        for place in range(count):
            self.card(reasons[place] if place < len(reasons) else "APPROVED")

    def account(self, account: str, ago: int = HOUR, *, kind: str = "account.frozen", **over: Any) -> None:
        self.say(kind, bank.an_account(**{"id": account, "owners": []} | over), ago)

    def overdraft(self, account: str, ago: int = DAY, *, kind: str = "account.overdrafted") -> None:
        """The alert has no id of its own."""
        amounts = {name: {"cents": 6_000, "currency_code": "USD"} for name in ("overdraft_amount", "available_balance")}
        self.say(
            kind, {"bank_account_id": account, "reserve_account_id": "bacc_odr", "transfer_id": None} | amounts, ago
        )

    def entity(self, entity: str, status: str | None = "VERIFIED", ago: int = DAY, **over: Any) -> None:
        """The outcome of a verification, with the whole entity."""
        usual: Data = {"id": entity, "verification_status": status}
        data = bank.an_entity(**usual | self._stamps(ago) | over)
        self.say(f"identity.verification.{(status or 'pending').lower()}", data, ago)

    def entities(self, *statuses: str, ago: int = DAY, **over: Any) -> None:
        for place, status in enumerate(statuses):
            self.entity(f"enti_{self.mark}_{place}", status, ago, **over)
