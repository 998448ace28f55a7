"""A command line for each operation, from its description: what to paste, with capitals for what to replace."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

Object = Mapping[str, Any]

_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_CAPITAL: Final = re.compile(r"([A-Z])")
_SENT: Final[Mapping[str, str]] = {
    "operatorToken": "Authorization: Bearer OPERATOR_TOKEN",
    "adminToken": "Authorization: Bearer ADMIN_TOKEN",
    "apiKey": "Authorization: Bearer API_KEY",
    "operatorName": "X-Operator: YOUR_NAME",
    "bankSignature": "Bank-Signature: HEX_HMAC_SHA256_OF_THE_BODY",
}


def command_of(server: str, path: str, method: str, operation: Object) -> str:
    """Of the first way to prove the caller; query parameters only where they are required."""
    return " \\\n  ".join(_parts(server, path, method, operation))


def _parts(server: str, path: str, method: str, operation: Object) -> Iterator[str]:
    address = server + _PARAMETER.sub(lambda match: _placeholder(match[1]), path)
    required = [each["name"] for each in operation["parameters"] if each["in"] == "query" and each.get("required")]
    if required:
        address += "?" + "&".join(f"{name}={_placeholder(name)}" for name in required)
    media, content = next(iter(operation.get("requestBody", {}).get("content", {}).items()), (None, None))
    usual = "GET" if content is None else "POST"
    yield f"curl -sS {shlex.quote(address)}" if method == usual else f"curl -sS -X {method} {shlex.quote(address)}"
    for scheme in operation["security"][0] if operation["security"] else ():
        yield f"-H {shlex.quote(_SENT.get(scheme, scheme))}"
    if content is not None:
        yield f"-H 'Content-Type: {media}'"
        yield f"--data-binary {shlex.quote(_example_in(content))}"


def _example_in(content: Object) -> str:
    named: Any = next((each["value"] for each in content.get("examples", {}).values()), {})
    example = content.get("example", named)
    if isinstance(example, str):
        return example
    return msgspec.json.format(msgspec.json.encode(example), indent=2).decode()


def _placeholder(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).upper()
