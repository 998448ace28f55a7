"""The public OpenAPI 3.1 document, built from the same Operations that the gate enforces.

Request schemas are closed, answers are open, every error is the envelope. Routes of the platform's administration are
not public and left out.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Litestar
from litestar.routes import HTTPRoute

from api.http.auth import OPERATOR_NAME
from api.http.envelope import INTERFACE_VERSION, ErrorEnvelope
from api.http.fields import MOMENT
from api.http.gate import TENANT
from api.http.idempotency import REPLAYED
from api.http.operation import JSON, OPT, PROVEN, Access, Operation
from api.http.request_schema import RequestSchema

TITLE: Final = "Clearhold: money-movement risk scoring"

_REFS: Final = "#/components/schemas/{name}"
_PATH_PARAMETER: Final = re.compile(r"\{([A-Za-z_]+)\}")
_UNDERSCORED: Final = re.compile(r"_([a-z])")
_TEXT_PARAMETER: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_SECURITY: Final[Mapping[Access, list[dict[str, list[str]]]]] = {
    Access.PUBLIC: [],
    Access.SIGNATURE: [{"bankSignature": []}],
    Access.BEARER: [{"operatorToken": [], "operatorName": []}, {"apiKey": []}],
    Access.OPERATOR: [{"operatorToken": [], "operatorName": []}],
    Access.OWNER: [{"operatorToken": []}],
    Access.ADMIN: [],
}
_SECURITY_SCHEMES: Final = {
    "operatorToken": {"type": "http", "scheme": "bearer", "description": "The tenant's operator token."},
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key of the tenant. A test key may touch simulated programs only, a live key "
        "bank-sourced ones. It needs no X-Operator; with one, that person is on the record.",
    },
    "operatorName": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Operator",
        "description": "Who is acting. Asserted by the bank, not authenticated here, and written on every decision.",
    },
    "bankSignature": {
        "type": "apiKey",
        "in": "header",
        "name": "Bank-Signature",
        "description": "HMAC-SHA256 of the raw body with the program's ingest secret, in hex.",
    },
}
_USUAL_HEADERS: Final = {
    "X-Request-Id": {"description": "The request's id, the caller's own when it was well formed."},
    "Score-Version": {"description": f"The interface version, {INTERFACE_VERSION}."},
}
_MOMENT: Final = {
    "type": "string",
    "description": "A date-time with an offset, or a date.",
    "anyOf": [{"format": "date-time"}, {"format": "date"}],
}
"""A moment's pattern admits a 31st of February, which is refused by its value; the formats say so."""
_RETRY_AFTER: Final = {"Retry-After": {"description": "After how many seconds to try again."}}
_HEADERS_OF: Final = {
    401: {"WWW-Authenticate": {"description": "Bearer"}},
    409: {"Retry-After": {"description": "When the first request with the same Idempotency-Key is still under way."}},
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}
_RATE_HEADERS: Final = {
    "RateLimit-Policy": {"description": "The limit of this kind of request: q requests in w seconds."},
    "RateLimit": {"description": "How many of them are left (r), and the seconds until there are more (t)."},
}
_REPLAYED_HEADER: Final = {REPLAYED: {"description": "true when an Idempotency-Key's stored answer was given again."}}
_OPERATOR: Final = {
    "name": "X-Operator",
    "in": "header",
    "required": False,
    "description": "Who is acting. Required with an operator token. With an API key it may be left out, and the key "
    "itself is on the record.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": OPERATOR_NAME},
}
_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request safe to repeat. The same request under the same key is answered with the stored "
    "status and body; another one is a 409. Keys are kept for 24 hours at least, for each caller and path apart.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}
_SENTENCES: Final = {
    400: "Validation failed: transfer.amountCents must be a string of digits",
    401: "The bearer token is missing or unknown.",
    403: "This API key may not touch this program.",
    404: "Unknown program on this tenant.",
    409: "This Idempotency-Key was used for another request.",
    413: "The request body must have at most 65536 bytes.",
    415: "The request body must be application/json in UTF-8.",
    429: "Too many requests of this kind. Try again after the seconds in the header Retry-After.",
    503: "The log did not confirm this in time. Try again.",
}


def document_of(app: Litestar, *, base_url: str) -> bytes:
    """The document of the app's public routes, as JSON."""
    operations = sorted(_public(app), key=lambda each: (each[0], each[1]))
    schemas = _schemas_of([operation for _, _, operation in operations])
    paths: dict[str, dict[str, Any]] = {}
    for path, method, operation in operations:
        paths.setdefault(path, {})[method] = _described(path, method.upper(), operation, schemas)
    queries = {_name_of(operation.query, schemas) for _, _, operation in operations if operation.query is not None}
    components = {name: schema for name, schema in schemas.components.items() if name not in queries}
    described = {
        "schemas": _in_short(components),
        "securitySchemes": _SECURITY_SCHEMES,
        "headers": {name: header | {"schema": {"type": "string"}} for name, header in _USUAL_HEADERS.items()},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": INTERFACE_VERSION},
        "servers": [{"url": base_url}],
        "paths": _in_short(paths),
        "components": described,
    }
    return msgspec.json.encode(document)


def wire_path(path: str) -> str:
    """``/api/programs/{program_id}`` as the document writes it: ``/api/programs/{programId}``."""
    return _PATH_PARAMETER.sub(lambda match: "{" + _camel(match[1]) + "}", path)


class _Schemas(msgspec.Struct, frozen=True):
    """The component schemas, and of each type the schema that refers to them."""

    of_type: dict[Any, dict[str, Any]]
    components: dict[str, Any]


def _public(app: Litestar) -> Iterator[tuple[str, str, Operation]]:
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            operation: Operation | None = handler.opt.get(OPT)
            if operation is not None and operation.access is not Access.ADMIN:
                for method in handler.http_methods:
                    yield wire_path(route.path_format), method.lower(), operation


def _schemas_of(operations: list[Operation]) -> _Schemas:
    types: list[Any] = [ErrorEnvelope]
    for operation in operations:
        types += [answer for answer in operation.answers.values() if answer is not None]
        types += [shape.struct for shape in (operation.body, operation.query) if shape is not None]
    known = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(known, ref_template=_REFS)
    named_schemas = _Schemas(dict(zip(known, schemas, strict=True)), components)
    for operation in operations:
        if operation.body is not None:
            components[_name_of(operation.body, named_schemas)] |= operation.body.rules_schema
    components.update({name: _with_moments(schema) for name, schema in components.items()})
    return named_schemas


def _with_moments(schema: Any) -> Any:
    """The schema with every moment described by its formats."""
    if isinstance(schema, list):
        return [_with_moments(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("pattern") == MOMENT:
        return _MOMENT
    return {name: _with_moments(each) for name, each in schema.items()}


def _described(path: str, method: str, operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "security": _SECURITY[operation.access],
        "parameters": list(_parameters(path, method, operation, schemas)),
        "responses": {
            str(status): _response(status, answer, method, operation, schemas)
            for status, answer in sorted(operation.statuses(method).items())
        },
    }
    if operation.body is not None:
        content: dict[str, Any] = {"schema": schemas.of_type[operation.body.struct]}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": operation.body_required, "content": {JSON: content}}
    elif operation.raw_body is not None:
        body = operation.raw_body
        content = {"schema": body.schema, "examples": {name: {"value": each} for name, each in body.examples.items()}}
        described["requestBody"] = {"required": True, "content": {body.media: content}}
    return described


def _parameters(path: str, method: str, operation: Operation, schemas: _Schemas) -> Iterator[dict[str, Any]]:
    for name in _PATH_PARAMETER.findall(path):
        yield {"name": name, "in": "path", "required": True, "schema": _TEXT_PARAMETER}
    if operation.access in {Access.BEARER, Access.OPERATOR}:
        yield _OPERATOR
    if operation.is_idempotent(method):
        yield _IDEMPOTENCY_KEY
    if operation.access in PROVEN:
        yield {"name": TENANT, "in": "query", "required": False, "schema": _TEXT_PARAMETER}
    if operation.query is not None:
        query = schemas.components[_name_of(operation.query, schemas)]
        for name, schema in query["properties"].items():
            inline = {key: value for key, value in schema.items() if key != "default"}
            inline = _MOMENT if MOMENT in _patterns_of(schema) else inline
            required = name in query.get("required", ())
            yield {"name": name, "in": "query", "required": required, "schema": inline}


def _patterns_of(schema: dict[str, Any]) -> set[str]:
    return {branch["pattern"] for branch in schema.get("anyOf", [schema]) if "pattern" in branch}


def _name_of(shape: RequestSchema[Any], schemas: _Schemas) -> str:
    """The component that describes a shape. Of a query the parameters are shown, itself is not."""
    reference: str = schemas.of_type[shape.struct]["$ref"]
    return reference.rsplit("/", 1)[-1]


def _response(status: int, answer: Any, method: str, operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    headers: dict[str, Any] = {name: {"$ref": f"#/components/headers/{name}"} for name in _USUAL_HEADERS}
    further: dict[str, Any] = dict(_HEADERS_OF.get(status, {}))
    if operation.access in PROVEN and status not in {401, 403, 413}:
        further |= _RATE_HEADERS
    if operation.is_idempotent(method) and status < HTTPStatus.MULTIPLE_CHOICES:
        further |= _REPLAYED_HEADER
    if status < HTTPStatus.MULTIPLE_CHOICES:
        further |= {name: {"description": "See the interface conventions."} for name in operation.headers}
    headers |= {name: header | {"required": False, "schema": {"type": "string"}} for name, header in further.items()}
    described: dict[str, Any] = {"description": HTTPStatus(status).phrase, "headers": headers}
    if status != HTTPStatus.NOT_MODIFIED:
        described["content"] = _content(status, answer, operation, schemas)
    return described


def _content(status: int, answer: Any, operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    schema = schemas.of_type[ErrorEnvelope if answer is None else answer]
    media = operation.media if status < HTTPStatus.MULTIPLE_CHOICES else (JSON,)
    content: dict[str, Any] = {kind: {"schema": schema if _is_json(kind) else {"type": "string"}} for kind in media}
    example = _example(status, answer, operation)
    for kind, described in content.items():
        text = example if _is_json(kind) else operation.text_examples.get(kind)
        if text is not None:
            described["example"] = text
    return content


def _is_json(media_type: str) -> bool:
    return media_type == JSON or media_type.endswith("+json")


def _example(status: int, answer: Any, operation: Operation) -> Any:
    if answer is None and status in _SENTENCES:
        return {"error": _SENTENCES[status], "requestId": "8c1f2a44-9d0e-4b7d-8d2f-6f0f6f1f2a10"}
    first = min(each for each, kind in operation.answers.items() if kind is not None)
    return operation.answer_example if status == first else None


def _in_short(schema: Any) -> Any:
    """``anyOf: [{type: T}, {type: null}]`` as ``type: [T, null]``."""
    if isinstance(schema, list):
        return [_in_short(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    short = {name: _in_short(item) for name, item in schema.items()}
    match short.get("anyOf"):
        case [{"type": str(kind)} as this, {"type": "null"}]:
            del short["anyOf"]
            short |= this | {"type": [kind, "null"]}
    return short


def _camel(name: str) -> str:
    return _UNDERSCORED.sub(lambda match: match[1].upper(), name)
