"""Deliveries to an endpoint of webhooks: each with its state in words, its payload, and a button to send it again."""

from collections.abc import Mapping, Sequence
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.webhooks.schemas import WebhookDelivery, WebhookEndpoint
from clearhold.features.core.instants import written_instant
from clearhold.features.webhooks.delivery import MAX_ATTEMPTS, AttemptError, DeliveryStatus

DELIVERIES: Final = "deliveries"
"""The id of the part."""
PAGE: Final = 20
UNATTENDED: Final = '{"X-Unattended": "true"}'
"""No person asks for the part again, so it does not lengthen the session."""
CAUSES: Final[Mapping[AttemptError, str]] = {
    AttemptError.TIMEOUT: "no answer within 15 seconds",
    AttemptError.DNS: "the host's name has no address",
    AttemptError.BLOCKED_ADDRESS: "the host has an address that is not public",
    AttemptError.TLS: "no secure connection: the certificate or TLS is refused",
    AttemptError.CONNECTION: "no connection to the host",
    AttemptError.REDIRECT: "a redirect, which is not followed",
    AttemptError.HTTP_STATUS: "a status other than 2xx",
}
SHAPES: Final[Mapping[DeliveryStatus, str]] = {
    DeliveryStatus.PENDING: "○",
    DeliveryStatus.DELIVERED: "●",
    DeliveryStatus.FAILED: "▲",
    DeliveryStatus.EXHAUSTED: "■",
}


def failure_words(delivery: WebhookDelivery) -> str:
    """Why the last attempt failed; empty when it did not."""
    if delivery.last_error is None:
        return ""
    status = "" if delivery.last_status_code is None else f" (it answered {delivery.last_status_code})"
    return f"{CAUSES[delivery.last_error]}{status}"


def state_words(delivery: WebhookDelivery, *, enabled: bool) -> h.Node:
    """The state of a delivery in a sentence."""
    cause, attempts = failure_words(delivery), count(delivery.attempts, "attempt")
    if delivery.status is DeliveryStatus.DELIVERED:
        return ["delivered ", moment(delivery.delivered_at), f", answered {delivery.last_status_code}"]
    if delivery.status is DeliveryStatus.EXHAUSTED:
        return f"given up after {attempts}: {cause}"
    if not enabled:
        return "waits until the endpoint is enabled"
    if delivery.status is DeliveryStatus.PENDING:
        return "is being sent" if delivery.attempts == 0 else f"is being sent again, after {attempts}"
    return [f"failed at {attempts} of {MAX_ATTEMPTS}: {cause}. Next at ", moment(delivery.next_attempt_at)]


def is_under_way(visit: Visit, deliveries: Sequence[WebhookDelivery]) -> bool:
    """Whether one of them is due now, so that its state will change in a moment."""
    return any(
        each.status is DeliveryStatus.PENDING and written_instant(each.next_attempt_at) <= visit.now
        for each in deliveries
    )


def delivery_part(visit: Visit, endpoint: WebhookEndpoint, deliveries: Sequence[WebhookDelivery], path: str) -> h.Node:
    """The newest deliveries, or those before one. While one is being sent, the part asks for itself again."""
    under_way = endpoint.enabled and is_under_way(visit, deliveries)
    asks = {"get": path, "target": f"#{DELIVERIES}", "swap": "outerHTML", "trigger": "load delay:1s"}
    again = visit.hx(**asks, headers=UNATTENDED) if under_way else {}
    return h.section(f"#{DELIVERIES}", again)[
        h.h2["Deliveries"],
        _table(visit, endpoint, deliveries, path) if deliveries else h.p["Nothing was sent yet."],
        h.p(".pages")[
            h.a(href=f"{path}#{DELIVERIES}")["Newest"] if "before" in visit.query else None,
            " ",
            h.a(href=f"{path}?before={deliveries[-1].id}#{DELIVERIES}")["Older"] if len(deliveries) == PAGE else None,
        ],
    ]


def _table(visit: Visit, endpoint: WebhookEndpoint, deliveries: Sequence[WebhookDelivery], path: str) -> h.Element:
    heads = ("State", "Event", "Of", "Payload")
    return h.div(".person.deliveries")[
        h.table[
            h.caption(".hidden")["Deliveries"],
            h.thead[
                h.tr[
                    (h.th(scope="col")[each] for each in heads),
                    h.th(scope="col")[h.span(".hidden")["Send again"]],
                ]
            ],
            h.tbody[(_row(visit, endpoint, each, path) for each in deliveries)],
        ]
    ]


def _row(visit: Visit, endpoint: WebhookEndpoint, delivery: WebhookDelivery, path: str) -> h.Element:
    body = msgspec.json.format(msgspec.json.encode(delivery.payload), indent=2).decode()
    is_simulated = delivery.simulated is True
    return h.tr[
        h.td(".words", data_label="State")[
            h.span(f".delivery.{delivery.status.value}")[
                h.span(aria_hidden="true")[SHAPES[delivery.status]], " ", delivery.status.value
            ],
            h.p(".small")[state_words(delivery, enabled=endpoint.enabled)],
        ],
        h.td(data_label="Event")[
            h.code[delivery.event.value], " ", h.span(".simulated")["simulated"] if is_simulated else None
        ],
        h.td(data_label="Of")[moment(delivery.created_at)],
        h.td(".words", data_label="Payload")[
            h.details[
                h.summary["Payload"],
                h.div(".prose.mono", tabindex="0", role="region", aria_label="Payload")[outsider(body, most=None)],
            ]
        ],
        h.td[None if visit.signed_in.is_read_only else _again(visit, delivery, path)],
    ]


def _again(visit: Visit, delivery: WebhookDelivery, path: str) -> h.Element:
    return visit.form_of(
        f"{path}/redeliver",
        h.input(type="hidden", name="delivery", value=delivery.id),
        h.button(type="submit", aria_label=f"Send again: {delivery.event.value} of {delivery.created_at}")[
            "Send again"
        ],
    )
