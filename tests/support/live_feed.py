"""A program of a running service: events are delivered and results are read over HTTP."""

import hashlib
import hmac
import http.client
import itertools
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from clearhold.features.detectors.table import PROGRAM_DETECTORS
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.waiting import eventually

DAY: Final = timedelta(days=1)
WIRE: Final = "wire.outgoing_transfer.completed"
WORDS: Final = "The invoice and the contract were seen, and both agree with the payment."
OF_SNAPSHOTS: Final = frozenset(detector.id for detector in PROGRAM_DETECTORS)
CHANGED_ACCOUNT: Final = "TRS-CPY-03"

Data = dict[str, Any]

_numbers = itertools.count(1)


def now() -> datetime:
    """The machine's time in whole seconds, as the bank writes it."""
    return datetime.now(UTC).replace(microsecond=0)


def text_of(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def reason_ids(reasons: Iterable[Data]) -> list[str]:
    return [reason["id"] for reason in reasons]


class LiveBank:
    """A tenant of a running service; ``ann`` calls, unless a call names another operator."""

    def __init__(self, service: RunningService) -> None:
        self.address = ("127.0.0.1", service.port)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=60)
        tenant = {"slug": f"bank-{next(_numbers)}", "name": "Bank"}
        self.tenant = self.call("POST", "/api/admin/tenants", tenant, token=ADMIN_TOKEN).json()

    def close(self) -> None:
        self.client.close()

    def call(
        self, method: str, path: str, body: object = None, *, token: str | None = None, **headers: str
    ) -> httpx.Response:
        """``headers`` are named with ``_`` for ``-``."""
        own = {"Authorization": f"Bearer {token or self.tenant['operatorToken']}", "X-Operator": "ann"}
        others = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, path, json=body, headers=own | others)

    def raw(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        """POST with the headers byte for byte, white space included: status, content and headers of the answer."""
        with closing(http.client.HTTPConnection(*self.address, timeout=60)) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json"} | headers)
            answer = connection.getresponse()
            content = msgspec.json.decode(answer.read())
            return answer.status, content, {name.lower(): value for name, value in answer.getheaders()}

    def get(self, path: str) -> Any:
        """The content of an answer that must be 200."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        """The content of an answer that must be 200 or 201."""
        answer = self.call("POST", path, body, **headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def feed(self, **declared: Any) -> "LiveFeed":
        return LiveFeed(self, declared)


class LiveFeed:
    """A new program of a bank, with what it declares."""

    def __init__(self, bank: LiveBank, declared: Data) -> None:
        slug = f"program-{next(_numbers)}"
        body = {"tenantId": bank.tenant["id"], "slug": slug, "name": slug} | declared
        self.bank = bank
        self.program = bank.call("POST", "/api/admin/programs", body, token=ADMIN_TOKEN).json()
        self.id: str = self.program["id"]
        self.last_event = ""

    def send(self, kind: str, data: Data, at: datetime | str, event_id: str | None = None) -> str:
        """Post an event whose object has the event's time, unless the object states its own; the event's id."""
        text = at if isinstance(at, str) else text_of(at)
        return self.post_event(
            {"type": kind, "created_at": text, "data": {"created_at": text, "updated_at": text} | data}, event_id
        )

    def post_event(self, event: Data, event_id: str | None = None) -> str:
        self.last_event = event_id or f"evnt_{next(_numbers)}"
        answer = self.deliver(msgspec.json.encode({"id": self.last_event} | event))
        assert answer.status_code == 200, answer.text
        return self.last_event

    def signature(self, body: bytes) -> str:
        return hmac.new(self.program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()

    def deliver(self, body: bytes) -> httpx.Response:
        """Post a body as the bank does, signed."""
        signed = {"Bank-Signature": self.signature(body), "Content-Type": "application/json"}
        return self.bank.client.post(f"/api/ingest/bank/{self.id}", content=body, headers=signed)

    def send_all(self, events: Iterable[tuple[str, Data, datetime]]) -> None:
        """Post events in one batch after another, in order."""
        bodies = []
        for kind, data, at in events:
            self.last_event, text = f"evnt_{next(_numbers)}", text_of(at)
            stamped = {"created_at": text, "updated_at": text} | data
            bodies.append(
                msgspec.json.encode({"id": self.last_event, "type": kind, "created_at": text, "data": stamped})
            )
        for first in range(0, len(bodies), 500):
            content = b"\n".join(bodies[first : first + 500])
            headers = {"Bank-Signature": self.signature(content), "Content-Type": "application/x-ndjson"}
            answer = self.bank.client.post(f"/api/ingest/bank/{self.id}/batch", content=content, headers=headers)
            assert answer.status_code == 200, answer.text
            assert all(msgspec.json.decode(line)["received"] for line in answer.content.splitlines()), answer.text

    def send_usual(self, days: Iterable[int], **over: Any) -> None:
        """A usual wire of about 100.00 on each of some days ago."""
        usual: Data = {"entity_id": "enti_1", "counterparty_id": "cpty_usual"}
        self.send_all(
            (WIRE, usual | {"id": f"usual_{next(_numbers)}", "amount": 10_000 + day} | over, now() - day * DAY)
            for day in sorted(days, reverse=True)
        )

    def settle(self) -> "LiveFeed":
        """Wait until the last event sent has its result; the program's events are applied in order."""
        path = f"/api/events/{quote(self.last_event, safe='')}?programId={self.id}"
        eventually(lambda: self.bank.call("GET", path).status_code == 200)
        return self

    def event(self, event_id: str | None = None) -> Data:
        """An event with its result, the last one sent unless another is named."""
        self.settle()
        found: Data = self.bank.get(f"/api/events/{quote(event_id or self.last_event, safe='')}?programId={self.id}")
        return found

    def transfer(self, transfer_id: str) -> Data:
        found: Data = self.bank.get(f"/api/transfers/{quote(transfer_id, safe='')}?programId={self.id}")
        return found

    def transfers(self) -> dict[str, Data]:
        """All transfers by id, at most 500."""
        found: dict[str, Data] = {}
        cursor = ""
        while len(found) < 500:
            page = self.bank.get(f"/api/transfers?programId={self.id}&limit=100{cursor}")
            found |= {transfer["id"]: transfer for transfer in page["data"]}
            if not page["hasMore"]:
                break
            cursor = f"&cursor={quote(page['nextCursor'], safe='')}"
        return found

    def features(self, transfer_id: str) -> Data:
        features: Data = self.transfer(transfer_id)["scoreInputs"]["features"]
        return features

    def reasons(self, transfer_id: str) -> list[str]:
        return reason_ids(self.transfer(transfer_id)["scoreInputs"]["reasons"])

    def ask(self, **transfer: Any) -> Data:
        """A pre-flight, by default of an outgoing wire of 100.00."""
        usual = {"rail": "wire", "direction": "outgoing", "amountCents": "10000"}
        answer: Data = self.bank.post("/api/preflight", {"programId": self.id, "transfer": usual | transfer})
        return answer

    def refusal(self, **transfer: Any) -> Data:
        """The 400 that a pre-flight is answered with."""
        usual = {"rail": "wire", "direction": "outgoing", "amountCents": "10000"}
        answer = self.bank.call("POST", "/api/preflight", {"programId": self.id, "transfer": usual | transfer})
        assert answer.status_code == 400, answer.text
        content: Data = answer.json()
        return content

    def alerts_of_events(self) -> list[Data]:
        """All but those of snapshots, which the service takes at any minute of a quarter of an hour."""
        return [alert for alert in self.alerts() if alert["detector"] not in OF_SNAPSHOTS]

    def alerts(self, **query: str) -> list[Data]:
        more = "".join(f"&{name}={quote(value, safe='')}" for name, value in query.items())
        found: list[Data] = self.bank.get(f"/api/alerts?programId={self.id}&limit=100{more}")["data"]
        return found

    def actor(self, kind: str, actor_id: str) -> Data:
        """The report of an actor over the last 90 days."""
        period = f"from={(now() - 90 * DAY).date()}&to={(now() + DAY).date()}"
        path = f"/api/reports/actor/{kind}/{quote(actor_id, safe='')}?programId={self.id}&{period}"
        report: Data = self.bank.get(path)
        return report

    def proof(self, kind: str, actor_id: str) -> Data:
        """The claims of a proof of an actor."""
        claims: Data = self.bank.post("/api/proofs", {"type": kind, "id": actor_id, "programId": self.id})["claims"]
        return claims
