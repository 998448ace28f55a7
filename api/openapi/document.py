"""The OpenAPI 3.1 documents, built from the same Operations that the gate enforces.

Request schemas are closed, answers are open, every error is the envelope. The routes of the platform's administration
have a separate document.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar
from litestar.routes import HTTPRoute

from clearhold.api.http.envelope import INTERFACE_VERSION, ErrorEnvelope
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.fields import DAY_BOUND
from clearhold.api.http.gate import TENANT
from clearhold.api.http.operation import EVENT_STREAM, JSON, OPT, PROVEN, Access, Operation, StreamedEvent
from clearhold.api.openapi.glossary import DAY_SUFFIX, LIST_SUFFIX, PARAMETERS
from clearhold.api.openapi.schemas import (
    Schemas,
    in_words,
    schemas_of,
    simplified,
    with_components,
    with_shared_examples,
)
from clearhold.api.openapi.texts import (
    ADMIN_INFO,
    CALLED_WITH,
    CONVENTIONS,
    DEADLINE,
    EXAMPLE_FIELDS,
    EXAMPLE_SENTENCES,
    FURTHER_HEADERS,
    HEADERS_OF,
    IDEMPOTENCY_KEY,
    IF_MATCH_PARAMETER,
    LAST_EVENT_ID_PARAMETER,
    OPERATOR,
    RATE_HEADERS,
    REPLAYED_HEADER,
    SECURITY,
    SECURITY_SCHEMES,
    TEXT_PARAMETER,
    TITLE,
    USUAL_HEADERS,
    UUID_PARAMETER,
)
from clearhold.features.core.errors import ErrorCode

TAGS: Final[Mapping[str, str]] = {
    "ingest": "The bank's events, signed by the bank.",
    "preflight": "A score before the money moves.",
    "config": "Rules, policies, cards, limits and endpoints as a whole.",
    "programs": "The businesses that bank on the tenant.",
    "transfers": "Transfers with their scores and reasons.",
    "events": "Each event of the bank, with its result.",
    "live": "Each commit, as it happens.",
    "entities": "The persons and businesses of a program.",
    "accounts": "The bank accounts of programs.",
    "search": "One line of text that finds things.",
    "timeline": "What happened to one thing, in time.",
    "counterparties": "The other sides of a program's transfers.",
    "graph": "Money between parties, around one of them.",
    "agents": "On-chain agents, imported from a public scan index.",
    "alerts": "Findings that wait for a decision, and their decisions.",
    "stacks": "Waiting alerts that are one story, to look at and decide together.",
    "dispositions": "Every decision, on the record.",
    "actions": "Actions at the bank, with a second person where two must agree.",
    "labels": "Whether a transfer turned out bad or ok.",
    "clocks": "Decisions that are overdue.",
    "counts": "How much waits for people, in numbers.",
    "policies": "Versioned rules of routing, clocks and caps.",
    "rules": "Rules that the bank writes: backtested, counted in live shadow, brought into force by two people.",
    "scorecards": "What each signal of a transfer's score is worth: run in shadow, brought into force by two people.",
    "autonomy": "How much of a program's alerts the platform closes alone, and why.",
    "metrics": "How right the scores were, how much they cover, and how alerts were decided.",
    "limits": "Caps that a program may not cross.",
    "ladder": "Caps of entities and counterparties by band, and when each is screened again.",
    "keys": "API keys, for operators.",
    "proofs": "Scores of actors, signed, for readers elsewhere.",
    "webhooks": "Endpoints of the bank's own that events are delivered to, signed.",
    "record": "The tamper-evident record: verification, exports, checkpoints, proofs.",
    "kris": "Key risk indicators of a program.",
    "reports": "What happened in a period: an actor, a program, a program's week.",
    "connector": "Tools for assistants, by the Model Context Protocol.",
    "sandbox": "What the bank would send, for simulated programs: try everything without moving money.",
    "rescoring": "Scoring again with the scorer of today.",
    "operations": "Health and this document.",
}
ADMIN_TAGS: Final[Mapping[str, str]] = {
    "administration": "Tenants, programs, tokens and secrets, for the operators of the platform.",
}


Described = tuple[str, str, Operation]
"""Path, method, operation."""

_PATH_PARAMETER: Final = re.compile(r"\{([A-Za-z_]+)\}")
_UNDERSCORED: Final = re.compile(r"_([a-z])")
_REQUEST_ID: Final = "8c1f2a44-9d0e-4b7d-8d2f-6f0f6f1f2a10"
_FIRST_SENTENCE: Final = re.compile(r"(.+?)(?:\. |\.$|$)", re.DOTALL)


def document_of(app: Litestar, *, base_url: str, administration: bool = False) -> bytes:
    """The document of the app's public routes, or of the administration's, as JSON."""
    operations = sorted(_operations(app, administration=administration), key=lambda each: each[:2])
    key = tuple((path, method, id(operation)) for path, method, operation in operations)
    if key not in _contents:
        _contents[key] = _Content(operations, _content_of(operations, administration=administration))
    return msgspec.json.encode({**_contents[key].document, "servers": [{"url": base_url}]})


class _Content(NamedTuple):
    """A document but for the address of the service, and the operations, whose identities stay theirs."""

    operations: list[Described]
    document: dict[str, Any]


_contents: Final[dict[tuple[tuple[str, str, int], ...], _Content]] = {}
"""Of the applications of this process: one for the public routes, one for the administration's."""


def _content_of(operations: list[Described], *, administration: bool) -> dict[str, Any]:
    schemas = schemas_of([operation for _, _, operation in operations])
    paths: dict[str, dict[str, Any]] = {}
    for path, method, operation in operations:
        paths.setdefault(path, {})[method] = _described(path, method.upper(), operation, schemas)
    tags = {operation.tag for _, _, operation in operations}
    schemes = {name: SECURITY_SCHEMES[name] for each in operations for way in SECURITY[each[2].access] for name in way}
    with_parts, components = with_components(paths)
    shared, examples = with_shared_examples(with_parts)
    queries = {schemas.name_of(each[2].query) for each in operations if each[2].query is not None}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": INTERFACE_VERSION.replace("-0", "-").replace("-", "."),
            "description": ADMIN_INFO if administration else CONVENTIONS,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [],
        "tags": [{"name": tag, "description": words} for tag, words in {**TAGS, **ADMIN_TAGS}.items() if tag in tags],
        "paths": shared,
        "components": {
            "schemas": schemas.without(queries),  # They are shown as parameters only.
            "examples": {code: _error_example(code) for code in _codes(operations)} | examples,
            "securitySchemes": schemes,
            **components,
        },
    }


def wire_path(path: str) -> str:
    """``/api/programs/{program_id}`` in the document's form: ``/api/programs/{programId}``."""
    return _PATH_PARAMETER.sub(lambda name: _UNDERSCORED.sub(lambda letter: letter[1].upper(), name[0]), path)


def _operations(app: Litestar, *, administration: bool) -> Iterator[Described]:
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            operation: Operation | None = handler.opt.get(OPT)
            if operation is not None and (operation.access is Access.ADMIN) is administration:
                for method in handler.http_methods:
                    yield wire_path(route.path_format), method.lower(), operation


def _codes(operations: Iterable[Described]) -> Iterator[ErrorCode]:
    known = {code for _, method, operation in operations for code in operation.codes(method.upper())}
    return (code for code in ERRORS if code in known)


def _described(path: str, method: str, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    first = _FIRST_SENTENCE.match(operation.summary)
    scope = "" if operation.scope is None else f" An API key needs the scope `{operation.scope}`."
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": first[1] if first else operation.summary,
        "description": f"{operation.summary}\n\n{CALLED_WITH[operation.access]}{scope}",
        "security": SECURITY[operation.access],
        "parameters": list(_parameters(path, method, operation, schemas)),
        "responses": {
            str(status): _response(status, answer, method, operation, schemas)
            for status, answer in operation.statuses(method).items()
        },
    }
    if operation.body is not None:
        content: dict[str, Any] = {"schema": schemas.of_type[operation.body.struct]}
        if operation.example is not None:
            content["example"] = operation.example
        described["requestBody"] = {"required": operation.body_required, "content": {JSON: content}}
    elif operation.raw_body is not None:
        body = operation.raw_body
        examples = {name: {"value": each} for name, each in body.examples.items()}
        content = {"schema": schemas.of_raw_body(body.schema), "examples": examples}
        described["requestBody"] = {"required": True, "content": {body.media: content}}
    return described


def _parameters(path: str, method: str, operation: Operation, schemas: Schemas) -> Iterator[dict[str, Any]]:
    for name in _PATH_PARAMETER.findall(path):
        schema = UUID_PARAMETER if name == "programId" else TEXT_PARAMETER
        yield _parameter(name, "path", schema, PARAMETERS[name], required=True)
    if operation.access in PROVEN:
        yield OPERATOR
    if operation.is_idempotent(method):
        yield IDEMPOTENCY_KEY
    if operation.takes_deadline:
        yield DEADLINE
    if operation.needs_if_match:
        yield IF_MATCH_PARAMETER
    if operation.streams:
        yield LAST_EVENT_ID_PARAMETER
    if operation.access in PROVEN:
        yield _parameter(TENANT, "query", TEXT_PARAMETER, PARAMETERS[TENANT])
    if operation.query is not None:
        query = schemas.components[schemas.name_of(operation.query)]
        for name, schema in query["properties"].items():
            yield _query_parameter(name, schema, required=name in query.get("required", ()))


def _query_parameter(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """A parameter is left out instead of being null."""
    branches = schema.get("anyOf", [schema])
    suffix = _suffix_of(branches)
    words = PARAMETERS[f"{name}{suffix}"]
    if schema.get("default") is not None:
        words += f" Left out: {in_words(schema['default'])}."
    if suffix == LIST_SUFFIX:
        words += " Several are repeated, or separated by commas."
    inline = {key: value for key, value in branches[0].items() if key != "default"}
    return _parameter(name, "query", simplified(inline), words, required=required)


def _suffix_of(branches: list[dict[str, Any]]) -> str:
    """The suffix of a parameter's key in the table of words, by its type."""
    if any(branch.get("type") == "array" for branch in branches):
        return LIST_SUFFIX
    return DAY_SUFFIX if any(branch.get("pattern") == DAY_BOUND for branch in branches) else ""


def _parameter(name: str, place: str, schema: Any, words: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "description": words, "schema": schema}


def _response(status: int, answer: Any, method: str, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    further: dict[str, Any] = dict(HEADERS_OF.get(status, {}))
    if (operation.access in PROVEN or operation.rate is not None) and status not in {401, 403, 413}:
        further |= RATE_HEADERS
    if operation.is_idempotent(method) and status < HTTPStatus.MULTIPLE_CHOICES:
        further |= REPLAYED_HEADER
    if status < HTTPStatus.MULTIPLE_CHOICES:
        further |= {name: {"description": FURTHER_HEADERS[name]} for name in operation.shown_headers}
    headers = {name: header | {"schema": {"type": "string"}} for name, header in USUAL_HEADERS.items()}
    headers |= {name: header | {"required": False, "schema": {"type": "string"}} for name, header in further.items()}
    codes = [code for code in operation.codes(method) if ERRORS[code].status == status]
    phrase = HTTPStatus(status).phrase
    words = f"{phrase}: {', '.join(f'`{code}`' for code in codes)}." if codes else phrase
    described: dict[str, Any] = {"description": words, "headers": headers}
    if codes and answer is None:
        examples = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
        described["content"] = {JSON: {"schema": schemas.of_type[ErrorEnvelope], "examples": examples}}
    elif answer is not None:
        described["content"] = _content(status, answer, operation, schemas)
    return described


def _content(status: int, answer: Any, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    schema = schemas.of_type[answer]
    media = operation.media if status < HTTPStatus.MULTIPLE_CHOICES else (JSON,)
    content: dict[str, Any] = {kind: {"schema": schema if _is_json(kind) else {"type": "string"}} for kind in media}
    first = min(each for each, kind in operation.answers.items() if kind is not None)
    example = operation.answer_example if status == first else None
    for kind, described in content.items():
        text = example if _is_json(kind) else operation.text_examples.get(kind)
        if text is not None:
            described["example"] = text
        if kind == EVENT_STREAM:
            described["x-eventSchemas"] = {name: _event(each, schemas) for name, each in operation.events.items()}
    return content


def _event(event: StreamedEvent, schemas: Schemas) -> dict[str, Any]:
    """The schema of an event's JSON. OpenAPI 3.1 has no place for it, as 3.2 has with ``itemSchema``."""
    whole = schemas.of_type[event.struct]
    return whole if event.data is None else whole | {"properties": {"data": schemas.of_type[event.data]}}


def _error_example(code: ErrorCode) -> dict[str, Any]:
    entry = ERRORS[code]
    value: dict[str, Any] = {"error": EXAMPLE_SENTENCES.get(code, entry.meaning), "code": code}
    if entry.status == HTTPStatus.BAD_REQUEST:
        value["fields"] = EXAMPLE_FIELDS.get(code, [])
    return {"summary": entry.meaning, "description": entry.cure, "value": value | {"requestId": _REQUEST_ID}}


def _is_json(media_type: str) -> bool:
    return media_type == JSON or media_type.endswith("+json")
