"""Bank events with a mistake in them, and what a sender can find out: ``python -m tests.support.mutated_events``.

Each case is a right event and the same one with one or two mistakes of the kinds that senders make. A caller must be
able to find out what became of the wrong one; and the right one, sent afterwards, must take effect: under the same id
where the wrong one had none, else as an event with an id of its own and a newer ``updated_at``.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import httpx

from clearhold.api.ingest.routes import EXAMPLES
from clearhold.features.core.instants import DAY_US
from clearhold.store.clock import SystemClock
from tests.support.bank_events import rfc3339
from tests.support.clock import T0
from tests.support.running_app import signature
from tests.support.running_service import RunningService

Data = dict[str, Any]

BATCH: Final = 500
TOOK_EFFECT: Final = frozenset({"applied", "waiting"})
_PAGE: Final = 100
_CUSTOMERS: Final = 500
_MARKED_AT: Final = "2026-03-01T00:00:00Z"
SETTLE_WITHIN_S: Final = 600.0
_ODD: Final[tuple[Any, ...]] = (
    *(None, "", True, False, 0, -1, 5, 98.5, 10**30, [], [5], [{}], {}, {"cents": 5}, "x" * 300, "\x00", "\u00e9"),
    *("yesterday", "2036-01-01T00:00:00Z", "1969-01-01", "98.50", "9,850", "EURO", "USA", "-5", "null", "CREDIT"),
)


class Case(NamedTuple):
    """A wrong event and the right one; both are about an object of their own."""

    wrong: bytes
    right: Data
    object_id: str


def cases(count: int, seed: int) -> Iterator[Case]:
    chance = Random(seed)
    for _ in range(count):
        right = _right(chance)
        yield Case(_wrong(right, chance), right, _object_id(right))


def _right(chance: Random) -> Data:
    """An example of any kind with ids of its own, without what other cases could meet."""
    event: Data = json.loads(json.dumps(EXAMPLES[chance.choice(sorted(EXAMPLES))]))
    own = f"{chance.getrandbits(64):016x}"
    event["id"] = f"evnt_{own}"
    data = event["data"]
    for name in ("id", "transfer_id"):
        if name in data:
            data[name] = f"{data[name].partition('_')[0]}_{own}"
    customer = chance.randrange(_CUSTOMERS)
    for name in ("bank_account_id", "sender_bank_account_id"):
        if name in data:
            data[name] = f"bacc_{customer}"
    at = T0 + chance.randrange(200 * DAY_US)
    for name in ("created_at", "updated_at", "initiated_at", "returned_at"):
        if name in data:
            data[name] = rfc3339(at)
    event["created_at"] = rfc3339(at)
    return event


def _object_id(event: Data) -> str:
    data = event["data"]
    return str(data.get("transfer_id", data["id"]))


def _wrong(right: Data, chance: Random) -> bytes:
    event: Data = json.loads(json.dumps(right))
    for _ in range(chance.choice((1, 1, 2))):
        chance.choice(_MISTAKES)(event, chance)
    body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return chance.choice(_BYTE_MISTAKES)(body, chance) if chance.random() < 0.1 else body


def _odd_value(event: Data, chance: Random) -> None:
    holder = _holder(event, chance)
    if holder:
        holder[chance.choice(sorted(holder))] = chance.choice(_ODD)


def _left_out(event: Data, chance: Random) -> None:
    holder = _holder(event, chance)
    if holder:
        del holder[chance.choice(sorted(holder))]


def _camel_case(event: Data, chance: Random) -> None:
    holder = _holder(event, chance)
    names = [name for name in sorted(holder) if "_" in name]
    if names:
        name = chance.choice(names)
        first, *rest = name.split("_")
        holder[first + "".join(part.title() for part in rest)] = holder.pop(name)


def _cents_in_the_name(event: Data, _: Random) -> None:
    data = event.get("data")
    if isinstance(data, dict) and "amount" in data:
        data["amountCents"] = str(data.pop("amount"))


def _dollars(event: Data, _: Random) -> None:
    data = event.get("data")
    if isinstance(data, dict) and isinstance(data.get("amount"), int):
        data["amount"] = data["amount"] / 100


def _other_type(event: Data, chance: Random) -> None:
    kind = event.get("type")
    if isinstance(kind, str) and kind:
        at = chance.randrange(len(kind))
        event["type"] = chance.choice(
            (
                kind.upper(),
                kind.title(),
                kind[:at] + kind[at + 1 :],
                kind[:at] + "x" + kind[at:],
                kind.replace(".", "_"),
                f"sepa.{kind.partition('.')[2]}",
                kind.partition(".")[0],
                "transfer.created",
                "entity.kyc.approved",
            )
        )


def _other_data(event: Data, chance: Random) -> None:
    event["data"] = chance.choice(_ODD)


def _holder(event: Data, chance: Random) -> Data:
    """The envelope now and then, else its object, or an object inside that."""
    data = event.get("data")
    if not isinstance(data, dict) or chance.random() < 0.15:
        return event
    inside = [value for value in data.values() if isinstance(value, dict)]
    return chance.choice(inside) if inside and chance.random() < 0.2 else data


def _cut(body: bytes, chance: Random) -> bytes:
    return body[: chance.randrange(1, len(body))]


def _another_byte(body: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + bytes([chance.choice([*range(1, 10), *range(11, 256)])]) + body[at + 1 :]


_MISTAKES: Final[tuple[Callable[[Data, Random], None], ...]] = (
    *(_odd_value, _odd_value, _odd_value, _left_out, _left_out),
    *(_camel_case, _cents_in_the_name, _dollars, _other_type, _other_type, _other_data),
)
_BYTE_MISTAKES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (_cut, _another_byte)


class Sender:
    """One program of a service; ``apply`` makes everything that was posted readable, where nothing else does."""

    def __init__(
        self, client: httpx.Client, program: Data, headers: dict[str, str], apply: Callable[[], object] = lambda: None
    ) -> None:
        self._client, self._program, self._headers, self._apply = client, program, headers, apply
        self._markers = 0

    def post(self, bodies: Sequence[bytes]) -> list[Data]:
        """Post a batch; the lines of its answer."""
        body = b"\n".join(bodies)
        headers = {"Bank-Signature": signature(self._program["ingestSecret"], body)}
        answer = self._client.post(f"/api/ingest/bank/{self._program['id']}/batch", content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.content.split(b"\n")[:-1]]

    def settle(self) -> None:
        """Return once everything posted can be read: an event behind all others is."""
        self._markers += 1
        marker = f"marker_{self._markers}"
        self.post([json.dumps({"id": marker, "type": "loan.updated", "created_at": _MARKED_AT}).encode()])
        self._apply()
        deadline = time.monotonic() + SETTLE_WITHIN_S
        while self._client.get(f"/api/events/{marker}", headers=self._headers).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def items(self, path: str) -> Iterator[Data]:
        """Every item of a list of the tenant."""
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            answer = self._client.get(path, params=query, headers=self._headers)
            if answer.status_code == 429:
                time.sleep(0.05)
                continue
            page = answer.json()
            yield from page["data"]
            if page["nextCursor"] is None:
                return
            query["cursor"] = page["nextCursor"]


class Found(NamedTuple):
    """What a caller found out: how many wrong events had each result, and the complaints."""

    results: Counter[str]
    corrected_under_the_same_id: int
    complaints: list[str]


def find_out(sender: Sender, count: int, *, seed: int, now: Callable[[], str]) -> Found:
    """Send wrong events, find out about each, send the right ones, and see that they took effect."""
    every = list(cases(count, seed))
    complaints: list[str] = []
    receipts = _post(sender, [case.wrong for case in every])
    sender.settle()
    known = {event["id"]: event for event in sender.items("/api/events")}
    results: Counter[str] = Counter()
    rights: list[tuple[Case, Data]] = []
    corrected_at = now()
    for case, receipt in zip(every, receipts, strict=True):
        result, complaint = _became(receipt, known)
        results[result] += 1
        complaints += [f"{complaint}: {case.wrong!r}"] if complaint else []
        is_used_up = result in TOOK_EFFECT and receipt["id"] == case.right["id"]
        rights.append((case, _newer(case.right, corrected_at) if is_used_up else case.right))
    answers = _post(sender, [json.dumps(right).encode() for _, right in rights])
    sender.settle()
    complaints += _without_effect(sender, rights, answers)
    same_id = sum(right is case.right for case, right in rights)
    return Found(results, same_id, complaints)


def _became(receipt: Data, known: dict[str, Data]) -> tuple[str, str | None]:
    """The result of a wrong event, and what is not as it should be with it."""
    if not receipt["received"]:
        return "refused", None if receipt["error"] else "refused without a sentence"
    event = known.get(receipt["id"])
    if event is None:
        return "swallowed", "received, and nothing can be found out"
    silent = event["result"] != "applied" and not event["reason"]
    return event["result"], f"{event['result']} without a sentence" if silent else None


def _newer(right: Data, now: str) -> Data:
    """The right event as one of its own, with an object that is newer than the wrong one's."""
    return right | {"id": f"{right['id']}_c", "created_at": now, "data": right["data"] | {"updated_at": now}}


def _without_effect(sender: Sender, rights: Sequence[tuple[Case, Data]], answers: Sequence[Data]) -> Iterator[str]:
    latest: dict[str, Data] = {}
    for event in sender.items("/api/events"):  # newest first
        latest.setdefault(event["id"], event)
    amounts = {each["id"]: each["amountCents"] for each in sender.items("/api/transfers")}
    for (case, right), answer in zip(rights, answers, strict=True):
        event = latest[right["id"]]
        if answer["duplicate"] or event["result"] not in TOOK_EFFECT:
            yield f"the correction is {event['result']}, {event['reason']}: {case.wrong!r}"
        amount = right["data"].get("deposited_amount", right["data"].get("amount"))
        if amount is not None and amounts.get(case.object_id) != str(amount):
            yield f"the transfer has {amounts.get(case.object_id)} and not {amount}: {case.wrong!r}"


def _post(sender: Sender, bodies: Iterable[bytes]) -> list[Data]:
    every = list(bodies)
    return [receipt for at in range(0, len(every), BATCH) for receipt in sender.post(every[at : at + BATCH])]


def service_sender(service: RunningService) -> Sender:
    """A program of a service that runs in a process of its own."""
    tenant = service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
    program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"})
    client = httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=60, trust_env=False)
    return Sender(client, program, {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"})


def main(count: int, seed: int) -> int:
    """Run against a real service and print the figures."""
    with tempfile.TemporaryDirectory() as folder, RunningService(Path(folder) / "data") as service:
        found = find_out(service_sender(service), count, seed=seed, now=lambda: rfc3339(SystemClock().now()))
    for result, number in sorted(found.results.items()):
        print(f"{result:12} {number:7,}")
    print(f"corrected under the same id {found.corrected_under_the_same_id:,}, complaints {len(found.complaints):,}")
    print(*found.complaints[:20], sep="\n")
    return 1 if found.complaints else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, seed=7))
