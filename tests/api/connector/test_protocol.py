"""The protocol of the connector, row by row: methods, origins, messages, both eras, what malformed bodies get."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.api.connector.messages import CALL_TOOL, CAPABILITIES, LEGACY, MODERN, PROTOCOL_VERSION, SERVER_INFO
from clearhold.api.connector.tools import TOOL_OF
from clearhold.api.http.auth import MISSING_BEARER
from clearhold.api.http.head import OTHER_HOST, OTHER_ORIGIN, Origins
from clearhold.features.core.errors import ForbiddenError
from tests.support.callers import running_app
from tests.support.connector import PATH, Assistant, message, modern
from tests.support.running_app import BASE_URL, RunningApp, assert_refused

NOT_A_REQUEST: Final[dict[str, object]] = {
    "a batch": [message("ping")],
    "an empty batch": [],
    "a text": "ping",
    "null": None,
    "no version": {"id": 1, "method": "ping"},
    "another version": message("ping", jsonrpc="1.0"),
    "an id that is null": message("ping", id=None),
    "an id that is true": message("ping", id=True),
    "a fraction for an id": message("ping", id=1.5),
    "an object for an id": message("ping", id={}),
    "a number for a method": message("ping") | {"method": 1},
    "neither method nor result": {"jsonrpc": "2.0", "id": 1},
    "a list of params": message("ping") | {"params": [1]},
    "a response without an id": {"jsonrpc": "2.0", "result": {}},
    "a number without end": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":' + b"9" * 5_000 + b"}}",
}
NOT_JSON: Final = {
    "nothing": b"",
    "half of it": b'{"jsonrpc":"2.0"',
    "bad utf-8": b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    "NaN": b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
    "lists in lists": b"[" * 100_000,
}
ASSISTANTS: Final = "vscode-file://vscode-app"


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    def build(api: RunningApp) -> Assistant:
        return Assistant(api, api.operator(api.create_tenant()))

    with running_app(tmp_path_factory.mktemp("protocol"), build) as built:
        yield built


def error_of(answer: Any, status: int, *, request_id: object = 7) -> int:
    """The code of an error of JSON-RPC."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert (body["jsonrpc"], body["id"], set(body)) == ("2.0", request_id, {"jsonrpc", "id", "error"})
    code: int = body["error"]["code"]
    return code


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_given_another_method_than_post_when_called_then_405_with_allow(assistant: Assistant, method: str) -> None:
    answer = assistant.api.client.request(method, PATH, headers=assistant.headers)

    assert_refused(answer, 405)
    assert "POST" in answer.headers["allow"]


def test_given_no_bearer_when_called_then_401_in_the_envelope_and_no_metadata_to_go_to(assistant: Assistant) -> None:
    answer = assistant.api.client.post(PATH, json=message("initialize"))

    assert_refused(answer, 401, MISSING_BEARER)
    assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/.well-known/oauth-protected-resource", f"/.well-known/oauth-protected-resource{PATH}"):
        assert_refused(assistant.api.client.get(path), 404)


def test_given_a_page_of_another_site_when_called_then_403_before_all_else(assistant: Assistant) -> None:
    foreign = {"Origin": "https://evil.example"}

    assert_refused(assistant.send(message("ping"), foreign), 403, OTHER_ORIGIN)
    assert_refused(assistant.api.client.post(PATH, json=message("ping"), headers=foreign), 403, OTHER_ORIGIN)
    assert assistant.send(message("ping"), {"Origin": BASE_URL}).status_code == 200
    assert assistant.send(message("ping"), {"Origin": "null"}).status_code == 403


@pytest.mark.parametrize(
    ("server", "origin", "taken"),
    [
        ("127.0.0.1", b"http://localhost:6274", True),
        ("::1", b"http://[::1]:6274", True),
        ("127.0.0.1", b"https://risk.bank.example", True),
        ("10.0.0.5", b"http://localhost:6274", False),
        ("127.0.0.1", b"http://localhost.evil.example", False),
        ("127.0.0.1", b"http://localhost@evil.example", False),
        ("127.0.0.1", b"null", False),
    ],
)
def test_given_an_origin_when_it_is_local_then_it_is_taken_where_the_request_is_local_too(
    server: str, origin: bytes, *, taken: bool
) -> None:
    origins = Origins("https://risk.bank.example")
    scope = {"server": (server, 8080), "headers": [(b"host", b"localhost"), (b"origin", origin)]}

    if taken:
        origins.check(scope)
    else:
        with pytest.raises(ForbiddenError, match=OTHER_ORIGIN):
            origins.check(scope)


@pytest.mark.parametrize(
    ("server", "host", "taken"),
    [
        ("127.0.0.1", b"localhost:8080", True),
        ("127.0.0.1", b"127.0.0.1", True),
        ("::1", b"[::1]:8080", True),
        ("127.0.0.1", b"risk.bank.example", True),
        ("10.0.0.5", b"anything.example", True),
        ("127.0.0.1", b"rebound.evil.example:8080", False),
        ("::1", b"[::1", False),
        ("::ffff:127.0.0.1", b"rebound.evil.example", False),
        ("127.0.0.1", b"", False),
    ],
)
def test_given_a_host_on_loopback_when_it_is_not_ours_then_it_is_refused(
    server: str, host: bytes, *, taken: bool
) -> None:
    origins = Origins("https://risk.bank.example", listed=[ASSISTANTS])
    scope = {"server": (server, 8080), "headers": [(b"host", host), (b"origin", ASSISTANTS.encode())]}

    if taken:
        origins.check(scope)
    else:
        with pytest.raises(ForbiddenError, match=OTHER_HOST):
            origins.check(scope)


@pytest.mark.parametrize("case", NOT_JSON)
def test_given_a_body_that_is_not_json_when_sent_then_a_parse_error(assistant: Assistant, case: str) -> None:
    assert error_of(assistant.send(NOT_JSON[case]), 400, request_id=None) == -32700


@pytest.mark.parametrize("case", NOT_A_REQUEST)
def test_given_json_that_is_no_message_when_sent_then_an_invalid_request(assistant: Assistant, case: str) -> None:
    assert error_of(assistant.send(NOT_A_REQUEST[case]), 400, request_id=None) == -32600


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"metrics","name":"decide_alert"}}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"a":1,"a":2}}}',
        b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{},"params":{"deep":' + b"[" * 500 + b"]" * 500 + b"}}",
    ],
)
def test_given_a_name_twice_when_sent_then_it_is_no_message(assistant: Assistant, body: bytes) -> None:
    answer = assistant.send(body)

    assert error_of(answer, 400, request_id=None) == -32600
    assert "name a property once" in answer.json()["error"]["message"]


def test_given_a_body_over_its_limit_when_sent_then_413(assistant: Assistant) -> None:
    assert_refused(assistant.send(b" " * (256 * 1024 + 1)), 413)


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": CALL_TOOL, "params": {"name": "metrics"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    ],
)
def test_given_a_notification_or_a_response_when_sent_then_202_and_nothing(assistant: Assistant, body: object) -> None:
    answer = assistant.send(body)

    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("version", [*LEGACY, "1999-01-01", None])
def test_given_a_handshake_when_the_version_is_known_then_it_is_agreed_and_else_ours(
    assistant: Assistant, version: str | None
) -> None:
    answer = assistant.send(
        message("initialize", {"protocolVersion": version}), {"Mcp-Session-Id": "s", "Last-Event-ID": "1"}
    )

    result = answer.json()["result"]
    assert set(result) == {"protocolVersion", "capabilities", "serverInfo", "instructions"}
    assert result["protocolVersion"] == (version if version in LEGACY else "2025-11-25")
    assert (result["capabilities"], result["serverInfo"]["name"]) == ({"tools": {}}, "clearhold")
    assert "mcp-session-id" not in answer.headers
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("headers", [{}, {"MCP-Protocol-Version": "2025-06-18"}], ids=["no header", "a header"])
def test_given_the_legacy_era_when_called_then_errors_come_with_200(
    assistant: Assistant, headers: dict[str, str]
) -> None:
    assert assistant.send(message("ping", id="a"), headers).json() == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert len(assistant.send(message("tools/list"), headers).json()["result"]["tools"]) == 8
    for none in ({}, {"arguments": None}):
        call = message(CALL_TOOL, {"name": "metrics"} | none)
        assert assistant.send(call, headers).json()["result"]["isError"] is False
    for method in ("server/discover", "resources/list", "prompts/list", "subscriptions/listen", "ping "):
        assert error_of(assistant.send(message(method), headers), 200) == -32601
    for params in ({"name": "no_such_tool"}, {"name": 1}, {}):
        assert error_of(assistant.send(message(CALL_TOOL, params), headers), 200) == -32602


def test_given_the_modern_era_when_called_then_each_result_says_that_it_is_complete(assistant: Assistant) -> None:
    results = {
        method: assistant.send(*modern(method, params)).json()["result"]
        for method, params in {
            "server/discover": {},
            "tools/list": {},
            CALL_TOOL: {"name": "metrics", "arguments": {}},
        }.items()
    }

    for result in results.values():
        assert result["resultType"] == "complete"
        assert result["_meta"][SERVER_INFO]["name"] == "clearhold"
    for method in ("server/discover", "tools/list"):
        assert (results[method]["ttlMs"], results[method]["cacheScope"]) == (300_000, "private")
    assert results["server/discover"]["supportedVersions"] == [MODERN, *LEGACY]
    assert results["server/discover"]["capabilities"] == {"tools": {}}
    assert results[CALL_TOOL]["isError"] is False


def test_given_the_modern_ladder_when_a_rung_fails_then_it_is_the_answer(assistant: Assistant) -> None:
    body, headers = modern(CALL_TOOL, {"name": "metrics"})

    def changed(sent: dict[str, Any] | None = None, *, meta: dict[str, object] | None = None, without: str = "") -> Any:
        params = body["params"] if meta is None else {"name": "metrics", "_meta": meta}
        kept = {name: value for name, value in headers.items() if name != without}
        return assistant.send(body | {"params": params}, {**kept, **(sent or {})})

    assert error_of(changed(meta={PROTOCOL_VERSION: MODERN}), 400) == -32602
    assert error_of(changed(meta={CAPABILITIES: {}}), 400) == -32602
    assert error_of(changed(meta={PROTOCOL_VERSION: 1, CAPABILITIES: {}}), 400) == -32602
    assert error_of(changed(meta={PROTOCOL_VERSION: MODERN, CAPABILITIES: []}), 400) == -32602
    assert error_of(changed(meta={}), 400) == -32602  # Modern by its header.
    wrong = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "TOOLS/CALL", "Mcp-Name": "get_alert"}
    for name, value in wrong.items():
        assert error_of(changed({name: value}), 400) == -32020
        assert error_of(changed(without=name), 400) == -32020
    for encoded in ("!!", "Zm9v\u00e9", "\u2603"):
        assert error_of(changed({"Mcp-Name": f"=?base64?{encoded}?=".encode()}), 400) == -32020
    assert changed({"Mcp-Name": "=?base64?bWV0cmljcw==?="}).json()["result"]["isError"] is False
    assert changed({"mcp-method": CALL_TOOL}, without="Mcp-Method").json()["result"]["isError"] is False
    future = assistant.send(*modern("tools/list", version="2027-01-01"))
    assert error_of(future, 400) == -32022
    assert future.json()["error"]["data"] == {"supported": [MODERN, *LEGACY], "requested": "2027-01-01"}
    for method in ("initialize", "ping", "subscriptions/listen", "resources/list"):
        assert error_of(assistant.send(*modern(method)), 404) == -32601
    assert error_of(assistant.send(*modern(CALL_TOOL, {"name": "no_such_tool"})), 400) == -32602


def test_given_a_version_in_the_header_that_is_not_legacy_when_called_then_only_a_handshake_is_legacy(
    assistant: Assistant,
) -> None:
    newer = {"MCP-Protocol-Version": "2027-01-01"}

    assert error_of(assistant.send(message("tools/list"), newer), 400) == -32602
    assert assistant.send(message("initialize"), newer).json()["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("encoded", ["\u00e9", "\u2603", "Zm9v\u00e9", "!!", "="])
def test_given_a_version_whose_base64_cannot_be_read_when_called_then_it_is_as_none(
    assistant: Assistant, encoded: str
) -> None:
    answer = assistant.send(message("ping"), {"MCP-Protocol-Version": f"=?base64?{encoded}?=".encode()})

    assert (answer.status_code, answer.json()["result"]) == (200, {})


def test_given_the_tools_when_listed_then_each_is_one_that_every_client_takes(assistant: Assistant) -> None:
    tools = assistant.result("tools/list")["tools"]

    assert [tool["name"] for tool in tools] == [
        "list_queue",
        "get_alert",
        "decide_alert",
        "skoor_preflight",
        "program_report",
        "actor_report",
        "weekly_report",
        "metrics",
    ]
    for tool in tools:
        hints = tool["annotations"]
        writes = tool["name"] in {"decide_alert", "skoor_preflight"}
        assert (hints["readOnlyHint"], hints["openWorldHint"]) == (not writes, False)
        assert hints["destructiveHint"] is (tool["name"] == "decide_alert")
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "additionalProperties" not in tool["outputSchema"]
        text = msgspec.json.encode(tool["inputSchema"]).decode()
        assert not [word for word in ("anyOf", "oneOf", "$ref", "x-mcp-header", "null") if f'"{word}"' in text]


def test_given_the_input_schemas_when_read_then_they_are_those_of_the_interface(assistant: Assistant) -> None:
    def plain(schema: dict[str, Any]) -> dict[str, Any]:
        """Without the words."""
        shown = {name: each for name, each in schema.items() if name != "description"}
        if "properties" in shown:
            shown["properties"] = {name: plain(each) for name, each in shown["properties"].items()}
        return shown

    schemas = {tool["name"]: plain(tool["inputSchema"]) for tool in assistant.result("tools/list")["tools"]}
    uuid = {"type": "string", "format": "uuid"}

    assert {name: schema.get("required", []) for name, schema in schemas.items()} == {
        "list_queue": [],
        "get_alert": ["alertId"],
        "decide_alert": ["alertId", "decision", "narrative"],
        "skoor_preflight": ["transfer"],
        "program_report": ["programId"],
        "actor_report": ["type", "id"],
        "weekly_report": ["programId"],
        "metrics": [],
    }
    queue = schemas["list_queue"]["properties"]
    assert set(queue) == {"status", "route", "programId", "overdueOnly", "limit", "cursor"}
    assert queue["status"]["items"]["enum"] == ["escalated", "held", "open"]
    assert queue["limit"] == {"type": "integer", "minimum": 1, "maximum": 100}
    assert queue["cursor"] == {"type": "string", "maxLength": 512}
    assert queue["overdueOnly"] == {"type": "boolean"}
    assert queue["programId"] == schemas["get_alert"]["properties"]["alertId"] == uuid
    decide = schemas["decide_alert"]["properties"]
    assert set(decide) == {"alertId", "decision", "narrative", "idempotencyKey"}
    assert set(decide["decision"]["enum"]) == {"close", "hold", "escalate", "release", "no_action"}
    assert (decide["narrative"]["minLength"], decide["narrative"]["maxLength"]) == (1, 8_000)
    assert (decide["idempotencyKey"]["minLength"], decide["idempotencyKey"]["maxLength"]) == (1, 255)
    preflight = schemas["skoor_preflight"]["properties"]
    assert set(preflight) == {"programId", "programSlug", "idempotencyKey", "transfer"}
    transfer = preflight["transfer"]
    assert transfer["required"] == ["rail", "direction", "amountCents"]
    assert transfer["properties"]["amountCents"] == {"type": "string", "pattern": "^(0|[1-9][0-9]{0,17})$"}
    assert set(transfer["properties"]) == {
        *("rail", "direction", "type", "amountCents", "currency", "entityId", "counterpartyId"),
        *("counterparty", "effectiveOn", "description"),
        *("merchantCategory", "merchantState", "cardPresent", "entryMode"),
    }
    assert transfer["properties"]["counterparty"]["required"] == ["name"]
    assert set(schemas["actor_report"]["properties"]["type"]["enum"]) == {"entity", "counterparty", "agent"}
    assert schemas["weekly_report"]["properties"]["week"]["pattern"] == "^[0-9]{4}-W[0-9]{2}$"
    days = schemas["metrics"]["properties"]["days"]
    assert (days["type"], days["minimum"], days["maximum"]) == ("integer", 1, 365)


JSON_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES: Final = st.sampled_from([*TOOL_OF, "", "initialize", "metrics "])
METHODS: Final = st.sampled_from(["initialize", "ping", "tools/list", CALL_TOOL, "server/discover", "x"])
PARAMS: Final = st.fixed_dictionaries(
    {}, optional={"name": NAMES | JSON_VALUES, "arguments": JSON_VALUES, "_meta": JSON_VALUES}
)
MESSAGES: Final = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0"]) | JSON_VALUES,
        "id": st.integers() | st.text() | JSON_VALUES,
        "method": METHODS | JSON_VALUES,
        "params": JSON_VALUES | PARAMS,
    },
)


@given(
    body=st.binary(max_size=64) | st.builds(msgspec.json.encode, MESSAGES | JSON_VALUES),
    version=st.sampled_from(["", MODERN, LEGACY[0], "x", "=?base64?x?=", "=?base64?\u00e9?="]),
    cut=st.integers(0, 400),
)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_given_any_body_when_sent_then_it_is_answered_and_never_with_a_server_error(
    assistant: Assistant, body: bytes, version: str, cut: int
) -> None:
    answer = assistant.send(body[:cut], {"MCP-Protocol-Version": version.encode()} if version else {})

    assert answer.status_code in {200, 202, 400, 404}, answer.text
    assert b"-32603" not in answer.content
    if answer.content:
        assert answer.json()["jsonrpc"] == "2.0"
