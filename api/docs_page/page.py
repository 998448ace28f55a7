"""The OpenAPI document as one page for people: no scripts, nothing fetched, nothing but the document in it."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from api.docs_page.html import Html, joined, node, table
from api.docs_page.schemas import about, section_of, type_of

Object = Mapping[str, Any]

_STYLE: Final = Html(
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:minmax(14rem,20rem) 1fr}"
    "nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box}"
    "nav ul{list-style:none;padding:0;margin:0 0 1rem}nav a{text-decoration:none;overflow-wrap:anywhere}"
    "main{padding:1rem 2rem;max-width:64rem;min-width:0}"
    "section{border-top:1px solid #8886;margin-top:2rem}h3{scroll-margin-top:1rem;overflow-wrap:anywhere}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884;overflow-wrap:anywhere}"
    "pre{overflow:auto;padding:.6rem;background:#8882}code,pre{font:14px/1.4 ui-monospace,monospace}"
    "@media(max-width:50rem){body{display:block}nav{position:static;height:auto}}"
)
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_of(document: bytes) -> bytes:
    """The page of an OpenAPI document."""
    read: Object = msgspec.json.decode(document)
    info, components = read["info"], read["components"]
    by_tag: dict[str, list[tuple[str, str, Object]]] = {}
    for path, methods in read["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((path, method.upper(), operation))
    body = [
        node("h1", info["title"]),
        node("p", f"Interface version {info['version']}. The same as ", _link("OpenAPI 3.1", "/openapi.json"), "."),
        node("p", joined((node("code", server["url"]) for server in read["servers"]), ", ")),
        node("h2", "Who may call", id="security"),
        table(("Name", "Sent as", "About"), _schemes(components["securitySchemes"])),
    ]
    for tag, operations in sorted(by_tag.items()):
        body += [node("h2", tag.capitalize(), id=f"tag-{tag}"), *(_operation(*each) for each in operations)]
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
    yield node("ul", node("li", _link("Who may call", "#security")))
    for tag, operations in sorted(by_tag.items()):
        links = [node("li", _link(f"{method} {path}", f"#{each['operationId']}")) for path, method, each in operations]
        yield joined([node("strong", tag.capitalize()), node("ul", *links)])
    links = [node("li", _link(name, f"#schema-{name}")) for name in sorted(schemas)]
    yield joined([node("strong", "Schemas"), node("ul", *links)])


def _schemes(schemes: Object) -> Iterator[tuple[str, str, str]]:
    for name, scheme in schemes.items():
        sent = f"{scheme['in']} {scheme['name']}" if "in" in scheme else f"Authorization: {scheme['scheme']}"
        yield node("code", name), sent, scheme.get("description", "")


def _operation(path: str, method: str, operation: Object) -> Html:
    parts = [
        node("h3", node("code", f"{method} {path}"), id=operation["operationId"]),
        node("p", operation["summary"]),
        node("p", "Called with: ", _security(operation["security"]), "."),
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
        (node("code", status), answer["description"], _types(answer), ", ".join(answer.get("headers", {})))
        for status, answer in operation["responses"].items()
    ]
    parts += _titled("Answers", table(("Status", "Meaning", "Body", "Headers"), answers))
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
        if content.get("example") is not None:
            yield _example(content["example"])
        for name, example in content.get("examples", {}).items():
            yield node("details", node("summary", name), _example(example["value"]))


def _types(answer: Object) -> Html:
    kinds = (
        joined([type_of(content["schema"]), f" ({media})"]) for media, content in answer.get("content", {}).items()
    )
    return joined(kinds, ", ")


def _example(value: Any) -> Html:
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return node("pre", node("code", text))


def _security(choices: list[Mapping[str, Any]]) -> Html:
    ways = (joined((node("code", name) for name in choice), " and ") for choice in choices)
    return joined(ways, ", or ") or joined(["nothing"])


def _needed(described: Object) -> str:
    return "required" if described.get("required") else "optional"


def _about_parameter(parameter: Object) -> Html:
    return joined([part for part in (about(parameter), about(parameter["schema"])) if part], ". ")


def _link(text: str, target: str) -> Html:
    return node("a", text, href=target)
