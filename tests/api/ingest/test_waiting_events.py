"""The events of one program that may wait to be scored: further ones are refused, and those of others are taken."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest

from clearhold.api.ingest import routes
from clearhold.api.ingest.routes import MOST_EVENTS, MOST_WAITING
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.log_entry import shard_of
from tests.api.ingest.test_batch import receipts, send
from tests.api.ingest.test_ingest import an_event, bank_entries
from tests.support.running_app import SHARDS, RunningApp, assert_refused

LIMIT: Final = 6
SHARED_LIMIT: Final = 3

Deliver = Callable[[RunningApp, dict[str, Any], str], httpx.Response]


def one(api: RunningApp, program: dict[str, Any], event_id: str) -> httpx.Response:
    answer: httpx.Response = api.deliver(program, an_event(event_id))
    return answer


def batch(api: RunningApp, program: dict[str, Any], event_id: str) -> httpx.Response:
    answer: httpx.Response = send(api, program, b"\n".join(an_event(f"{event_id}_{each}") for each in range(2)))
    return answer


BOTH: Final = pytest.mark.parametrize("deliver", [one, batch])


@pytest.fixture
def limited(api: RunningApp, monkeypatch: pytest.MonkeyPatch) -> RunningApp:
    monkeypatch.setattr(routes, "MOST_WAITING", LIMIT)
    monkeypatch.setattr(routes, "MOST_WAITING_SHARED", SHARED_LIMIT)
    return api


def neighbours(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> list[dict[str, Any]]:
    """A program of the same shard, and one of a different shard."""
    others = [api.create_program(tenant, slug=f"other-{each}") for each in range(4 * SHARDS)]
    shard = shard_of(program["id"], SHARDS)
    same = next(each for each in others if shard_of(each["id"], SHARDS) == shard)
    return [same, next(each for each in others if shard_of(each["id"], SHARDS) != shard)]


@BOTH
def test_given_a_program_with_the_most_waiting_events_when_more_come_then_they_are_refused_and_not_stored(
    deliver: Deliver, limited: RunningApp, program: dict[str, Any]
) -> None:
    for each in range(LIMIT):
        assert one(limited, program, f"evnt_{each}").status_code == 200

    refused = deliver(limited, program, "evnt_more")

    assert_refused(refused, 503, "events of this program wait to be scored")
    assert refused.json()["code"] == "overloaded"
    assert refused.headers["retry-after"] == "1"
    assert len(bank_entries(limited)) == LIMIT


@BOTH
def test_given_a_program_with_the_most_waiting_events_when_others_deliver_then_theirs_are_taken(
    deliver: Deliver, limited: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    others = neighbours(limited, tenant, program)
    for each in range(LIMIT):
        one(limited, program, f"evnt_{each}")
    assert deliver(limited, program, "evnt_more").status_code == 503

    for other in others:
        assert deliver(limited, other, "evnt_other").status_code == 200


@BOTH
def test_given_a_program_that_was_refused_when_its_events_are_scored_then_the_same_delivery_is_taken(
    deliver: Deliver, limited: RunningApp, program: dict[str, Any]
) -> None:
    for each in range(LIMIT):
        one(limited, program, f"evnt_{each}")
    assert deliver(limited, program, "evnt_more").status_code == 503
    limited.catch_up()

    assert deliver(limited, program, "evnt_more").status_code == 200

    assert len(bank_entries(limited)) == LIMIT + (2 if deliver is batch else 1)


def taken(api: RunningApp, program: dict[str, Any], label: str) -> int:
    """The number of events that are taken before one is refused."""
    for number in range(2 * LIMIT):
        if one(api, program, f"evnt_{label}_{number}").status_code == 503:
            return number
    return 2 * LIMIT


def test_given_a_neighbour_in_the_shard_then_fewer_events_of_a_program_may_wait(
    limited: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    same, elsewhere = neighbours(limited, tenant, program)

    one(limited, elsewhere, "evnt_elsewhere")
    assert taken(limited, program, "alone") == LIMIT
    limited.catch_up()
    one(limited, same, "evnt_same")
    assert taken(limited, program, "beside") == SHARED_LIMIT
    assert taken(limited, same, "both") == SHARED_LIMIT - 1


@pytest.mark.parametrize(("hours", "most"), [(23, SHARED_LIMIT), (25, LIMIT)])
def test_given_a_neighbour_without_events_for_a_day_then_the_shard_is_the_programs_alone(
    hours: int, most: int, limited: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    same, _ = neighbours(limited, tenant, program)
    one(limited, same, "evnt_same")
    one(limited, program, "evnt_own")
    limited.catch_up()

    limited.clock.advance(hours * HOUR_US)
    one(limited, program, "evnt_later")
    limited.catch_up()

    assert taken(limited, program, "later") == most


def test_given_batches_that_come_at_once_then_those_on_the_way_count_as_waiting(
    limited: RunningApp, program: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(8) as senders:
        answers = [*senders.map(lambda number: batch(limited, program, f"evnt_{number}").status_code, range(40))]

    assert set(answers) == {200, 503}
    assert answers.count(200) == LIMIT // 2
    assert len(bank_entries(limited)) == LIMIT


def test_given_a_wrong_signature_when_the_most_events_wait_then_the_answer_does_not_tell(
    limited: RunningApp, program: dict[str, Any]
) -> None:
    for each in range(LIMIT):
        one(limited, program, f"evnt_{each}")

    assert_refused(limited.deliver(program, an_event("evnt_more"), **{"Bank-Signature": "0" * 64}), 401)


def test_given_repeats_and_other_commands_then_only_events_that_wait_count(
    limited: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    for _ in range(2 * LIMIT):
        assert one(limited, program, "evnt_1").status_code == 200
    for _ in range(LIMIT):
        transfer = {
            "rail": "wire",
            "direction": "outgoing",
            "amountCents": "100",
            "counterparty": {"name": "New Vendor LLC"},
        }
        asked = {"programId": program["id"], "transfer": transfer}
        assert limited.client.post("/api/preflight", json=asked, headers=limited.operator(tenant)).status_code == 201

    assert one(limited, program, "evnt_2").status_code == 200


def test_given_full_batches_then_as_many_are_taken_as_the_documents_say(
    api: RunningApp, program: dict[str, Any]
) -> None:
    def full(number: int) -> Any:
        return send(api, program, b"\n".join(an_event(f"evnt_{number}_{each}") for each in range(MOST_EVENTS)))

    for number in range(MOST_WAITING // MOST_EVENTS):
        assert len(receipts(full(number))) == MOST_EVENTS

    assert_refused(full(99), 503, f"{MOST_WAITING:,} events of this program")
