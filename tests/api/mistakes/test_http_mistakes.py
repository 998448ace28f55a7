"""What somebody gets wrong over HTTP in the first hours, on a real service: each is answered with cause and cure."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import msgspec
import pytest

from tests.support.alerting import ALERTING, outgoing
from tests.support.error_answers import error_of
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.waiting import eventually

TRANSFER: Final = {"rail": "wire", "direction": "outgoing", "amountCents": "985000"}
WIRED: Final = {"programSlug": "payroll", "transfer": TRANSFER}
JSON: Final = {"Content-Type": "application/json"}


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """A request with its code, and words that its sentence must have: the cause, and what to do about it.

    In path, headers and body a name of the world in braces stands for its value.
    """

    method: str = "POST"
    path: str = "/api/preflight"
    caller: str = "operator"
    headers: tuple[tuple[str, str | bytes], ...] = ()
    body: Any = None  # bytes are sent as they are, anything else as JSON
    code: str
    fields: Mapping[str, str] | None = None
    words: tuple[str, ...]


def transfer(**over: Any) -> dict[str, Any]:
    return WIRED | {"transfer": TRANSFER | over}


def other_side(**details: Any) -> dict[str, Any]:
    return transfer(counterparty={"name": "New Vendor"} | details)


def program(**over: Any) -> dict[str, Any]:
    return {"tenantId": "{tenant}", "slug": "new", "name": "New"} | over


MISSPELT: Final = {"rail": "wire", "direction": "outgoing", "amount": "985000"}
CENTS: Final = ("string of digits", "cents", '"9850" is 98.50')
UNSEEN: Final = {"transfer.amountCents": "required"}

MISTAKES: Final[dict[str, Mistake]] = {
    "1 wrong token": Mistake(
        method="GET", path="/api/alerts", caller="wrong", code="token_unknown", words=("unknown", "whole", "service")
    ),
    "1 no token": Mistake(
        method="GET", path="/api/alerts", caller="nobody", code="token_missing", words=("Authorization: Bearer TOKEN",)
    ),
    "1 raw token": Mistake(
        method="GET", path="/api/alerts", caller="raw", code="token_missing", words=("Authorization: Bearer TOKEN",)
    ),
    "1 X-API-Key": Mistake(
        method="GET", path="/api/alerts", caller="x-api-key", code="token_missing", words=("no other header is read",)
    ),
    "2 admin token for a tenant": Mistake(
        method="GET",
        path="/api/alerts",
        caller="admin",
        code="token_of_another_kind",
        words=("admin token", "/api/admin", "operator token or an API key"),
    ),
    "2 operator token for the platform": Mistake(
        method="GET", path="/api/admin/tenants", code="token_of_another_kind", words=("operator token", "admin token")
    ),
    "2 key for the platform": Mistake(
        method="GET", path="/api/admin/tenants", caller="key", code="token_of_another_kind", words=("API key", "admin")
    ),
    "3 revoked key": Mistake(
        method="GET", path="/api/alerts", caller="revoked", code="key_revoked", words=("revoked", "POST /api/keys")
    ),
    "4 no operator": Mistake(
        method="GET",
        path="/api/alerts",
        caller="nameless",
        code="operator_required",
        fields={"X-Operator": "required"},
        words=("X-Operator", "who is acting"),
    ),
    "5 José": Mistake(
        method="GET",
        path="/api/alerts",
        caller="nameless",
        headers=(("X-Operator", "José".encode()),),
        code="operator_invalid",
        fields={"X-Operator": "malformed"},
        words=("ASCII", "login name or an e-mail address", "look alike"),
    ),
    "6 no content type": Mistake(
        headers=(("Content-Type", ""),),
        body=msgspec.json.encode(WIRED),
        code="media_type_unsupported",
        words=("Content-Type: application/json",),
    ),
    "7 broken JSON": Mistake(
        headers=tuple(JSON.items()),
        body=b'{\n  "programSlug": "payroll",\n  "transfer": {"rail": wire}\n}',
        code="invalid_json",
        fields={"body": "malformed"},
        words=("line 3, column 24",),
    ),
    "7 JSON that ends early": Mistake(
        headers=tuple(JSON.items()), body=b'{"programSlug": "pay', code="invalid_json", words=("line 1, column 17",)
    ),
    "8 float": Mistake(
        body=transfer(amountCents=98.5),
        code="validation_failed",
        fields={"transfer.amountCents": "wrong_type"},
        words=CENTS,
    ),
    "8 integer": Mistake(body=transfer(amountCents=9850), code="validation_failed", words=CENTS),
    "8 decimal point": Mistake(
        body=transfer(amountCents="98.50"),
        code="validation_failed",
        fields={"transfer.amountCents": "malformed"},
        words=CENTS,
    ),
    "8 comma": Mistake(body=transfer(amountCents="9,850"), code="validation_failed", words=CENTS),
    "8 negative": Mistake(body=transfer(amountCents="-5"), code="validation_failed", words=CENTS),
    "9 amount": Mistake(
        body=WIRED | {"transfer": MISSPELT},
        code="validation_failed",
        fields=UNSEEN | {"transfer.amount": "unknown"},
        words=("transfer.amountCents is required", "did you mean amountCents?"),
    ),
    "9 snake case": Mistake(
        body=WIRED | {"transfer": TRANSFER | {"entity_id": "enti_1"}},
        code="validation_failed",
        fields={"transfer.entity_id": "unknown"},
        words=("transfer.entity_id is not a known property; did you mean entityId?",),
    ),
    "9 account number": Mistake(
        body=other_side(accountNumber="123456789"),
        code="validation_failed",
        fields={"transfer.counterparty.accountNumber": "unknown"},
        words=("transfer.counterparty.accountNumber is not a known property",),
    ),
    "10 sepa": Mistake(
        body=transfer(rail="sepa"),
        code="validation_failed",
        fields={"transfer.rail": "not_one_of"},
        words=("must be one of ach, book, card, check, intl_wire, realtime, wire",),
    ),
    "10 WIRE": Mistake(body=transfer(rail="WIRE"), code="validation_failed", words=("must be one of ach",)),
    "11 U.S.": Mistake(body=other_side(countryCode="U.S."), code="validation_failed", words=("ISO 3166-1", "as in US")),
    "11 Germany": Mistake(
        body=other_side(countryCode="Germany"), code="validation_failed", words=("ISO 3166-1", "as in US")
    ),
    "11 ZZ": Mistake(
        body=other_side(countryCode="ZZ"),
        code="validation_failed",
        fields={"transfer.counterparty.countryCode": "not_one_of"},
        words=("ISO 3166-1", "as in US"),
    ),
    "12 wrong slug": Mistake(
        body=WIRED | {"programSlug": "payrol"}, code="program_not_found", words=("programSlug", "GET /api/programs")
    ),
    "12 wrong id": Mistake(
        method="GET",
        path="/api/programs/0b0c4a53-0000-4000-8000-000000000001",
        code="program_not_found",
        words=("Unknown program", "GET /api/programs"),
    ),
    "13 limit": Mistake(
        method="GET",
        path="/api/transfers?limit=1000",
        code="validation_failed",
        fields={"limit": "too_large"},
        words=("limit must be at most 100",),
    ),
    "13 cursor": Mistake(
        method="GET", path="/api/transfers?cursor=abc", code="cursor_invalid", words=("must be a nextCursor of this",)
    ),
    "13 unknown parameter": Mistake(
        method="GET",
        path="/api/transfers?program_id=1",
        code="validation_failed",
        fields={"program_id": "unknown"},
        words=("program_id is not a known parameter; did you mean programId?",),
    ),
    "13 status": Mistake(
        method="GET",
        path="/api/alerts?status=Open",
        code="validation_failed",
        words=("must be one of auto_closed",),
    ),
    "13 from": Mistake(
        method="GET",
        path="/api/alerts?from=yesterday",
        code="validation_failed",
        fields={"from": "malformed"},
        words=("date-time with an offset, or a date", "2026-03-02T15:04:05Z"),
    ),
    "14 wrong method": Mistake(
        method="DELETE", path="/api/preflight", code="method_not_allowed", words=("does not take this", "POST")
    ),
    "14 wrong path": Mistake(method="GET", path="/api/preflights", code="path_not_found", words=("/docs",)),
    "15 too large": Mistake(body=b" " * 70_000, code="body_too_large", words=("at most 65536 bytes",)),
    "16 slug with blanks, unknown rail, volume as number": Mistake(
        path="/api/admin/programs",
        caller="admin",
        body=program(slug="new program", declaredRails=["swift"], declaredMonthlyVolumeCents=5),
        code="validation_failed",
        fields={
            "slug": "malformed",
            "declaredRails[0]": "not_one_of",
            "declaredMonthlyVolumeCents": "wrong_type",
        },
        words=("slug must be 1-64 lower-case letters", "must be one of ach", *CENTS),
    ),
    "16 slug twice": Mistake(
        path="/api/admin/tenants",
        caller="admin",
        body={"slug": "bank", "name": "Bank"},
        code="slug_taken",
        words=("A tenant with this slug exists.",),
    ),
    "17 test key on a live program": Mistake(
        caller="test key",
        body=WIRED,
        code="program_out_of_reach",
        words=("a test key touches simulated programs only, a live key bank-sourced ones",),
    ),
    "17 wrong scope": Mistake(
        method="GET", path="/api/alerts", caller="narrow key", code="scope_missing", words=("the scope alerts:read",)
    ),
    "18 key used for another request": Mistake(
        headers=(("Idempotency-Key", "used"),),
        body=transfer(amountCents="2"),
        code="idempotency_mismatch",
        words=("This Idempotency-Key was used for another request.",),
    ),
    "19 approve": Mistake(
        path="/api/alerts/{open}/decide",
        body={"decision": "approve", "narrative": "Fine."},
        code="validation_failed",
        fields={"decision": "not_one_of"},
        words=("decision must be one of close, escalate, hold, no_action, release",),
    ),
    "19 no narrative": Mistake(
        path="/api/alerts/{open}/decide",
        body={"decision": "close"},
        code="validation_failed",
        fields={"narrative": "required"},
        words=("narrative is required",),
    ),
    "19 closed": Mistake(
        path="/api/alerts/{closed}/decide",
        body={"decision": "close", "narrative": "Again."},
        code="alert_closed",
        words=("closed, which is final", "An appeal opens a new alert"),
    ),
    "20 label": Mistake(
        path="/api/labels",
        body={"transferId": "acht_open", "label": "fraud", "reason": "It was reported."},
        code="validation_failed",
        fields={"label": "not_one_of"},
        words=("label must be one of bad, ok",),
    ),
    "21 signature": Mistake(
        path="/api/ingest/bank/{program}",
        caller="bank",
        body=b"{}",
        code="signature_invalid",
        words=("could not be verified",),
    ),
}


class Beginner:
    """A service with a tenant, two programs, keys of every kind, one open alert and one that is closed."""

    def __init__(self, service: RunningService, client: httpx.Client) -> None:
        self.client = client
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        payroll = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"})
        token = tenant["operatorToken"]
        self.operator = {"Authorization": f"Bearer {token}", "X-Operator": "ann"}
        revoked = self.key()
        assert client.delete(f"/api/keys/{revoked['id']}", headers=self.operator).status_code == 200
        self.callers: dict[str, dict[str, str]] = {
            "nobody": {},
            "bank": {"Bank-Signature": "0" * 64},
            "operator": self.operator,
            "nameless": {"Authorization": f"Bearer {token}"},
            "raw": {"Authorization": token, "X-Operator": "ann"},
            "wrong": {"Authorization": f"Bearer {token[:-1]}", "X-Operator": "ann"},
            "x-api-key": {"X-API-Key": self.key()["secret"]},
            "admin": {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"},
            "key": {"Authorization": f"Bearer {self.key()['secret']}"},
            "test key": {"Authorization": f"Bearer {self.key(mode='test')['secret']}"},
            "narrow key": {"Authorization": f"Bearer {self.key(scopes=['labels'])['secret']}"},
            "revoked": {"Authorization": f"Bearer {revoked['secret']}"},
        }
        for name in ("acht_open", "acht_closed"):
            body = outgoing(name, **ALERTING)
            signature = hmac.new(payroll["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
            path, headers = f"/api/ingest/bank/{payroll['id']}", {"Bank-Signature": signature} | JSON
            assert client.post(path, content=body, headers=headers).status_code == 200
        self.names = {
            "tenant": tenant["id"],
            "program": payroll["id"],
            "open": self.alert_on("acht_open"),
            "closed": self.alert_on("acht_closed"),
        }
        decision = {"decision": "close", "narrative": "It was explained to us."}
        answer = client.post(f"/api/alerts/{self.names['closed']}/decide", json=decision, headers=self.operator)
        assert answer.status_code == 201, answer.text
        used = self.operator | {"Idempotency-Key": "used"}
        assert client.post("/api/preflight", json=transfer(amountCents="1"), headers=used).status_code == 201

    def key(self, **over: Any) -> dict[str, Any]:
        body = {"name": "a key", "mode": "live"} | over
        created: dict[str, Any] = self.client.post("/api/keys", json=body, headers=self.operator).json()
        return created

    def alert_on(self, transfer_id: str) -> str:
        found: list[str] = []

        def is_there() -> bool:
            answer = self.client.get("/api/alerts", params={"transferId": transfer_id}, headers=self.operator)
            found.extend(alert["id"] for alert in answer.json()["data"])
            return bool(found)

        eventually(is_there)
        return found[0]

    def filled(self, value: Any) -> Any:
        """The value with the world's names in place of the braces."""
        if isinstance(value, str):
            for name, text in self.names.items():
                value = value.replace(f"{{{name}}}", text)
            return value
        return {name: self.filled(each) for name, each in value.items()} if isinstance(value, dict) else value

    def make(self, mistake: Mistake) -> httpx.Response:
        body = mistake.body if isinstance(mistake.body, bytes) else msgspec.json.encode(self.filled(mistake.body))
        content = None if mistake.body is None else body
        usual = JSON if content is not None and not isinstance(mistake.body, bytes) else {}
        headers = {name: value.encode() for name, value in (self.callers[mistake.caller] | usual).items()}
        headers |= {name: value.encode() if isinstance(value, str) else value for name, value in mistake.headers}
        sent = {name.encode(): value for name, value in headers.items() if value}
        return self.client.request(mistake.method, self.filled(mistake.path), headers=sent, content=content)


@pytest.fixture(scope="module")
def beginner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beginner]:
    folder = tmp_path_factory.mktemp("beginner")
    with (
        RunningService(folder / "data", "--metrics-port", "0") as service,
        httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=30) as client,
    ):
        yield Beginner(service, client)


@pytest.mark.parametrize("name", MISTAKES)
def test_given_a_mistake_when_made_then_its_answer_says_the_cause_and_the_cure(beginner: Beginner, name: str) -> None:
    mistake = MISTAKES[name]

    answer = beginner.make(mistake)

    error = error_of(answer.status_code, answer.content)
    assert error["code"] == mistake.code, error
    for words in mistake.words:
        assert words in error["error"], error["error"]
    if mistake.fields is not None:
        assert {field["path"]: field["code"] for field in error["fields"]} == mistake.fields


def test_given_a_method_that_a_path_does_not_take_when_sent_then_the_header_and_the_sentence_list_the_same(
    beginner: Beginner,
) -> None:
    answer = beginner.client.delete("/api/preflight", headers=beginner.operator)

    allowed = answer.headers["allow"]
    assert set(allowed.split(", ")) == {"GET", "POST", "OPTIONS"}
    assert answer.json()["error"].endswith(f"It takes {allowed}.")


def test_given_the_root_when_a_browser_goes_there_then_it_is_led_to_the_page(beginner: Beginner) -> None:
    answer = beginner.client.get("/", follow_redirects=True)

    assert (answer.status_code, answer.url.path) == (200, "/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
