"""One endpoint of webhooks: its secret on one page alone, a test, its deliveries, and its changes."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.deliveries import DELIVERIES, PAGE, delivery_part
from clearhold.api.console.components.settings import (
    WEBHOOKS,
    confirmed,
    done,
    refusal,
    secret_once,
    settings_frame,
    tick,
)
from clearhold.api.console.components.words import moment, outsider
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.envelope import retry_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.webhooks.schemas import (
    DEFAULT_OVERLAP_HOURS,
    DeliveriesQuery,
    WebhookChange,
    WebhookEndpoint,
    WebhookRotation,
)
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, RiskError, invalid
from clearhold.features.webhooks.payloads import EventType

UNKNOWN: Final = "There is no such endpoint on this bank."
_CHANGE: Final = RequestSchema(WebhookChange)
_ROTATION: Final = RequestSchema(WebhookRotation)
_DELIVERIES: Final = RequestSchema(DeliveriesQuery)
_LOST: Final = (
    "The secret was changed, and the new one was in the first answer to this form alone. If that answer was lost, "
    "rotate it again."
)
EVENTS: Final[Mapping[EventType, str]] = {
    EventType.ALERT_OPENED: "an alert opened",
    EventType.DISPOSITION_SIGNED: "an alert was decided",
    EventType.ACTION_CREATED: "an action was requested",
    EventType.ACTION_APPROVED: "a second person approved it",
    EventType.PREFLIGHT_SCORED: "a pre-flight was answered",
    EventType.TRANSFER_SCORED: "a transfer was scored",
    EventType.LABEL_RECORDED: "a transfer was labelled",
    EventType.KRI_SNAPSHOT: "indicators were measured",
}
"""By event, when it is sent; a ``ping`` is sent by a test alone."""
_DONE: Final = {
    "test": "A ping is sent. Its state is below.",
    "redelivered": "The delivery is sent again. Its state is below.",
    "changed": "The endpoint is changed.",
    "enabled": "The endpoint is enabled; deliveries that waited are sent.",
    "disabled": "The endpoint is disabled; its deliveries wait.",
}


async def show(visit: Visit) -> Answer:
    """The page; of a part, the deliveries."""
    webhook_id = visit.params["webhook_id"]
    if visit.target != DELIVERIES:
        return await page(visit, webhook_id)
    endpoint = await _endpoint(visit, webhook_id)
    return HtmlAnswer("Deliveries", await _deliveries(visit, endpoint))


async def change(visit: Visit) -> Answer:
    form = visit.form
    body = {
        "url": form.get("url", "").strip(),
        "events": chosen_events(form),
        "description": form.get("description", "").strip() or None,
    }
    return await _write(visit, partial(_changed, visit, body), "changed")


async def enable(visit: Visit) -> Answer:
    return await _write(visit, partial(_changed, visit, {"enabled": True}), "enabled")


async def disable(visit: Visit) -> Answer:
    services, webhook_id = visit.services, visit.params["webhook_id"]
    disabled = partial(services.webhooks.disable, visit.principal, webhook_id, visit.effect_id())
    return await _write(visit, disabled, "disabled")


async def test(visit: Visit) -> Answer:
    services, webhook_id = visit.services, visit.params["webhook_id"]
    return await _write(visit, partial(services.webhooks.ping, visit.principal, webhook_id, visit.effect_id()), "test")


async def redeliver(visit: Visit) -> Answer:
    services, webhook_id = visit.services, visit.params["webhook_id"]
    delivery_id = visit.form.get("delivery", "")
    again = partial(services.webhooks.redeliver, visit.principal, webhook_id, delivery_id)
    return await _write(visit, again, "redelivered")


async def rotate(visit: Visit) -> Answer:
    services, webhook_id = visit.services, visit.params["webhook_id"]
    try:
        body, _ = _ROTATION.decode(msgspec.json.encode({"overlapHours": _hours(visit.form.get("hours", ""))}))
        created = await services.webhooks.rotate(visit.principal, webhook_id, body, visit.effect_id())
    except RiskError as error:
        return await _refused(visit, error)
    return await page(visit.with_form({}), webhook_id, secret=(created.secret, _LOST))


async def _changed(visit: Visit, fields: Mapping[str, Any]) -> object:
    body, _ = _CHANGE.decode(msgspec.json.encode(fields))
    return await visit.services.webhooks.change(visit.principal, visit.params["webhook_id"], body, visit.effect_id())


async def _write(visit: Visit, write: Callable[[], Awaitable[object]], name: str) -> Answer:
    try:
        await write()
    except RiskError as error:
        return await _refused(visit, error)
    return RedirectAnswer(f"{WEBHOOKS}/{visit.params['webhook_id']}?done={name}")


async def _refused(visit: Visit, error: RiskError) -> Answer:
    answer = await page(visit, visit.params["webhook_id"], refused=str(error))
    return answer._replace(status=ERRORS[error.code].status, headers=retry_headers(error))


def _hours(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise invalid("overlapHours", "must be a whole number of hours, 0 to 72", FieldCode.MALFORMED)
    return int(text[:9])


async def page(
    visit: Visit, webhook_id: str, *, secret: tuple[str | None, str] | None = None, refused: str | None = None
) -> HtmlAnswer:
    """``secret`` is a new one with the words for a repeat, on the one page that has it."""
    endpoint = await _endpoint(visit, webhook_id)
    writes = not visit.signed_in.is_read_only
    content = settings_frame(
        visit,
        h.p(".small")[h.a(href=WEBHOOKS)["Webhooks"]],
        h.h1[outsider(endpoint.url)],
        None if secret is None else _secret(*secret),
        done(visit, _DONE),
        refusal(refused),
        await _head(visit, endpoint),
        _test(visit, endpoint) if writes else None,
        await _deliveries(visit, endpoint),
        _changes(visit, endpoint) if writes else None,
    )
    return HtmlAnswer("Endpoint", content)


def _secret(secret: str | None, lost: str) -> h.Node:
    return [
        secret_once("The secret of this endpoint", secret, lost=lost),
        h.p(".small")["The libraries of Standard Webhooks and Stripe verify deliveries with it: all of it is the key."],
    ]


async def _endpoint(visit: Visit, webhook_id: str) -> WebhookEndpoint:
    for each in await visit.services.webhooks.list(visit.principal):
        if each.id == webhook_id.lower():
            return each
    raise NotFoundError(UNKNOWN, ErrorCode.WEBHOOK_NOT_FOUND)


async def _head(visit: Visit, endpoint: WebhookEndpoint) -> h.Element:
    program: h.Node = "every program"
    if endpoint.program_id is not None:
        program = outsider(visit.services.programs.read(visit.principal, endpoint.program_id).name)
    facts: tuple[tuple[str, h.Node], ...] = (
        ("State", "enabled" if endpoint.enabled else h.span(".off")["■ disabled: its deliveries wait"]),
        ("Takes", ", ".join(endpoint.events) or "every event"),
        ("Of", program),
        ("For", outsider(endpoint.description, "nothing said")),
        ("Registered", [moment(endpoint.created_at), " by ", outsider(endpoint.created_by)]),
    )
    return h.dl(".particulars")[((h.dt[name], h.dd[value]) for name, value in facts)]


def _test(visit: Visit, endpoint: WebhookEndpoint) -> h.Element:
    return visit.form_of(
        f"{WEBHOOKS}/{endpoint.id}/test",
        h.button(".main", type="submit")["Send a test"],
        h.span(".small")[" An event ", h.code["ping"], ", signed as every other."],
    )


async def _deliveries(visit: Visit, endpoint: WebhookEndpoint) -> h.Node:
    before = {name: value for name, value in visit.query.items() if name == "before"}
    query = _DELIVERIES.read_query([("limit", str(PAGE)), *before.items()])
    deliveries = await visit.services.webhooks.deliveries(visit.principal, endpoint.id, query)
    return delivery_part(visit, endpoint, deliveries, f"{WEBHOOKS}/{endpoint.id}")


def _changes(visit: Visit, endpoint: WebhookEndpoint) -> h.Element:
    path, form = f"{WEBHOOKS}/{endpoint.id}", visit.form
    typed = form if "url" in form else {}
    events = chosen_events(typed) if typed else list(endpoint.events)
    return h.section(".asks")[
        h.h2["Change"],
        h.details(open=bool(typed))[
            h.summary["Address, events, purpose"],
            visit.form_of(
                f"{path}/change",
                url_field(typed.get("url", endpoint.url)),
                event_fields(set(events)),
                description_field(typed.get("description", endpoint.description or "")),
                h.button(type="submit")["Save"],
            ),
        ],
        confirmed(
            visit,
            f"{path}/rotate",
            "Rotate the secret",
            "A new secret is made, and is on the next page alone. Both sign for the hours above.",
            h.label[
                "Hours for which the present secret signs too, 0 to 72",
                h.input(name="hours", value=str(DEFAULT_OVERLAP_HOURS), inputmode="numeric", autocomplete="off"),
            ],
            button="Make a new secret",
        ),
        confirmed(
            visit,
            f"{path}/disable",
            "Disable",
            "Nothing is sent to it until it is enabled again. Its events wait, and none is lost.",
            button="Disable the endpoint",
        )
        if endpoint.enabled
        else visit.form_of(f"{path}/enable", h.button(type="submit")["Enable the endpoint"]),
    ]


def chosen_events(form: Mapping[str, str]) -> list[str]:
    return form["events"].split(",") if form.get("events") else []


def url_field(value: str) -> h.Element:
    return h.label[
        "Address: https, at a public host",
        h.input(name="url", type="url", value=value, required=True, maxlength="2048", autocomplete="off"),
    ]


def event_fields(chosen: set[str]) -> h.Element:
    return h.fieldset(".ticks.scopes")[
        h.legend["Events (nothing chosen: every event)"],
        (
            tick("checkbox", "events", each, h.code[each], f" {words}", checked=each.value in chosen)
            for each, words in EVENTS.items()
        ),
    ]


def description_field(value: str) -> h.Element:
    return h.label["Purpose", h.input(name="description", value=value, maxlength="1000", autocomplete="off")]
