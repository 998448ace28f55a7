"""The page for people: a vendored viewer shows the document, and the page runs and fetches nothing from elsewhere."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from msgspec import json

from clearhold.api.docs_page import routes as viewer
from clearhold.api.docs_page.routes import REDOC_PATH, REDOC_SHA256
from tests.support.running_app import RunningApp, assert_refused

FOLDER: Final = Path(viewer.__file__).parent / "redoc"
VOID: Final = frozenset({"meta", "link"})
IMMUTABLE: Final = "public, max-age=31536000, immutable"


class Page(HTMLParser):
    """What a browser would find: balanced elements, their attributes, and the text of each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, str] = {}
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
        self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data

    def all(self, attribute: str) -> list[str]:
        return [value for _, each in self.elements if (value := each.get(attribute)) is not None]


@pytest.fixture
def page(api: RunningApp) -> Page:
    answer = api.client.get("/docs")
    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")
    return Page(answer.text)


def base64_sha256(content: bytes) -> str:
    return b64encode(sha256(content).digest()).decode()


def test_given_the_vendored_viewer_then_it_is_the_published_file_with_its_licences() -> None:
    script = (FOLDER / "redoc.standalone.js").read_bytes()

    assert sha256(script).hexdigest() == REDOC_SHA256
    assert b'Version: "2.5.2"' in (FOLDER / "redoc.standalone.js.LICENSE.txt").read_bytes()
    assert (FOLDER / "LICENSE").read_text("utf-8").startswith("The MIT License (MIT)")


def test_given_the_page_when_shown_then_its_script_is_the_viewer_alone(api: RunningApp, page: Page) -> None:
    script = api.client.get(REDOC_PATH)

    assert [each for tag, each in page.elements if tag == "script"] == [
        {"src": REDOC_PATH, "integrity": f"sha256-{base64_sha256(script.content)}"}
    ]
    assert "script" not in page.text
    assert [each["spec-url"] for tag, each in page.elements if tag == "redoc"] == ["/openapi.json"]
    assert sha256(script.content).hexdigest() == REDOC_SHA256
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["x-content-type-options"] == "nosniff"


def test_given_the_page_when_shown_then_nothing_comes_from_another_origin(api: RunningApp, page: Page) -> None:
    answer = api.client.get("/docs")
    allowed = [f"'sha256-{base64_sha256(style)}'" for style in (page.text["style"].encode(), b"")]
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))

    assert not {"img", "iframe", "form", "object", "base"} & {tag for tag, _ in page.elements}
    assert page.all("style") + page.all("onclick") == []
    assert {*page.all("src"), *page.all("href")} == {REDOC_PATH, "/openapi.json", "data:,"}
    assert policy.pop("style-src").split()[:2] == allowed
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert len(answer.headers.get_list("content-security-policy")) == 1
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("path", "cache"),
    [("/docs", "public, max-age=300"), ("/openapi.json", "public, max-age=300"), (REDOC_PATH, IMMUTABLE)],
)
def test_given_a_public_document_when_asked_for_again_then_its_etag_spares_the_body(
    api: RunningApp, path: str, cache: str
) -> None:
    first = api.client.get(path)
    etag = first.headers["etag"]

    assert etag == f'"{sha256(first.content).hexdigest()}"'
    assert first.headers["cache-control"] == cache
    for named in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = api.client.get(path, headers={"If-None-Match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert again.headers["cache-control"] == first.headers["cache-control"]
        assert again.headers.get_list("content-security-policy") == first.headers.get_list("content-security-policy")
    for named in ('"other"', etag.strip('"'), ""):
        assert api.client.get(path, headers={"If-None-Match": named}).content == first.content


@pytest.mark.parametrize("path", ["/openapi.json", REDOC_PATH])
def test_given_other_answers_when_given_then_they_keep_the_policy_of_the_api(api: RunningApp, path: str) -> None:
    answer = api.client.get(path)

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
