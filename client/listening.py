"""Deliveries of a disabled endpoint, read from the service and posted to a local receiver.

The service sends to public addresses only, so it cannot reach a receiver under development. This module reads the
endpoint's deliveries, signs them as the service would at that moment, and posts the same bodies and headers.

Unit    seconds; ``clock`` in microseconds
Errors  ``RefusedError`` when a retry does not help; an unreachable receiver is a ``Forwarded`` without a status
"""

import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

import httpx
import msgspec

from clearhold.client.answers import TRY_AGAIN_STATUSES, Delivery, RefusedError, UnreachableError
from clearhold.client.client import FIRST_PAUSE_S, MAX_PAUSE_S, ClearholdClient
from clearhold.features.core.instants import pause_after
from clearhold.features.webhooks.delivery import LISTENED_URL, delivery_headers
from clearhold.store.clock import Clock

PAGE: Final = 100
MOST_PAGES: Final = 100
POLL_EVERY_S: Final = 0.5
ANSWER_WITHIN_S: Final = 15.0
_MS: Final = 1_000
_TRIED_AGAIN: Final = TRY_AGAIN_STATUSES | {500}


class Forwarded(msgspec.Struct, frozen=True, kw_only=True):
    """A posted delivery. ``status`` None: the receiver did not answer, for the reason in ``failure``."""

    at: int
    delivery: Delivery
    status: int | None
    failure: str | None
    ms: int


class Forwarder:
    """Posts deliveries to one URL, signed with one secret."""

    def __init__(self, url: str, *, secret: str, clock: Clock) -> None:
        self._url, self._secret, self._clock = url, secret, clock
        self._http = httpx.Client(timeout=ANSWER_WITHIN_S, trust_env=False, follow_redirects=False)
        self._http.headers.clear()  # only the delivery's headers are sent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def forward(self, delivery: Delivery) -> Forwarded:
        """One attempt; only the status of the answer is read."""
        body, at = bytes(delivery.payload), self._clock.now()
        headers = delivery_headers(
            body,
            event=delivery.event,
            event_id=delivery.event_id,
            delivery_id=delivery.id,
            secrets=(self._secret,),
            at=at,
        )
        status, failure, began = None, None, time.perf_counter()
        try:
            with self._http.stream("POST", self._url, content=body, headers=headers) as answer:
                status = answer.status_code
        except httpx.TimeoutException:
            failure = f"no answer within {ANSWER_WITHIN_S:g} s"
        except httpx.TransportError as error:
            failure = f"no answer: {str(error) or type(error).__name__}"
        ms = round((time.perf_counter() - began) * _MS)
        return Forwarded(at=at, delivery=delivery, status=status, failure=failure, ms=ms)


class ListenedEndpoint:
    """An endpoint whose deliveries are read here: enabled while it is listened to, disabled afterwards."""

    def __init__(self, client: ClearholdClient, endpoint_id: str, earlier: Sequence[Delivery]) -> None:
        self._client, self.id = client, endpoint_id
        self._known = {_key(delivery) for delivery in earlier}

    @classmethod
    def open(cls, client: ClearholdClient, *, program_id: str | None, events: Sequence[str]) -> Self:
        """A disabled listening endpoint with these events from now on; else a new one."""
        for endpoint in client.webhooks():
            if endpoint.url == LISTENED_URL and endpoint.program_id == program_id and not endpoint.enabled:
                earlier = client.deliveries(endpoint.id, limit=PAGE)
                client.change_webhook(endpoint.id, {"enabled": True, "events": events})
                return cls(client, endpoint.id, earlier)
        webhook = {"url": LISTENED_URL, "events": events, "programId": program_id, "description": "clearhold listen"}
        return cls(client, client.create_webhook(webhook).id, ())

    def close(self) -> None:
        self._client.delete_webhook(self.id)

    def news(self) -> tuple[list[Delivery], bool]:
        """Deliveries since the last call, new or repeated, oldest first; and whether some may be missing."""
        known_ids = {delivery_id for delivery_id, _ in self._known}
        newest = page = self._client.deliveries(self.id, limit=PAGE)
        news: list[Delivery] = []
        for _ in range(MOST_PAGES):
            news += [delivery for delivery in page if _key(delivery) not in self._known]
            is_complete = len(page) < PAGE or not known_ids.isdisjoint(delivery.id for delivery in page)
            if is_complete:
                break
            page = self._client.deliveries(self.id, limit=PAGE, before=page[-1].id)
        self._known = {_key(delivery) for delivery in newest}
        return news[::-1], not is_complete


def heard(
    endpoint: ListenedEndpoint, on_trouble: Callable[[str], None], *, pause: Callable[[float], None] = time.sleep
) -> Iterator[Delivery]:
    """Deliveries as they come, without an end. An unavailable service is retried at growing intervals."""
    failures = 0
    while True:
        try:
            news, is_incomplete = endpoint.news()
        except (UnreachableError, RefusedError) as error:
            if isinstance(error, RefusedError) and error.status not in _TRIED_AGAIN:
                raise
            failures += 1
            if failures == 1:
                on_trouble(f"{error} Trying again.")
            pause(pause_after(failures, FIRST_PAUSE_S, MAX_PAUSE_S))
            continue
        if failures:
            failures = 0
            on_trouble("The service answers again.")
        if is_incomplete:
            on_trouble(f"More than {PAGE * MOST_PAGES:,} deliveries came at once; the oldest of them are left out.")
        yield from news
        pause(POLL_EVERY_S)


def _key(delivery: Delivery) -> tuple[str, str]:
    """A delivery and its last due time, which only a request for redelivery changes."""
    return delivery.id, delivery.next_attempt_at
