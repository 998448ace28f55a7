"""The one form of errors: held against the table, and against the codes that the route's operation declares."""

import re
from collections.abc import Iterable
from typing import Any, Final

import httpx
import msgspec
from litestar import Litestar
from litestar.routes import HTTPRoute

from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.operation import ANYWHERE, OPT, Operation
from clearhold.features.core.errors import ErrorCode, FieldCode

FIRST_ERROR: Final = 400
REPORTED: Final = {"status", "components"}  # beside the error of a service that is not ready
CONNECTOR: Final = "/api/mcp"
CONNECTOR_OPERATION: Final = "callConnector"
ERRORS_OF_RPC: Final = {(CONNECTOR_OPERATION, "400"), (CONNECTOR_OPERATION, "404")}
"""A message that is none, and a method that there is not: by an error of JSON-RPC, not in the envelope."""
_PARAMETER: Final = re.compile(r"\\\{\w+\\\}")


def error_of(status: int, body: bytes) -> dict[str, Any]:
    """The envelope of an error, which has nothing but its fields, and a code of that status."""
    envelope: dict[str, Any] = msgspec.json.decode(body)
    code = ErrorCode(envelope["code"])
    expected = {"error", "code", "requestId"} | ({"fields"} if status == FIRST_ERROR else set())
    assert set(envelope) - REPORTED == expected, envelope
    assert ERRORS[code].status == status, envelope
    assert isinstance(envelope["error"], str)
    for field in envelope.get("fields", []):
        assert set(field) == {"path", "code"}
        assert field["path"]
        FieldCode(field["code"])
    return envelope


class DeclaredErrors:
    """Checks every error of an application: a hook for its client."""

    def __init__(self, app: Litestar) -> None:
        routes = [route for route in app.routes if isinstance(route, HTTPRoute)]
        by_parameters = sorted(routes, key=lambda route: route.path_format.count("{"))
        self._routes = [(_pattern(route.path_format), dict(_operations(route))) for route in by_parameters]

    def __call__(self, answer: httpx.Response) -> None:
        if answer.status_code < FIRST_ERROR or answer.request.method == "HEAD" or _is_of_rpc(answer):
            return
        envelope = error_of(answer.status_code, answer.read())
        code, method = ErrorCode(envelope["code"]), answer.request.method
        path = answer.request.url.raw_path.partition(b"?")[0].decode()
        operation = self._operation(path.rstrip("/") or path, method)
        declared = ANYWHERE if operation is None else (*ANYWHERE, *operation.codes(method))
        assert code in declared, f"{method} {answer.request.url.path} does not declare {code}"

    def _operation(self, path: str, method: str) -> Operation | None:
        operations = next((each for pattern, each in self._routes if pattern.fullmatch(path)), {})
        return operations.get(method)


def _is_of_rpc(answer: httpx.Response) -> bool:
    """Whether it is an error of JSON-RPC, which the connector alone answers."""
    return answer.request.url.path == CONNECTOR and b'"jsonrpc"' in answer.read()


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_PARAMETER.sub("[^/]*", re.escape(path)))


def _operations(route: HTTPRoute) -> Iterable[tuple[str, Operation]]:
    for handler in route.route_handlers:
        operation: Operation | None = handler.opt.get(OPT)
        if operation is not None:
            yield from ((method, operation) for method in handler.http_methods)
