"""Listening through trouble: the pauses between tries, and which answers end it."""

import pytest

from clearhold.client.answers import RefusedError
from clearhold.client.client import ClearholdClient
from clearhold.client.listening import ListenedEndpoint, heard
from tests.support.fake_service import BUSY, fake_service

FAILURES = 1_100
DELIVERIES = "/api/webhooks/w/deliveries?limit=100"
DELIVERY = {
    "id": "d",
    "event": "ping",
    "eventId": "e",
    "payload": {},
    "nextAttemptAt": "2026-09-09T14:02:11.000Z",
}


def listened(client: ClearholdClient) -> ListenedEndpoint:
    return ListenedEndpoint(client, "w", ())


def test_given_a_service_that_is_away_for_long_when_listened_to_then_it_is_tried_until_it_is_back() -> None:
    pauses: list[float] = []
    troubles: list[str] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        assert len(pauses) <= FAILURES

    with (
        fake_service(dict.fromkeys(range(1, FAILURES + 1), BUSY)) as service,
        ClearholdClient(service.url, max_tries=1) as client,
    ):
        service.answers[DELIVERIES] = (200, [[DELIVERY]])  # a list would be one answer a line
        delivery = next(heard(listened(client), troubles.append, pause=pause))

    assert delivery.id == "d"
    assert len(pauses) == FAILURES
    assert pauses == sorted(pauses)
    assert 1 <= pauses[-1] <= 30
    assert troubles[1:] == ["The service answers again."]


def test_given_a_refusal_that_no_other_try_mends_when_listened_to_then_it_ends() -> None:
    with fake_service() as service, ClearholdClient(service.url, max_tries=1) as client:
        service.answers[DELIVERIES] = (401, {"error": "The token is unknown."})
        with pytest.raises(RefusedError, match="unknown"):
            next(heard(listened(client), pytest.fail))

    assert service.requests == 1
