"""Bank events for benchmarks: the same ones for the same seed, made one by one and never held in a list.

Several rails, two events a transfer, a return now and then, and a little disorder: a few first events come behind
younger ones. It is business as usual: an entity moves money at about its own pace and about its own amounts, with up to
four usual counterparties and sometimes a new one, and every third entity only collects by ACH. So most
transfers fire no signal, and about one in a hundred opens or refreshes an alert, as on AMLSim (``bench alerts``).

Unit    instants in microseconds
"""

import heapq
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import msgspec

from clearhold.features.core.instants import format_instant

YEAR_START: Final = 1_767_225_600_000_000  # 2026-01-01
RETURNED_ONE_IN: Final = 100
LATE_ONE_IN: Final = 50
LATE_BY_TRANSFERS: Final = 20
SETTLED_AFTER_TRANSFERS: Final = 60
_AMOUNTS: Final = 8_192
_MOST_REGULARS: Final = 4
_ELSEWHERE_ONE_IN: Final = 50
_COLLECTS_ONE_IN: Final = 3
_JITTER: Final = 0.2
_ACCOUNTS_A_BANK: Final = 5_000

_COMMON: Final[dict[str, Any]] = {
    "is_incoming": False,
    "is_on_us": False,
    "currency_code": "USD",
    "bank_account_id": "bacc_%(entity)s",
    "account_number_id": "acno_%(entity)s",
    "entity_id": "enti_%(entity)s",
    "counterparty_id": "cpty_%(other)s",
    "description": "invoice 4471",
    "allow_overdraft": False,
    "initiated_at": "%(created)s",
    "submitted_at": None,
    "settled_at": None,
    "completed_at": None,
    "returned_at": None,
}
_ACH: Final[dict[str, Any]] = {
    **_COMMON,
    "type": "%(ach_type)s",
    "same_day": False,
    "entry_class_code": "CCD",
    "company_id": "1234567890",
    "company_name": "HARBOR GOODS",
    "company_entry_description": "INVOICE",
    "receiver_name": "Party %(other)s",
    "odfi_routing_number": "%(routing)s",
    "trace_number": "121145300000123",
    "effective_on": "%(day)s",
    "nsf_deadline": None,
    "return_details": [],
    "notification_of_changes": None,
}
_WIRE: Final[dict[str, Any]] = {
    **_COMMON,
    "originator_name": "Harbor Goods LLC",
    "beneficiary_name": "Party %(other)s",
    "beneficiary_account_number": "88%(account)08d",
    "creditor_agent_routing_number": "%(routing)s",
    "business_function_code": "CTR",
    "imad": "20260114MMQFMP2K000123",
}
_CARD: Final[dict[str, Any]] = {
    **{name: value for name, value in _COMMON.items() if name != "counterparty_id"},
    "card_id": "card_%(entity)s",
    "decision": "APPROVED",
    "decision_reason": "APPROVED",
    "network": "VISA",
    "entry_mode": "ecommerce",
    "merchant": {"id": "mrch_%(other)s", "name": "SHOP %(other)s", "category_code": "5816", "country_code": "US"},
}
_BOOK: Final[dict[str, Any]] = {
    **{name: value for name, value in _COMMON.items() if name not in ("counterparty_id", "bank_account_id")},
    "sender_bank_account_id": "bacc_%(entity)s",
    "receiver_bank_account_id": "bacc_%(other)s",
}


def _template(kind: str, status: str, data: dict[str, Any]) -> str:
    times = {"created_at": "%(created)s", "updated_at": "%(at)s"}
    whole = {"id": "%(id)s", "status": status, "amount": "%(cents)s", **data, **times}
    event = {"id": "evnt_%(event)s", "created_at": "%(at)s", "type": kind, "data": whole}
    return msgspec.json.encode(event).decode().replace('"%(cents)s"', "%(cents)s")


class _Life:
    """A rail's events: first sight, second, and a return where the rail knows one. ``share`` is in percent."""

    def __init__(
        self,
        share: int,
        prefix: str,
        data: dict[str, Any],
        first: tuple[str, str],
        second: tuple[str, str],
        returned: str | None = None,
    ) -> None:
        self.share, self.prefix, self.is_incoming = share, prefix, bool(data["is_incoming"])
        self.first, self.second = _template(*first, data), _template(*second, data)
        detail = {"return_code": "R01", "description": "Not sufficient funds", "created_at": "%(at)s"}
        values = {**data, "returned_at": "%(at)s", "return_details": [detail]}
        self.third = None if returned is None else _template(returned, "RETURNED", values)


_OUT, _IN = "ach.outgoing_transfer", "ach.incoming_transfer"
_LIVES: Final = (
    _Life(55, "acht", _ACH, (f"{_OUT}.initiated", "INITIATED"), (f"{_OUT}.settled", "SETTLED"), f"{_OUT}.returned"),
    _Life(
        15,
        "acht",
        {**_ACH, "is_incoming": True, "company_name": "Party %(other)s", "receiver_name": "Harbor Goods LLC"},
        (f"{_IN}.scheduled", "SCHEDULED"),
        (f"{_IN}.settled", "SETTLED"),
        f"{_IN}.returned",
    ),
    _Life(
        8,
        "wire",
        _WIRE,
        ("wire.outgoing_transfer.initiated", "INITIATED"),
        ("wire.outgoing_transfer.completed", "COMPLETED"),
    ),
    _Life(
        6,
        "rttr",
        _COMMON,
        ("realtime.outgoing_transfer.initiated", "initiated"),
        ("realtime.outgoing_transfer.completed", "completed"),
    ),
    _Life(4, "book", _BOOK, ("book.transfer.hold_created", "HOLD"), ("book.transfer.completed", "COMPLETED")),
    _Life(12, "ctxn", _CARD, ("card.authorization.approved", "PENDING"), ("card.transaction.settled", "SETTLED")),
)


class Made(msgspec.Struct, frozen=True, gc=False):
    """One event, and the transfer it is about. ``transfer`` counts from zero."""

    transfer: int
    transfer_id: str
    at: int
    body: bytes


class Traffic:
    """The events of one program. Times go up by ``step_us`` a transfer on average, from ``start_at`` on.

    ``in_order`` is without disorder: no event comes behind a younger one.
    """

    def __init__(
        self,
        name: str,
        *,
        entities: int,
        counterparties: int,
        start_at: int = YEAR_START,
        step_us: int = 1_000_000,
        in_order: bool = False,
    ) -> None:
        self.name, self.entities, self.counterparties, self._in_order = name, entities, counterparties, in_order
        self.start_at, self._step_us = start_at, step_us
        self._random = Random(name)
        self._usual_cents = [int(self._random.lognormvariate(10, 1)) + 1 for _ in range(entities)]
        self._factors = [self._random.lognormvariate(0, 0.3) for _ in range(_AMOUNTS)]
        self._turns = self._random.sample(range(entities), entities)
        self._regulars = max(1, min(_MOST_REGULARS, counterparties // entities))
        self._lives = [life for life in _LIVES for _ in range(life.share)]
        self._collecting = [life for life in _LIVES if life.prefix == "acht" for _ in range(life.share)]

    def introductions(self) -> Iterator[bytes]:
        """Every entity and counterparty as the bank makes it known, before the first transfer."""
        at = format_instant(self.start_at - 3_600_000_000)
        for number in range(self.entities):
            data = {
                "id": f"enti_{self.name}_{number}",
                "type": "PERSON",
                "verification_status": "VERIFIED",
                "is_high_risk": False,
                "person_details": {"first_name": "Person", "last_name": str(number), "pep_status": "no"},
                "last_screened_at": at,
            }
            yield _introduced(f"{self.name}_e{number}", "identity.created", data, at)
        for number in range(self.counterparties):
            named = {"id": f"cpty_{self.name}_{number}", "name": f"Party {self.name}_{number}"}
            account = {"routing_number": _routing_of(number), "account_number": f"88{number:08d}"}
            yield _introduced(f"{self.name}_c{number}", "counterparty.created", {**named, **account}, at)

    def events(self) -> Iterator[Made]:
        """For ever; the caller takes as many as are needed."""
        later: list[tuple[int, int, Made]] = []
        made = 0
        transfer = 0
        while True:
            for due, event in self._life_of(transfer):
                heapq.heappush(later, (event.at if self._in_order else due, made, event))
                made += 1
            transfer += 1
            upto = self.start_at + transfer * self._step_us if self._in_order else transfer
            while later and later[0][0] <= upto:
                yield heapq.heappop(later)[2]

    def _payee_of(self, entity: int, pick: int) -> int:
        return entity * self._regulars + pick % max(1, self._regulars - 1)

    def _payer_of(self, entity: int) -> int:
        """Another than its payees, so that money does not come back: its last regular, else another entity's."""
        return entity * self._regulars + (self._regulars - 1 if self._regulars > 1 else self.counterparties // 2)

    def _life_of(self, transfer: int) -> Iterator[tuple[int, Made]]:
        """The events of one transfer, each with the number of the transfer that it comes after."""
        chance = self._random.random
        pick = int(chance() * 1_000_000)
        turn = transfer + int(chance() * _JITTER * self.entities)
        entity = self._turns[turn % self.entities]
        collects = entity % _COLLECTS_ONE_IN == 0
        lives = self._collecting if collects else self._lives
        life = lives[pick % len(lives)]
        created_at = self.start_at + transfer * self._step_us + int(chance() * self._step_us)
        regular = self._payer_of(entity) if life.is_incoming else self._payee_of(entity, pick)
        if not pick % _ELSEWHERE_ONE_IN:
            regular = int(chance() * self.counterparties)
        transfer_id = f"{life.prefix}_{self.name}_{transfer:09d}"
        created = format_instant(created_at)
        values: dict[str, object] = {
            "id": transfer_id,
            "event": f"{self.name}_{transfer:09d}_1",
            "entity": f"{self.name}_{entity}",
            "other": f"{self.name}_{regular % self.counterparties}",
            "account": regular % self.counterparties,
            "routing": _routing_of(regular % self.counterparties),
            "cents": 1 + int(self._usual_cents[entity] * self._factors[pick % _AMOUNTS]),
            "ach_type": "DEBIT" if collects else "CREDIT",
            "created": created,
            "at": created,
            "day": created[:10],
        }
        late = 0 if pick % LATE_ONE_IN else 1 + pick % LATE_BY_TRANSFERS
        yield transfer + late, Made(transfer, transfer_id, created_at, (life.first % values).encode())
        lag = late + 1 + int(chance() * SETTLED_AFTER_TRANSFERS)
        at = created_at + lag * self._step_us
        values["event"], values["at"] = f"{self.name}_{transfer:09d}_2", format_instant(at)
        yield transfer + lag, Made(transfer, transfer_id, at, (life.second % values).encode())
        if life.third is not None and pick % RETURNED_ONE_IN == 0:
            lag += 1 + int(chance() * SETTLED_AFTER_TRANSFERS)
            at = created_at + lag * self._step_us
            values["event"], values["at"] = f"{self.name}_{transfer:09d}_3", format_instant(at)
            yield transfer + lag, Made(transfer, transfer_id, at, (life.third % values).encode())


def ach_payment(number: int, *, entity: str, counterparty: str, cents: int, at: int) -> bytes:
    """The first event of an outgoing ACH credit; ``number`` makes its ids."""
    created = format_instant(at)
    values = {
        "id": f"acht_{number:09d}",
        "event": f"{number:09d}",
        "entity": entity,
        "other": counterparty,
        "routing": _routing_of(0),
        "cents": cents,
        "ach_type": "CREDIT",
        "created": created,
        "at": created,
        "day": created[:10],
    }
    return (_LIVES[0].first % values).encode()


def _routing_of(counterparty: int) -> str:
    """Few enough accounts a bank that their last four digits tell them apart."""
    return f"{21_000_021 + counterparty // _ACCOUNTS_A_BANK:09d}"


def _introduced(event_id: str, kind: str, data: dict[str, Any], at: str) -> bytes:
    whole = {**data, "created_at": at, "updated_at": at}
    return msgspec.json.encode({"id": f"evnt_{event_id}", "created_at": at, "type": kind, "data": whole})
