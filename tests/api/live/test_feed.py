"""Each commit comes to readers of the feed: to each the events that it may see and wants, once, and in order."""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from clearhold.flows.live.positions import Position, ShardPlace
from tests.support.listening import Listener, Told
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService
from tests.support.waiting import eventually

SCORED = "transfer.scored"
PAGE: Final = (Path(__file__).parents[3] / "docs" / "live.md").read_text(encoding="utf-8")


def send_wires(feed: LiveFeed, numbers: Iterable[int], *, country: str = "US") -> None:
    """A large wire for each number; one to a country under sanctions opens a hard alert."""
    feed.send_all(
        (
            WIRE,
            {"id": f"wire_{feed.id[:8]}_{number}", "amount": 900_000 + number, "entity_id": f"enti_{number % 3}"}
            | {"counterparty_id": f"cpty_{number}", "beneficiary_address": {"country_code": country}},
            now() - DAY + timedelta(minutes=number),
        )
        for number in numbers
    )
    feed.settle()


def numbers_of(told: Iterable[Told]) -> list[int]:
    return [int(each.data["data"]["transferId"].rpartition("_")[2]) for each in told if each.kind == SCORED]


def has_events(listener: Listener, count: int) -> bool:
    return len(listener.events) >= count


def has_scored(listener: Listener, count: int) -> bool:
    return len(listener.of(SCORED)) == count


@pytest.fixture
def listen(live_service: RunningService, live_bank: LiveBank) -> Callable[..., Listener]:
    def listen(query: str = "", *, token: str | None = None, last_id: str = "") -> Listener:
        return Listener(live_service.port, token or live_bank.tenant["operatorToken"], query, last_id=last_id)

    return listen


def a_key(bank: LiveBank, **over: Any) -> dict[str, Any]:
    key: dict[str, Any] = bank.post("/api/keys", {"name": "k", "mode": "live"} | over)
    return key


def test_given_a_reader_when_transfers_are_scored_then_it_gets_each_once_and_in_order(
    feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    with listen(f"?programId={feed.id}") as listener:
        send_wires(feed, range(5))
        eventually(lambda: len(listener.of(SCORED)) == 5)

    assert numbers_of(listener.told) == [0, 1, 2, 3, 4]
    assert {each.data["programId"] for each in listener.events} == {feed.id}
    assert listener.headers["content-type"] == "text/event-stream"
    assert listener.headers["x-accel-buffering"] == "no"
    assert listener.headers["cache-control"] == "no-store"
    assert 1_000 <= (listener.parser.retry or 0) < 3_000
    assert len({each.id for each in listener.events}) == len(listener.events)


def test_given_a_decision_and_a_snapshot_when_committed_then_readers_get_them_in_the_words_of_the_api(
    feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    with listen(f"?programId={feed.id}&kind=alert.opened,alert.changed&kind=disposition.created,kri.snapshot") as all_:
        send_wires(feed, range(2), country="IR")
        alert = next(each for each in feed.alerts() if each["hardSignal"])
        decision = {"decision": "close", "narrative": "The invoice and the contract agree with the payment."}
        made = feed.bank.post(f"/api/alerts/{alert['id']}/decide", decision)
        taken = feed.bank.call("POST", f"/api/kri/snapshot/{feed.id}").json()
        eventually(lambda: all_.of("kri.snapshot") and all_.of("disposition.created"))

    opened = next(each for each in all_.of("alert.opened") if each.data["data"]["alertId"] == alert["id"])
    assert opened.data["severity"] == alert["severity"] == opened.data["data"]["severity"]
    assert opened.data["data"]["hardSignal"] is True
    changed = [each.data["data"] for each in all_.of("alert.changed") if each.data["data"]["alertId"] == alert["id"]]
    assert changed[-1]["status"] == "closed"
    assert all_.of("disposition.created")[-1].data["data"]["dispositionId"] == made["id"]
    assert all_.of("kri.snapshot")[-1].data["data"]["snapshotId"] == taken["snapshotId"]


def test_given_filters_when_readers_listen_then_each_gets_exactly_the_matching_events(
    feed: LiveFeed, live_bank: LiveBank, listen: Callable[..., Listener]
) -> None:
    other = live_bank.feed()
    queries: dict[str, Callable[[dict[str, Any]], bool]] = {
        "": lambda _: True,
        "kind=transfer.scored": lambda each: each["kind"] == SCORED,
        "kind=transfer.scored,alert.opened&band=hold,review": lambda each: (
            each["kind"] in {SCORED, "alert.opened"} and each.get("band") in {"hold", "review"}
        ),
        "severity=high": lambda each: each.get("severity") == "high",
        "severity=low&severity=medium": lambda each: each.get("severity") in {"low", "medium"},
        f"programId={other.id}": lambda each: each["programId"] == other.id,
    }
    both = f"?programId={feed.id},{other.id}"
    with ExitStack() as stack:
        listeners = {
            query: stack.enter_context(listen(f"?{query}" if "programId" in query else f"{both}&{query}".rstrip("&")))
            for query in queries
        }
        send_wires(feed, range(4))
        send_wires(other, range(4), country="IR")
        last = f"wire_{other.id[:8]}_3"
        everything = listeners[""]
        eventually(lambda: any(each.data["data"].get("transferId") == last for each in everything.of(SCORED)))
        expected = {query: [each for each in everything.events if takes(each.data)] for query, takes in queries.items()}
        for query, listener in listeners.items():
            eventually(partial(has_events, listener, len(expected[query])))

    assert expected["severity=high"]
    for query, listener in listeners.items():
        assert listener.events[: len(expected[query])] == expected[query], query


def test_given_readers_of_two_banks_and_keys_when_both_move_money_then_none_gets_more_than_it_may_read(
    live_service: RunningService, live_bank: LiveBank, feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    foreign = LiveBank(live_service)
    theirs, neighbour, played = foreign.feed(), live_bank.feed(), live_bank.feed(source="simulated")
    tokens = {
        "ours": live_bank.tenant["operatorToken"],
        "theirs": foreign.tenant["operatorToken"],
        "live key": a_key(live_bank)["secret"],
        "key of a program": a_key(live_bank, programId=feed.id)["secret"],
        "test key": a_key(live_bank, mode="test")["secret"],
        "few scopes": a_key(live_bank, scopes=["alerts:read"])["secret"],
    }
    with ExitStack() as stack:
        stack.callback(foreign.close)
        listeners = {name: stack.enter_context(listen(token=token)) for name, token in tokens.items()}
        for number, each in enumerate((feed, theirs, neighbour, played)):
            send_wires(each, [number])
            each.bank.call("POST", f"/api/kri/snapshot/{each.id}")
        ours = listeners["ours"]
        eventually(lambda: {each.data["programId"] for each in ours.of("kri.snapshot")} >= {played.id, feed.id})
        eventually(lambda: listeners["theirs"].of("kri.snapshot") and listeners["test key"].of("kri.snapshot"))
        eventually(lambda: listeners["live key"].of("kri.snapshot") and listeners["few scopes"].of(SCORED))

    seen = {name: {each.data["programId"] for each in listener.events} for name, listener in listeners.items()}
    mine = {feed.id, neighbour.id}
    assert {feed.id, neighbour.id, played.id} <= seen["ours"]
    assert theirs.id not in seen["ours"] | seen["live key"] | seen["test key"]
    assert seen["theirs"] == {theirs.id}
    assert seen["test key"] == {played.id}
    assert seen["key of a program"] == {feed.id}
    assert played.id not in seen["live key"] | seen["few scopes"]
    assert mine <= seen["live key"]
    assert not listeners["few scopes"].of("kri.snapshot")
    for told in ours.events:
        assert ("simulated" in told.data) == (told.data["programId"] == played.id)


def test_given_a_key_that_is_revoked_when_it_listens_then_its_answer_ends_within_seconds_and_no_other(
    feed: LiveFeed, live_bank: LiveBank, listen: Callable[..., Listener]
) -> None:
    key = a_key(live_bank)
    with listen(token=key["secret"]) as listener, listen() as other:
        assert live_bank.call("DELETE", f"/api/keys/{key['id']}").status_code == 200
        began = time.monotonic()
        eventually(lambda: listener.is_done)
        waited = time.monotonic() - began
        send_wires(feed, range(2))
        eventually(lambda: len(other.of(SCORED)) >= 2)

    assert listener.told[-1].kind == "end"
    assert listener.told[-1].data == {"reason": "unauthorized"}
    assert listener.failure is None  # the answer ended as HTTP wants it
    assert waited < 10
    assert not numbers_of(listener.told)


def test_given_a_break_when_a_reader_comes_back_with_any_of_its_ids_then_it_gets_the_rest_once(
    feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    query = f"?programId={feed.id}"
    with listen(query) as first:
        begin = first.last_id
        send_wires(feed, range(6))
        eventually(lambda: len(first.of(SCORED)) == 6)
    send_wires(feed, range(6, 9))
    with listen(query, last_id=begin) as whole:
        eventually(lambda: len(whole.of(SCORED)) == 9)
    everything = [each.data for each in whole.events]

    for place in (0, len(first.events) // 2, len(first.events) - 1):
        with listen(query, last_id=first.events[place].id) as again:
            eventually(partial(has_events, again, len(everything) - place - 1))
        joined = [each.data for each in first.events[: place + 1]] + [each.data for each in again.events]
        assert joined[: len(everything)] == everything  # a minute may have passed since, with its snapshots
    assert not whole.of("resync")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("7", 400),
        ("-1", 400),
        ("0-0.", 400),
        ("9" * 5_000, 400),
        ("1772463845123-0.\xff", 400),
        ("0-0." + "A" * 30_000, 400),
        ("../../etc/passwd", 400),
    ],
)
def test_given_no_id_of_an_event_when_sent_then_it_is_a_400_that_names_the_header(
    live_service: RunningService, live_bank: LiveBank, sent: str, status: int
) -> None:
    bearer = {"Authorization": f"Bearer {live_bank.tenant['operatorToken']}", "X-Operator": "ann"}
    headers = [(name.encode(), value.encode("latin-1")) for name, value in (bearer | {"Last-Event-ID": sent}).items()]
    answer = httpx.get(f"http://127.0.0.1:{live_service.port}/api/live", headers=headers, timeout=60)

    assert answer.status_code == status
    assert answer.json()["fields"] == [{"path": "Last-Event-ID", "code": "malformed"}]


def test_given_an_id_of_another_log_when_sent_then_the_reader_is_told_and_goes_on_from_now(
    feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    ahead = Position({0: ShardPlace(2**62, 1)}).id_after()
    with listen(f"?programId={feed.id}", last_id=ahead) as listener:
        send_wires(feed, range(2))
        eventually(lambda: len(listener.of(SCORED)) == 2)

    assert [each.data for each in listener.of("resync")] == [{"reason": "unknown_position"}]
    assert listener.told[0].kind == "resync"


@pytest.mark.parametrize(
    ("query", "path"),
    [("?programID=x", "programID"), ("?kind=alert.open", "kind[0]"), ("?band=high", "band[0]"), ("?limit=5", "limit")],
)
def test_given_a_wrong_parameter_when_listened_then_it_is_a_400_that_names_it(
    live_bank: LiveBank, query: str, path: str
) -> None:
    answer = live_bank.call("GET", f"/api/live{query}")

    assert answer.status_code == 400
    assert [field["path"] for field in answer.json()["fields"]] == [path]


def test_given_a_key_without_the_scope_of_a_kind_when_it_names_the_kind_then_it_is_a_403(live_bank: LiveBank) -> None:
    key = a_key(live_bank, scopes=["alerts:read", "actions"])

    answer = live_bank.call("GET", "/api/live?kind=action.changed,kri.snapshot", token=key["secret"])

    assert answer.status_code == 403
    assert answer.json()["code"] == "scope_missing"


def test_given_64_readers_when_money_moves_then_all_get_the_same_in_the_same_order(
    feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    with ExitStack() as stack:
        listeners = [stack.enter_context(listen(f"?programId={feed.id}")) for _ in range(64)]
        send_wires(feed, range(30))
        for listener in listeners:
            eventually(partial(has_scored, listener, 30))
        newest = max(len(listener.events) for listener in listeners)
        eventually(lambda: all(len(listener.events) >= newest for listener in listeners))

    first = listeners[0].events[:newest]
    assert numbers_of(first) == [*range(30)]
    assert all(listener.events[:newest] == first for listener in listeners)


def test_given_the_reader_of_the_page_when_it_comes_back_then_it_yields_the_events_and_their_ids(
    live_service: RunningService, feed: LiveFeed, listen: Callable[..., Listener]
) -> None:
    with listen(f"?programId={feed.id}") as listener:
        begin = listener.last_id
        send_wires(feed, range(3))
        eventually(lambda: len(listener.of(SCORED)) == 3)
    code = PAGE.split("### A reader in Python")[1].split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - of the page

    read = names["events"](f"http://127.0.0.1:{live_service.port}", feed.bank.tenant["operatorToken"], begin)
    of_program: list[Told] = []
    while len(of_program) < len(listener.events):
        told = Told(*next(read))
        of_program += [told] if told.data.get("programId") == feed.id else []
    read.close()

    assert [(each.id, each.data) for each in of_program] == [(each.id, each.data) for each in listener.events]
