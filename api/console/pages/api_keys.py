"""API keys: created with scopes and a program, their secret on one page alone, their last use, and the end of each."""

from collections.abc import Mapping
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.settings import KEYS, confirmed, done, refusal, secret_once, settings_frame, tick
from clearhold.api.console.components.wide import unseen, wide_table
from clearhold.api.console.components.words import count, moment, outsider, span
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.keys.routes import ApiKey, ApiKeyCreated, NewKey
from clearhold.features.core.errors import RiskError
from clearhold.features.core.instants import written_instant
from clearhold.features.core.principal import KeyMode, KeyScope, Program

PATH: Final = KEYS
REVOKE: Final = f"{PATH}/revoke"
SCOPES: Final[Mapping[KeyScope, str]] = {
    KeyScope.PREFLIGHT: "ask before a transfer is sent",
    KeyScope.ALERTS_READ: "read alerts, transfers, parties and events",
    KeyScope.ALERTS_DECIDE: "decide alerts, in the name of a person",
    KeyScope.ACTIONS: "request and read actions",
    KeyScope.REPORTS: "read programs, indicators and reports",
    KeyScope.RECORD: "verify and export the record",
    KeyScope.RULES: "read and write rules",
    KeyScope.POLICIES: "read and write policies",
    KeyScope.WEBHOOKS: "register endpoints of its programs",
    KeyScope.LABELS: "label transfers",
    KeyScope.PROOFS: "issue proof tokens",
    KeyScope.SANDBOX: "simulate transfers on simulated programs",
    KeyScope.CONNECTOR: "serve an assistant",
}
MODES: Final[Mapping[KeyMode, str]] = {
    KeyMode.LIVE: "live: programs of the bank",
    KeyMode.TEST: "test: simulated programs and the sandbox",
}
_LOST: Final = (
    "The key is there, and its secret was in the first answer to this form alone. If that answer was lost, revoke the "
    "key and create another."
)
_NEW_KEY: Final = RequestSchema(NewKey)


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def create(visit: Visit) -> Answer:
    try:
        body, _ = _NEW_KEY.decode(msgspec.json.encode(_requested(visit.form)))
        created = await visit.services.keys.create(visit.principal, body, visit.effect_id())
    except RiskError as error:
        page = await _page(visit, refused=str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return await _page(visit.with_form({}), created=created)


async def revoke(visit: Visit) -> Answer:
    await visit.services.keys.revoke(visit.principal, visit.form.get("key", ""))
    return RedirectAnswer(f"{PATH}?done=revoked")


def _requested(form: Mapping[str, str]) -> dict[str, Any]:
    """The typed key as the body of the interface's request."""
    return {
        "name": form.get("name", ""),
        "mode": form.get("mode", ""),
        "programId": form.get("program") or None,
        "scopes": form["scopes"].split(",") if form.get("scopes") else [],
    }


async def _page(visit: Visit, *, created: ApiKeyCreated | None = None, refused: str | None = None) -> HtmlAnswer:
    keys = await visit.services.keys.list(visit.principal)
    programs = visit.services.programs.list(visit.principal, source=None)
    names = {each.id: each.name for each in programs}
    valid = [each for each in keys if each.revoked_at is None]
    revoked = [each for each in keys if each.revoked_at is not None]
    content = settings_frame(
        visit,
        h.h1["API keys"],
        h.p[
            "A key calls the interface without a person. It never creates keys, and it reads and writes within its "
            "scopes, on its program or on all of its mode."
        ],
        done(visit, {"revoked": "The key is revoked, and refused from the next request on."}),
        None
        if created is None
        else secret_once(["The secret of ", outsider(created.name)], created.secret, lost=_LOST),
        h.section(".person")[h.h2[count(len(valid), "valid key")], _table(visit, valid, names)],
        h.details[h.summary[count(len(revoked), "revoked key")], h.div(".person")[_table(visit, revoked, names)]]
        if revoked
        else None,
        None if visit.signed_in.is_read_only else _form(visit, programs, refused),
    )
    return HtmlAnswer("API keys", content)


def _table(visit: Visit, keys: list[ApiKey], names: Mapping[str, str]) -> h.Node:
    if not keys:
        return h.p["No keys."]
    heads = ("Name", "Begins with", "Reaches", "May", "Last used", "Created")
    return wide_table("Keys", (*heads, unseen("Revoke")), (_row(visit, each, names) for each in keys))


def _row(visit: Visit, key: ApiKey, names: Mapping[str, str]) -> h.Element:
    reach: h.Node = "every program" if key.program_id is None else outsider(names.get(key.program_id), key.program_id)
    return h.tr[
        h.td(data_label="Name")[outsider(key.name)],
        h.td(data_label="Begins with")[h.code[f"{key.prefix}…"]],
        h.td(data_label="Reaches")[key.mode.value, ": ", reach],
        h.td(".words", data_label="May")[", ".join(key.scopes) or "all that its mode allows"],
        h.td(data_label="Last used")[_used(visit, key)],
        h.td(data_label="Created")[moment(key.created_at)],
        h.td[_end(visit, key)],
    ]


def _used(visit: Visit, key: ApiKey) -> h.Node:
    if key.last_used_at is None:
        return "no use counted"
    ago = span(max(0, visit.now - written_instant(key.last_used_at)))
    return h.span(title=key.last_used_at)[f"{ago} ago"]


def _end(visit: Visit, key: ApiKey) -> h.Node:
    if key.revoked_at is not None:
        return ["revoked ", moment(key.revoked_at)]
    if visit.signed_in.is_read_only:
        return None
    return confirmed(
        visit,
        REVOKE,
        "Revoke",
        "Each request with it is refused from the next one on, for good.",
        h.input(type="hidden", name="key", value=key.id),
        button="Revoke the key",
    )


def _form(visit: Visit, programs: tuple[Program, ...], refused: str | None) -> h.Element:
    typed = visit.form
    chosen = set(typed.get("scopes", "").split(","))
    return h.section("#new-key.asks")[
        h.h2["Create a key"],
        visit.form_of(
            PATH,
            refusal(refused),
            h.label["Name, such as the system that uses it", _name(typed)],
            h.fieldset(".ticks")[
                h.legend["Mode"],
                (
                    tick("radio", "mode", mode.value, words, checked=typed.get("mode", KeyMode.LIVE.value) == mode)
                    for mode, words in MODES.items()
                ),
            ],
            h.label["Program", program_choice(programs, typed.get("program", ""), "every program of the mode")],
            h.fieldset(".ticks.scopes")[
                h.legend["It may (nothing chosen: all that its mode allows)"],
                (
                    tick(
                        "checkbox", "scopes", each.value, h.code[each.value], f" {words}", checked=each.value in chosen
                    )
                    for each, words in SCOPES.items()
                ),
            ],
            h.button(".main", type="submit")["Create the key"],
        ),
    ]


def _name(typed: Mapping[str, str]) -> h.VoidElement:
    return h.input(name="name", value=typed.get("name", ""), required=True, maxlength="200", autocomplete="off")


def program_choice(programs: tuple[Program, ...], chosen: str, of_all: str) -> h.Element:
    """A choice of one program, or of all."""
    return h.select(name="program")[
        h.option(value="")[of_all],
        (
            h.option(value=each.id, selected=each.id == chosen)[f"{each.name} ({each.source.value})"]
            for each in programs
        ),
    ]
