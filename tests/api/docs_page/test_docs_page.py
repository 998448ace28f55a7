"""The page for people: all of the document is in it, nothing else is fetched, and no text becomes markup."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.api.docs_page.page import page_of
from clearhold.api.openapi.components import without_references
from tests.support.running_app import RunningApp, assert_refused

VOID: Final = frozenset({"meta"})
HOSTILE: Final = "<script>alert(1)</script>\"'&"


class Page(HTMLParser):
    """What a browser would find: balanced elements, their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, attribute: str) -> list[str]:
        return [value for _, each in self.elements if (value := each.get(attribute)) is not None]


@pytest.fixture
def page(api: RunningApp) -> Page:
    answer = api.client.get("/docs")
    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")
    return Page(answer.text)


def documented(api: RunningApp) -> dict[str, Any]:
    return without_references(api.client.get("/openapi.json").json())


def test_given_the_document_when_shown_then_every_operation_parameter_status_and_schema_is_there(
    api: RunningApp, page: Page
) -> None:
    document = documented(api)
    text = "\n".join(page.text)

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in text
            assert operation["operationId"] in page.all("id")
            section = text[text.index(f"\n{method.upper()} {path}\n", text.index("Who may call\nName")) :]
            for parameter in operation["parameters"]:
                assert parameter["name"] in section
            for status in operation["responses"]:
                assert status in section
    for name, schema in document["components"]["schemas"].items():
        assert f"schema-{name}" in page.all("id")
        for property_ in schema.get("properties", {}):
            assert property_ in text


def test_given_the_page_when_read_then_every_link_leads_somewhere_here(page: Page) -> None:
    ids = page.all("id")

    assert len(set(ids)) == len(ids)
    assert {link for link in page.all("href") if link != "/openapi.json"} <= {f"#{name}" for name in ids}


def test_given_the_page_when_shown_then_it_runs_and_fetches_nothing(api: RunningApp, page: Page) -> None:
    answer = api.client.get("/docs")
    style = re.search(r"<style>(.*?)</style>", answer.text)

    assert not {"script", "link", "img", "iframe", "form", "object", "base"} & {tag for tag, _ in page.elements}
    assert page.all("style") + page.all("src") + page.all("onclick") == []
    assert style is not None
    assert "url(" not in style[1]
    allowed = b64encode(sha256(style[1].encode()).digest()).decode()
    assert answer.headers.get_list("content-security-policy") == [
        f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_given_text_that_looks_like_markup_when_shown_then_it_is_text() -> None:
    schema = {
        "type": "object",
        "description": HOSTILE,
        "properties": {HOSTILE: {"type": "string", "enum": [HOSTILE], "description": HOSTILE, "pattern": HOSTILE}},
    }
    operation = {
        "operationId": HOSTILE,
        "tags": [HOSTILE],
        "summary": HOSTILE,
        "security": [{HOSTILE: []}],
        "parameters": [{"name": HOSTILE, "in": "query", "schema": {"type": "string"}, "description": HOSTILE}],
        "requestBody": {"content": {HOSTILE: {"schema": schema, "example": {HOSTILE: HOSTILE}}}},
        "responses": {HOSTILE: {"description": HOSTILE, "headers": {HOSTILE: {}}, "content": {}}},
    }
    document = {
        "info": {"title": HOSTILE, "version": HOSTILE},
        "servers": [{"url": HOSTILE}],
        "paths": {HOSTILE: {"get": operation}},
        "components": {
            "schemas": {HOSTILE: schema},
            "securitySchemes": {HOSTILE: {"type": "http", "scheme": HOSTILE, "description": HOSTILE}},
        },
    }

    page = Page(page_of(json.encode(document)).decode())

    assert {tag for tag, _ in page.elements}.isdisjoint({"script", HOSTILE})
    assert HOSTILE in page.text
    assert f"schema-{HOSTILE}" in page.all("id")


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_given_a_public_document_when_asked_for_again_then_its_etag_spares_the_body(api: RunningApp, path: str) -> None:
    first = api.client.get(path)
    etag = first.headers["etag"]

    assert etag == f'"{sha256(first.content).hexdigest()}"'
    assert first.headers["cache-control"] == "public, max-age=300"
    for named in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = api.client.get(path, headers={"If-None-Match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
        assert again.headers.get_list("content-security-policy") == first.headers.get_list("content-security-policy")
    for named in ('"other"', etag.strip('"'), ""):
        assert api.client.get(path, headers={"If-None-Match": named}).content == first.content


def test_given_other_answers_when_given_then_they_keep_the_policy_of_the_api(api: RunningApp) -> None:
    answer = api.client.get("/openapi.json")

    assert answer.headers.get_list("content-security-policy") == ["default-src 'none'; frame-ancestors 'none'"]


def test_given_a_query_when_the_page_is_asked_for_then_400(api: RunningApp) -> None:
    assert_refused(api.client.get("/docs?page=1"), 400, "page")


def test_given_the_document_when_read_then_every_reference_in_it_leads_to_something(api: RunningApp) -> None:
    text = api.client.get("/openapi.json").text
    document = json.decode(text)

    for reference in set(re.findall(r'"\$ref":"([^"]*)"', text)):
        found = document
        for name in reference.removeprefix("#/").split("/"):
            assert name in found, reference
            found = found[name]


def test_given_code_in_a_docstring_or_a_description_when_shown_then_no_backtick_is_left(page: Page) -> None:
    assert [text for text in page.text if "`" in text] == []
