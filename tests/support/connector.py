"""An assistant's side of the connector: messages of both eras, tools called, results taken apart."""

from collections.abc import Mapping
from typing import Any, Final

import httpx
import msgspec

from clearhold.api.connector.messages import CALL_TOOL, CAPABILITIES, MODERN, PROTOCOL_VERSION
from tests.support.running_app import RunningApp

PATH: Final = "/api/mcp"
Json = dict[str, Any]


def message(method: str, params: Json | None = None, **over: Any) -> Json:
    """A request of the legacy era."""
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}} | over


def modern(method: str, params: Json | None = None, *, version: str = MODERN) -> tuple[Json, dict[str, str]]:
    """A request of the modern era, with its headers."""
    named = params or {}
    meta = {PROTOCOL_VERSION: version, CAPABILITIES: {}}
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    if method == CALL_TOOL:
        headers["Mcp-Name"] = str(named.get("name"))
    return message(method, named | {"_meta": meta}), headers


class Assistant:
    """Speaks for whoever the headers prove."""

    def __init__(self, api: RunningApp, headers: dict[str, str]) -> None:
        self.api, self.headers = api, headers

    def send(self, body: object, headers: Mapping[str, str | bytes] | None = None) -> httpx.Response:
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        sent: dict[str, Any] = {**self.headers, "Content-Type": "application/json", **(headers or {})}
        return self.api.client.post(PATH, content=content, headers=sent)

    def result(self, method: str, params: Json | None = None) -> Json:
        answer = self.send(message(method, params))
        assert answer.status_code == 200, answer.text
        result: Json = answer.json()["result"]
        return result

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.result("tools/list")["tools"]]

    def call(self, tool: str, **arguments: Any) -> Json:
        """The structured result of a call that is right."""
        result = self.result(CALL_TOOL, {"name": tool, "arguments": arguments})
        assert not result["isError"], result
        (block,) = result["content"]
        structured: Json = result["structuredContent"]
        assert msgspec.json.decode(block["text"]) == structured
        return structured

    def refusal(self, tool: str, arguments: object) -> str:
        """The sentence of a call that is refused."""
        result = self.result(CALL_TOOL, {"name": tool, "arguments": arguments})
        assert (result["isError"], set(result)) == (True, {"content", "isError"})
        (block,) = result["content"]
        return str(block["text"])
