"""The OpenAPI document as one page for people: no scripts, nothing fetched, nothing but the document in it."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from clearhold.api.docs_page.curl import command_of
from clearhold.api.docs_page.schemas import about, section_of, type_of, value_anchor
from clearhold.api.http.html import Html, joined, node, paragraphs, prose, table
from clearhold.api.openapi.components import without_references

Object = Mapping[str, Any]

_STYLE: Final = Html(
    ":root{color-scheme:light dark}*{box-sizing:border-box}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:minmax(14rem,20rem) 1fr}"
    "nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem}"
    "nav ul{list-style:none;padding:0;margin:0 0 1rem}nav a{text-decoration:none;overflow-wrap:anywhere}"
    "main{padding:1rem 2rem;max-width:72rem;min-width:0}"
    "h1,h2,h3{line-height:1.25}h2{margin-top:3rem}h2,h3,code{scroll-margin-top:1rem}"
    "h3 a{color:inherit;text-decoration:none}"
    "section{border-top:1px solid #8886;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884;"
    "overflow-wrap:break-word}td:first-child code{white-space:nowrap}td:last-child{overflow-wrap:anywhere}"
    "pre{overflow:auto;padding:.6rem;background:#8882}code,pre{font:14px/1.4 ui-monospace,monospace}"
    "@media(max-width:50rem){body{display:block}main{padding:0 1rem 2rem;overflow-wrap:anywhere}"
    "nav{position:static;height:auto;padding:1rem 1rem 0}nav ul{display:none}nav a{margin-right:.8rem}"
    "thead{display:none}table,tbody,tr,td{display:block}td{border:0;padding:0}"
    "td:not(:first-child):not(:last-child){display:inline-block;margin-right:.8rem;color:GrayText}"
    "tr{border-bottom:1px solid #8884;padding:.5rem 0}td:first-child code{white-space:normal;font-weight:bold}}"
)
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_EVERYWHERE: Final = frozenset(
    {"X-Request-Id", "Score-Version", "RateLimit-Policy", "RateLimit", "Idempotent-Replayed"}
)
"""Headers of nearly every answer, which the table of answers would only repeat."""


def page_of(document: bytes) -> bytes:
    """The page of an OpenAPI document."""
    read: Object = without_references(msgspec.json.decode(document))
    info, components = read["info"], read["components"]
    server = read["servers"][0]["url"]
    by_tag: dict[str, list[tuple[str, str, Object]]] = {each["name"]: [] for each in read.get("tags", ())}
    for path, methods in read["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((path, method.upper(), operation))
    words = {each["name"]: each["description"] for each in read.get("tags", ())}
    body = [
        node("h1", info["title"]),
        node("p", f"Version {info['version']} of the interface, at ", node("code", server), "."),
        node("p", "For programs: ", _link("OpenAPI 3.1", "/openapi.json"), "."),
        paragraphs(info.get("description", "")),
        node("h2", "Who may call", id="security"),
        table(("Name", "Sent as", "About"), _schemes(components["securitySchemes"])),
    ]
    for tag, operations in by_tag.items():
        body += [node("h2", tag.capitalize(), id=f"tag-{tag}"), paragraphs(words.get(tag, ""))]
        body += [_operation(server, *each) for each in operations]
    body.append(node("h2", "Schemas", id="schemas"))
    body += [section_of(name, schema) for name, schema in sorted(components["schemas"].items())]
    head = [
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        node("title", info["title"]),
        node("style", _STYLE),
    ]
    nav = node("nav", *_contents(by_tag, components["schemas"]), aria_label="Contents")
    page = node("html", node("head", *head), node("body", nav, node("main", *body)), lang="en")
    return b"<!doctype html>" + page.encode()


def _contents(by_tag: Mapping[str, list[tuple[str, str, Object]]], schemas: Object) -> Iterator[Html]:
    """On a narrow screen the groups alone are shown."""
    yield joined([_group("Who may call", "#security"), node("ul")])
    for tag, operations in by_tag.items():
        links = [node("li", _link(f"{method} {path}", f"#{each['operationId']}")) for path, method, each in operations]
        yield joined([_group(tag.capitalize(), f"#tag-{tag}"), node("ul", *links)])
    if "ErrorCode" in schemas:
        yield joined([_group("Errors", "#schema-ErrorCode"), node("ul")])
    links = [node("li", _link(name, f"#schema-{name}")) for name in sorted(schemas)]
    yield joined([_group("Schemas", "#schemas"), node("ul", *links)])


def _group(text: str, target: str) -> Html:
    return joined([node("strong", _link(text, target)), " "])


def _schemes(schemes: Object) -> Iterator[tuple[str, str, str]]:
    for name, scheme in schemes.items():
        sent = f"{scheme['in']} {scheme['name']}" if "in" in scheme else f"Authorization: {scheme['scheme']}"
        yield node("code", name), sent, scheme.get("description", "")


def _operation(server: str, path: str, method: str, operation: Object) -> Html:
    id_ = operation["operationId"]
    parts = [
        node("h3", node("a", prose(operation["summary"]), href=f"#{id_}"), id=id_),
        node("p", node("code", f"{method} {path}")),
        paragraphs(operation.get("description", "").removeprefix(operation["summary"]).lstrip(".\n ")),
        node("pre", node("code", command_of(server, path, method, operation))),
    ]
    parameters = [
        (node("code", each["name"]), each["in"], _needed(each), type_of(each["schema"]), _about_parameter(each))
        for each in operation["parameters"]
    ]
    parts += _titled("Parameters", table(("Name", "In", "", "Type", "About"), parameters))
    if "requestBody" in operation:
        body = operation["requestBody"]
        parts += _titled("Request body", joined([node("p", _needed(body)), *_contents_of(body["content"])]))
    answers = [
        (node("code", status), _meaning(answer), _types(answer)) for status, answer in operation["responses"].items()
    ]
    parts += _titled("Answers", table(("Status", "Meaning", "Body"), answers))
    parts += [
        node("details", node("summary", f"Example of {status}"), _example(content["example"]))
        for status, answer in operation["responses"].items()
        for content in answer.get("content", {}).values()
        if "example" in content
    ]
    return node("section", *parts)


def _titled(title: str, content: Html) -> list[Html]:
    return [node("h4", title), content] if content else []


def _contents_of(contents: Object) -> Iterator[Html]:
    for media, content in contents.items():
        yield node("p", node("code", media), ": ", type_of(content["schema"]))
        for name, example in content.get("examples", {}).items():
            yield node("details", node("summary", name), _example(example["value"]))


def _meaning(answer: Object) -> Html:
    """The codes of a refusal, each a link to its row of the table, or the words of any other answer; then headers."""
    codes = [code for content in answer.get("content", {}).values() for code in content.get("examples", ())]
    links = joined((_link(code, f"#{value_anchor(code)}") for code in codes), ", ")
    further = [name for name in answer.get("headers", {}) if name not in _EVERYWHERE]
    headers = f" Headers: {', '.join(further)}." if further else ""
    return joined([links or prose(answer["description"]), headers])


def _types(answer: Object) -> Html:
    kinds = (
        joined([type_of(content["schema"]), f" ({media})"]) for media, content in answer.get("content", {}).items()
    )
    return joined(kinds, ", ")


def _example(value: Any) -> Html:
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return node("pre", node("code", text))


def _needed(described: Object) -> str:
    return "required" if described.get("required") else "optional"


def _about_parameter(parameter: Object) -> Html:
    return joined([part for part in (about(parameter), about(parameter["schema"])) if part], " ")


def _link(text: str, target: str) -> Html:
    return node("a", text, href=target)
