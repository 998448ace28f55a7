"""What tools need of the OpenAPI documents beyond validity: words, formats, nothing that generators trip over."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from clearhold.api.areas import openapi_text
from clearhold.api.http.error_table import ERRORS
from clearhold.api.openapi.document import ADMIN_TAGS, TAGS
from clearhold.api.openapi.glossary import DAY_SUFFIX, LIST_SUFFIX, PARAMETERS, PROPERTIES
from tests.support.error_answers import ERRORS_OF_RPC
from tests.support.openapi import without_references

Node = dict[str, Any]


def document(*, administration: bool) -> Node:
    text = openapi_text(administration=administration)
    return without_references(msgspec.json.decode(text))


DOCUMENTS: Final = {"public": document(administration=False), "admin": document(administration=True)}
EACH: Final = pytest.mark.parametrize("read", DOCUMENTS.values(), ids=list(DOCUMENTS))


def operations(read: Node) -> Iterator[Node]:
    for methods in read["paths"].values():
        yield from methods.values()


def nodes(node: Any) -> Iterator[Node]:
    """Every object within."""
    if isinstance(node, dict):
        yield node
        for each in node.values():
            yield from nodes(each)
    elif isinstance(node, list):
        for each in node:
            yield from nodes(each)


def properties(read: Node) -> Iterator[tuple[str, str, Node]]:
    for component, schema in read["components"]["schemas"].items():
        for name, value in schema.get("properties", {}).items():
            yield component, name, value


def kind_of(schema: Node) -> str:
    first = schema.get("anyOf", [schema])[0]  # a date, of the bounds of whole days; a date-time, of instants
    return str(first.get("format", first.get("type")))


def requests(read: Node) -> Iterator[tuple[str, Node]]:
    """The component schemas that requests are made of: they are closed."""
    for name, schema in read["components"]["schemas"].items():
        if schema.get("additionalProperties") is False:
            yield name, schema


@EACH
def test_given_every_property_and_parameter_when_read_then_it_says_what_it_means(read: Node) -> None:
    for component, name, schema in properties(read):
        assert len(schema["description"].split()) > 1, (component, name)
    for operation in operations(read):
        for parameter in operation["parameters"]:
            assert len(parameter["description"].split()) > 1, (operation["operationId"], parameter["name"])


def test_given_the_glossary_when_compared_then_it_has_no_name_that_no_document_has() -> None:
    found = {name for read in DOCUMENTS.values() for _, name, _ in properties(read)}
    parameters = {
        parameter["name"] + {"array": LIST_SUFFIX, "date": DAY_SUFFIX}.get(kind_of(parameter["schema"]), "")
        for read in DOCUMENTS.values()
        for operation in operations(read)
        for parameter in operation["parameters"]
    }

    assert set(PROPERTIES) <= found
    assert set(PARAMETERS) <= parameters


@EACH
def test_given_every_operation_when_read_then_it_has_a_short_summary_a_description_and_a_known_tag(read: Node) -> None:
    tags = {tag["name"]: tag["description"] for tag in read["tags"]}

    assert {tag for operation in operations(read) for tag in operation["tags"]} == set(tags) <= {*TAGS, *ADMIN_TAGS}
    for operation in operations(read):
        assert len(operation["summary"]) <= 120, operation["operationId"]
        assert "\n" not in operation["summary"]
        assert operation["description"].startswith(operation["summary"])
        assert operation["description"] != operation["summary"]


@EACH
def test_given_the_document_when_generated_from_then_nothing_in_it_is_known_to_break_generators(read: Node) -> None:
    version = read["info"]["version"]

    assert re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version), "PEP 440 and semver"
    assert read["info"]["description"]
    assert read["info"]["license"]["identifier"] == "Apache-2.0"
    assert [node for node in nodes(read["components"]["schemas"]) if "oneOf" in node or "allOf" in node] == []
    for name, schema in requests(read):
        assert [node for node in nodes(schema) if "default" in node] == [], name


@EACH
def test_given_instants_and_ids_minted_here_when_answered_then_their_format_is_described(read: Node) -> None:
    closed = dict(requests(read))
    for component, name, schema in properties(read):
        if component in closed or "string" not in schema.get("type", ()):
            continue
        if name.endswith("At"):
            assert schema["format"] == "date-time", (component, name)
        if name in {"tenantId", "programId"} or (name == "id" and "minted here" in schema["description"]):
            assert schema["format"] == "uuid", (component, name)


@EACH
def test_given_a_refusal_when_described_then_its_codes_are_named_and_are_of_its_status(read: Node) -> None:
    named = set()
    for operation in operations(read):
        for status, answer in operation["responses"].items():
            content = answer.get("content", {}).get("application/json", {})
            if status.startswith(("4", "5")) and (operation["operationId"], status) not in ERRORS_OF_RPC:
                codes = list(content.get("examples", ())) or ["unavailable"]
                assert {str(ERRORS[code].status) for code in codes} == {status}
                assert all(f"`{code}`" in answer["description"] for code in codes)
                named |= set(codes)

    answers = {operation["operationId"] for operation in operations(read)}
    examples = {name: each for name, each in read["components"]["examples"].items() if name not in answers}
    assert set(examples) == named
    for code, example in examples.items():
        assert example["value"]["code"] == code
        assert ("fields" in example["value"]) == (ERRORS[code].status == 400)


def test_given_the_two_documents_when_compared_then_no_route_is_in_both_and_the_admin_one_is_behind_its_token() -> None:
    public, admin = DOCUMENTS["public"], DOCUMENTS["admin"]

    assert not set(public["paths"]) & set(admin["paths"])
    assert all(path.startswith("/api/admin/") for path in admin["paths"])
    assert all(operation["security"] == [{"adminToken": [], "operatorName": []}] for operation in operations(admin))
    assert set(admin["components"]["securitySchemes"]) == {"adminToken", "operatorName"}
    assert "adminToken" not in public["components"]["securitySchemes"]


def test_given_the_list_of_codes_when_described_then_each_has_status_meaning_and_cure() -> None:
    schema = DOCUMENTS["public"]["components"]["schemas"]["ErrorCode"]

    assert list(schema["x-enumDescriptions"]) == schema["enum"] == [str(code) for code in ERRORS]
    for code, words in schema["x-enumDescriptions"].items():
        assert words == f"{ERRORS[code].status}. {ERRORS[code].meaning} {ERRORS[code].cure}"
