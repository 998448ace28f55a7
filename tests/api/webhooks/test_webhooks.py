"""Endpoints and deliveries over the interface: registered, changed, rotated; what each event says; who sees what."""

import base64
import json
from typing import Any, Final

import msgspec
import pytest

from clearhold.api.webhooks.schemas import WebhookPayload
from clearhold.features.webhooks import payloads
from clearhold.features.webhooks.payloads import MAX_BODY_BYTES, SUBSCRIBABLE, EventType
from clearhold.store.control.webhook_registry import MOST_ENDPOINTS
from tests.support.alerting import ALERTING, NARRATIVE, an_alert, decide, deliver, outgoing
from tests.support.running_app import RunningApp, assert_refused, content_of_201

URL: Final = "https://hooks.bank.example/clearhold"
SCHEMAS: Final = {
    EventType.ALERT_OPENED: payloads.AlertOpened,
    EventType.DISPOSITION_SIGNED: payloads.DispositionSigned,
    EventType.ACTION_CREATED: payloads.ActionCreated,
    EventType.ACTION_APPROVED: payloads.ActionApproved,
    EventType.PREFLIGHT_SCORED: payloads.PreflightScored,
    EventType.TRANSFER_SCORED: payloads.TransferScored,
    EventType.LABEL_RECORDED: payloads.LabelRecorded,
    EventType.KRI_SNAPSHOT: payloads.KriSnapshotTaken,
    EventType.PING: payloads.Ping,
}


class Hooks:
    """The calls of one tenant's operator, or of one of its keys."""

    def __init__(self, api: RunningApp, tenant: dict[str, Any], key: dict[str, str] | None = None) -> None:
        self.api, self.tenant = api, tenant
        self.headers = api.operator(tenant) if key is None else key

    def send(self, method: str, path: str = "", body: object = None, **headers: str) -> Any:
        return self.api.client.request(method, f"/api/webhooks{path}", json=body, headers=self.headers | headers)

    def register(self, **over: Any) -> dict[str, Any]:
        return content_of_201(self.send("POST", body={"url": URL} | over))

    def deliveries(self, endpoint: dict[str, Any], *, limit: int = 100) -> list[dict[str, Any]]:
        answer = self.send("GET", f"/{endpoint['id']}/deliveries?limit={limit}")
        assert answer.status_code == 200, answer.text
        listed: list[dict[str, Any]] = answer.json()
        return listed


@pytest.fixture
def hooks(api: RunningApp, tenant: dict[str, Any]) -> Hooks:
    return Hooks(api, tenant)


def test_given_a_registration_then_its_secret_is_in_that_answer_alone_and_nowhere_at_rest(
    api: RunningApp, hooks: Hooks
) -> None:
    registered = hooks.register(events=["alert.opened", "alert.opened"], description="Cases")

    secret = registered["secret"]
    assert set(registered) == {"id", "url", "events", "secret"}
    assert registered["events"] == ["alert.opened"]
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    (listed,) = hooks.send("GET").json()
    assert listed == {
        "id": registered["id"],
        "programId": None,
        "url": URL,
        "events": ["alert.opened"],
        "enabled": True,
        "description": "Cases",
        "createdBy": "ann",
        "createdAt": "2026-03-02T15:00:00.000Z",
    }
    assert secret not in hooks.send("DELETE", f"/{registered['id']}").text
    stored = [body for *_, body in api.reader.control()]
    assert not [body for body in stored if secret.encode() in body]
    rebuilt = api.reloaded_registry().tenancy.webhooks.of_id(registered["id"])
    assert rebuilt is not None
    assert (rebuilt.secrets[0].value, rebuilt.enabled) == (secret, False)


def test_given_an_idempotency_key_when_repeated_then_one_endpoint_has_one_secret_sealed_at_rest(
    api: RunningApp, hooks: Hooks
) -> None:
    first, again = (hooks.send("POST", body={"url": URL}, **{"Idempotency-Key": "k1"}) for _ in range(2))

    assert first.json()["secret"].startswith("whsec_")
    assert (again.status_code, again.json()) == (201, first.json() | {"secret": None})
    assert again.headers["idempotent-replayed"] == "true"
    assert len(hooks.send("GET").json()) == 1
    secret = first.json()["secret"].encode()
    assert not [key for key in api.sync_redis.keys("idem:*") if secret in str(api.sync_redis.get(key)).encode()]
    for key in api.sync_redis.keys("idem:*"):  # the answer is lost, as after a crash
        api.sync_redis.delete(key)
    assert hooks.send("POST", body={"url": URL}, **{"Idempotency-Key": "k1"}).json() == again.json()
    assert_refused(hooks.send("POST", body={"url": f"{URL}/2"}, **{"Idempotency-Key": "k1"}), 409)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"url": "http://hooks.bank.example/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://ann:secret@hooks.bank.example/"}, "url"),
        ({"url": "https://hooks.bank.example:22/"}, "url"),
        ({"url": "https://hooks.bank.example/#x"}, "url"),
        ({"url": f"https://hooks.bank.example/{'a' * 2_048}"}, "url"),
        ({}, "url"),
        ({"url": URL, "events": ["ping"]}, "events[0]"),
        ({"url": URL, "events": ["alert.closed"]}, "events[0]"),
        ({"url": URL, "programId": "payroll"}, "programId"),
        ({"url": URL, "secret": "whsec_mine"}, "secret"),
    ],
)
def test_given_a_registration_that_breaks_a_rule_then_the_field_is_named_and_nothing_is_kept(
    hooks: Hooks, body: dict[str, Any], path: str
) -> None:
    answer = hooks.send("POST", body=body)

    assert_refused(answer, 400, path)
    assert [field["path"] for field in answer.json()["fields"]] == [path]
    assert hooks.send("GET").json() == []


def test_given_an_endpoint_when_changed_and_rotated_then_what_was_left_out_stays(hooks: Hooks) -> None:
    registered = hooks.register(description="Cases", events=["kri.snapshot"])
    path = f"/{registered['id']}"

    changed = hooks.send("PATCH", path, {"url": f"{URL}/2"}).json()
    assert (changed["url"], changed["description"], changed["events"]) == (f"{URL}/2", "Cases", ["kri.snapshot"])
    assert hooks.send("PATCH", path, {"description": None, "events": []}).json()["description"] is None
    assert_refused(hooks.send("PATCH", path, {"url": "ftp://x/"}), 400, "url")
    assert hooks.send("DELETE", path).json()["enabled"] is False
    assert hooks.send("PATCH", path, {"enabled": True}).json()["enabled"] is True
    rotated = hooks.send("POST", f"{path}/rotate", {"overlapHours": 1}, **{"Idempotency-Key": "k1"})
    assert rotated.status_code == 201
    repeated = hooks.send("POST", f"{path}/rotate", {"overlapHours": 1}, **{"Idempotency-Key": "k1"})
    assert repeated.json() == {"id": registered["id"], "secret": None}
    endpoint = hooks.api.registry.tenancy.webhooks.of_id(registered["id"])
    assert endpoint is not None
    now = hooks.api.clock.now()
    assert endpoint.secrets_at(now) == (rotated.json()["secret"], registered["secret"])
    assert endpoint.secrets_at(now + 3_600_000_000) == (rotated.json()["secret"],)
    assert_refused(hooks.send("POST", f"{path}/rotate", {"overlapHours": 73}), 400, "overlapHours")


def test_given_as_many_endpoints_as_there_may_be_then_another_is_refused_until_one_is_disabled(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_ENDPOINTS == 100
    monkeypatch.setattr("clearhold.store.control.webhook_registry.MOST_ENDPOINTS", 2)
    first = hooks.register()
    hooks.register()

    assert_refused(hooks.send("POST", body={"url": URL}), 409, "at most")
    hooks.send("DELETE", f"/{first['id']}")
    hooks.register()
    assert_refused(hooks.send("PATCH", f"/{first['id']}", {"enabled": True}), 409)


def events_of(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
    """At least one of each event."""
    headers = api.operator(tenant)
    alert = an_alert(api, tenant, program)
    assert decide(api, headers, alert["id"]).status_code == 201
    label = {"transferId": "acht_1", "label": "bad", "reason": "Ann said so.", "programId": program["id"]}
    assert api.client.post("/api/labels", json=label, headers=headers).status_code == 201
    action = {"type": "freeze_account", "targetType": "account", "targetId": "bacc_1", "programId": program["id"]}
    requested = api.client.post("/api/actions", json=action, headers=headers).json()
    approval = api.client.post(f"/api/actions/{requested['id']}/approve", headers=api.operator(tenant, "bob"))
    assert approval.status_code == 200, approval.text
    transfer = {
        "rail": "wire",
        "direction": "outgoing",
        "amountCents": "985000",
        "counterparty": {"name": "Jane Q. Public", "accountLast4": "4321", "routingNumber": "021000021"},
    }
    body = {"programId": program["id"], "transfer": transfer}
    assert api.client.post("/api/preflight", json=body, headers=headers).status_code == 201
    assert api.client.post(f"/api/kri/snapshot/{program['id']}", headers=headers).status_code == 200
    api.catch_up()


@pytest.mark.parametrize("source", ["bank", "simulated"])
def test_given_what_happens_in_a_program_then_each_event_is_delivered_once_by_its_schema(
    api: RunningApp, tenant: dict[str, Any], hooks: Hooks, source: str
) -> None:
    program = api.create_program(tenant, slug="one", source=source)
    everything, of_program = hooks.register(), hooks.register(programId=program["id"], events=["label.recorded"])
    elsewhere = hooks.register(programId=api.create_program(tenant, slug="two")["id"])
    disabled = hooks.register()
    hooks.send("DELETE", f"/{disabled['id']}")

    events_of(api, tenant, program)

    delivered = hooks.deliveries(everything)
    by_type: dict[str, list[dict[str, Any]]] = {}
    for each in delivered:
        by_type.setdefault(each["event"], []).append(each)
        payload = each["payload"]
        data = msgspec.convert(payload["data"], SCHEMAS[EventType(each["event"])], strict=True)
        assert json.loads(msgspec.json.encode(data)) == payload["data"]
        assert (payload["tenant"], payload["program"]) == ("first-bank", program["id"])
        assert (payload["id"], payload["type"]) == (each["eventId"], each["event"])
        assert (each["status"], each["attempts"], each["lastError"]) == ("pending", 0, None)
        assert payload["data"].get("simulated", False) is each.get("simulated", False) is (source == "simulated")
        for private in (NARRATIVE, "Ann said so", "ann", "Jane", "4321", "021000021"):
            assert private not in json.dumps(payload["data"])
    assert set(by_type) == set(SUBSCRIBABLE)
    once = set(SUBSCRIBABLE) - {"alert.opened"}
    assert {event: len(by_type[event]) for event in once} == dict.fromkeys(once, 1)
    alerts = api.client.get("/api/alerts", params={"programId": program["id"]}, headers=hooks.headers).json()["data"]
    opened = [each["payload"]["data"]["alertId"] for each in by_type["alert.opened"]]
    assert sorted(opened) == sorted(alert["id"] for alert in alerts)
    assert {each["event"] for each in hooks.deliveries(of_program)} == {"label.recorded"}
    assert hooks.deliveries(of_program)[0]["eventId"] in {each["eventId"] for each in by_type["label.recorded"]}
    assert len({each["id"] for each in delivered}) == len(delivered)
    assert hooks.deliveries(elsewhere) == hooks.deliveries(disabled) == []
    deliver(api, program, outgoing("acht_1", **ALERTING))  # once more: nothing new
    assert len(hooks.deliveries(everything)) == len(delivered)
    assert len(hooks.deliveries(everything, limit=2)) == 2


def test_given_no_endpoint_when_things_happen_then_nothing_is_written_for_webhooks(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    events_of(api, tenant, program)

    assert api.database.execute("SELECT count(*) FROM webhook_deliveries").fetchall() == [(0,)]


def test_given_another_tenant_or_a_narrow_key_then_it_sees_and_changes_nothing_of_an_endpoint(
    api: RunningApp, tenant: dict[str, Any], hooks: Hooks
) -> None:
    program, other = api.create_program(tenant), api.create_program(tenant, slug="other")
    of_tenant, of_program = hooks.register(), hooks.register(programId=program["id"])
    key = api.key(tenant, programId=program["id"], scopes=["webhooks"])
    by_key, stranger = Hooks(api, tenant, key), Hooks(api, api.create_tenant("second-bank"))

    assert [each["id"] for each in by_key.send("GET").json()] == [of_program["id"]]
    assert_refused(by_key.send("POST", body={"url": URL}), 403, "operator token")
    assert_refused(by_key.send("POST", body={"url": URL, "programId": other["id"]}), 403)
    assert by_key.register(programId=program["id"])["url"] == URL
    assert_refused(by_key.send("GET", f"/{of_tenant['id']}/deliveries"), 403)
    assert stranger.send("GET").json() == []
    assert_refused(stranger.send("POST", body={"url": URL, "programId": program["id"]}), 404)
    ping = hooks.send("POST", f"/{of_program['id']}/test").json()
    again = hooks.send("POST", f"/{of_tenant['id']}/deliveries/{ping['id']}/redeliver")
    assert_refused(again, 404)  # another endpoint's
    for path in ("/deliveries", f"/deliveries/{ping['id']}/redeliver", "/test", "/rotate", ""):
        method = "GET" if path == "/deliveries" else "POST" if path else "DELETE"
        assert_refused(stranger.send(method, f"/{of_program['id']}{path}"), 404)


def test_given_a_test_when_sent_again_under_its_key_then_there_is_one_ping_and_it_can_be_redelivered(
    hooks: Hooks,
) -> None:
    endpoint = hooks.register(events=["alert.opened"])
    pings = [hooks.send("POST", f"/{endpoint['id']}/test", **{"Idempotency-Key": "k1"}).json() for _ in range(2)]

    assert pings[0] == pings[1]
    assert (pings[0]["event"], pings[0]["status"]) == ("ping", "pending")
    assert pings[0]["payload"]["data"] == {"endpointId": endpoint["id"]}
    hooks.api.clock.advance(60_000_000)
    again = hooks.send("POST", f"/{endpoint['id']}/deliveries/{pings[0]['id']}/redeliver").json()
    assert (again["status"], again["attempts"], again["nextAttemptAt"]) == ("pending", 0, "2026-03-02T15:01:00.000Z")
    assert hooks.deliveries(endpoint) == [again]


def test_given_more_deliveries_than_a_page_then_each_is_listed_once_behind_the_last_of_the_page_before(
    hooks: Hooks,
) -> None:
    endpoint, other = hooks.register(), hooks.register()
    pings = []
    for _ in range(5):
        hooks.api.clock.advance(1)
        pings.append(hooks.send("POST", f"/{endpoint['id']}/test").json()["id"])
    listed: list[str] = []
    path = f"/{endpoint['id']}/deliveries?limit=2"
    for _ in range(4):
        before = f"&before={listed[-1].upper()}" if listed else ""
        listed += [each["id"] for each in hooks.send("GET", path + before).json()]

    assert listed == pings[::-1]
    assert_refused(hooks.send("GET", f"/{other['id']}/deliveries?before={pings[0]}"), 404, "delivery of this endpoint")


def test_given_the_catalogue_then_it_has_an_example_of_each_event_by_the_schema_that_builds_it(hooks: Hooks) -> None:
    catalogue = hooks.send("GET", "/events").json()

    assert catalogue["events"] == [*EventType] == [*SCHEMAS]
    assert set(SUBSCRIBABLE) == set(EventType) - {EventType.PING}
    for event, example in catalogue["examples"].items():
        payload = msgspec.convert(example, WebhookPayload)
        data = msgspec.convert(payload.data, SCHEMAS[EventType(event)], strict=True)
        assert json.loads(msgspec.json.encode(data)) == payload.data
        assert payload.type == event
        assert len(msgspec.json.encode(example)) < MAX_BODY_BYTES
