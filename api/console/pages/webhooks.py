"""Endpoints of webhooks: the list with the last delivery of each, and the form that registers one."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.deliveries import SHAPES, state_words
from clearhold.api.console.components.settings import WEBHOOKS, refusal, settings_frame
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, outsider
from clearhold.api.console.pages import webhook
from clearhold.api.console.pages.api_keys import program_choice
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.webhooks.schemas import DeliveriesQuery, NewWebhook, WebhookDelivery, WebhookEndpoint
from clearhold.features.core.errors import RiskError
from clearhold.features.core.principal import Program

PATH: Final = WEBHOOKS
MOST_READ: Final = 10
"""The newest endpoints, of which the list has the last delivery."""
NOT_READ: Final = "on its page"
_NEW: Final = RequestSchema(NewWebhook)
_LOST: Final = (
    "The endpoint is there, and its secret was in the first answer to this form alone. If that answer was lost, "
    "rotate the secret."
)


async def show(visit: Visit) -> Answer:
    return await _page(visit)


async def create(visit: Visit) -> Answer:
    try:
        body, _ = _NEW.decode(msgspec.json.encode(_requested(visit.form)))
        created = await visit.services.webhooks.create(visit.principal, body, visit.effect_id())
    except RiskError as error:
        page = await _page(visit, str(error))
        return page._replace(status=ERRORS[error.code].status, headers=retry_headers(error))
    return await webhook.page(visit.with_form({}), created.id, secret=(created.secret, _LOST))


def _requested(form: Mapping[str, str]) -> dict[str, Any]:
    """The typed endpoint as the body of the interface's request."""
    return {
        "url": form.get("url", "").strip(),
        "events": webhook.chosen_events(form),
        "programId": form.get("program") or None,
        "description": form.get("description", "").strip() or None,
    }


async def _page(visit: Visit, refused: str | None = None) -> HtmlAnswer:
    endpoints = await visit.services.webhooks.list(visit.principal)
    programs = visit.services.programs.list(visit.principal, source=None)
    read = endpoints[:MOST_READ]
    newest = await asyncio.gather(*(_newest(visit, each) for each in read))
    last = {each.id: delivery for each, delivery in zip(read, newest, strict=True)}
    enabled = sum(each.enabled for each in endpoints)
    content = settings_frame(
        visit,
        h.h1["Webhooks"],
        h.p[
            "Each event is posted to the endpoints that take it, signed with the endpoint's secret, until the receiver "
            "accepts it or ten attempts have failed."
        ],
        h.section(".person")[
            h.h2[f"{count(len(endpoints), 'endpoint')}, {enabled} enabled"],
            _table(endpoints, {each.id: each for each in programs}, last),
        ],
        None if visit.signed_in.is_read_only else _form(visit, programs, refused),
    )
    return HtmlAnswer("Webhooks", content)


async def _newest(visit: Visit, endpoint: WebhookEndpoint) -> WebhookDelivery | None:
    newest = await visit.services.webhooks.deliveries(visit.principal, endpoint.id, DeliveriesQuery(limit=1))
    return newest[0] if newest else None


def _table(
    endpoints: tuple[WebhookEndpoint, ...],
    programs: Mapping[str, Program],
    last: Mapping[str, WebhookDelivery | None],
) -> h.Node:
    if not endpoints:
        return h.p["No endpoint is registered yet. Register one below."]
    heads = ("Endpoint", "Takes", "Of", "State", "Last delivery")
    return wide_table(
        "Endpoints",
        heads,
        (_row(each, programs, _last(each, last[each.id]) if each.id in last else NOT_READ) for each in endpoints),
        style="endpoints",
    )


def _row(endpoint: WebhookEndpoint, programs: Mapping[str, Program], last: h.Node) -> h.Element:
    program = None if endpoint.program_id is None else programs.get(endpoint.program_id)
    return h.tr[
        h.td(".words", data_label="Endpoint")[
            h.a(href=f"{PATH}/{endpoint.id}")[outsider(endpoint.url)],
            h.p(".small")[outsider(endpoint.description)] if endpoint.description else None,
        ],
        h.td(data_label="Takes")["every event" if not endpoint.events else count(len(endpoint.events), "event")],
        h.td(data_label="Of")["every program" if program is None else outsider(program.name)],
        h.td(data_label="State")["enabled" if endpoint.enabled else h.span(".off")["■ disabled"]],
        h.td(".words", data_label="Last delivery")[last],
    ]


def _last(endpoint: WebhookEndpoint, last: WebhookDelivery | None) -> h.Node:
    if last is None:
        return "nothing sent yet"
    return [
        h.span(f".delivery.{last.status.value}")[
            h.span(aria_hidden="true")[SHAPES[last.status]], " ", h.code[last.event.value]
        ],
        " ",
        h.span(".small")[state_words(last, enabled=endpoint.enabled)],
    ]


def _form(visit: Visit, programs: tuple[Program, ...], refused: str | None) -> h.Element:
    typed = visit.form
    return h.section("#new-webhook.asks")[
        h.h2["Register an endpoint"],
        visit.form_of(
            PATH,
            refusal(refused),
            webhook.url_field(typed.get("url", "")),
            h.label["Program", program_choice(programs, typed.get("program", ""), "every program of the bank")],
            webhook.event_fields(set(webhook.chosen_events(typed))),
            webhook.description_field(typed.get("description", "")),
            h.button(".main", type="submit")["Register the endpoint"],
        ),
    ]
