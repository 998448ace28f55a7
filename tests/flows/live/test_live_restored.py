"""Streams and feed of a service that was restored from a backup: no hole, and no repeat with another content."""

import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from clearhold.store.live.entries import stream_key
from clearhold.store.live.streams import place_of
from clearhold.store.redis_log.connect import connect_sync
from tests.flows.live.test_live_snippets import READER, printed, stored
from tests.flows.live.test_live_snippets import run as run_reader
from tests.support.listening import Listener
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService
from tests.support.waiting import eventually
from tests.support.warm import ran

SCORED: Final = "transfer.scored"
ALONE: Final = ("--scorers", "0", "--live", "on")
Entry = tuple[bytes, dict[bytes, bytes]]


def run(*arguments: str | Path) -> None:
    made = ran(*arguments)
    assert made.returncode == 0, made.stderr


def send(feed: LiveFeed, numbers: Iterable[int]) -> None:
    feed.send_all(
        (
            WIRE,
            {"id": f"wire_{number}", "amount": 900_000 + number, "entity_id": f"enti_{number % 3}"}
            | {"counterparty_id": f"cpty_{number}", "beneficiary_address": {"country_code": "IR"}},
            now() - DAY + timedelta(minutes=number),
        )
        for number in numbers
    )
    feed.settle()


def entries_of(service: RunningService, feed: LiveFeed, *, with_text: bytes) -> list[Entry]:
    """The program's stream, once it has an entry with the text."""
    with closing(connect_sync(service.data / "redis.sock")) as client:

        def entries() -> list[Entry]:
            return cast("list[Entry]", client.xrange(stream_key(feed.id)))

        eventually(lambda: any(with_text in fields[b"event"] for _, fields in entries()))
        return entries()


def read_until(service: RunningService, feed: LiveFeed, folder: Path, text: bytes) -> None:
    """The reader of docs/live.md goes on from its stored place until it has read the text."""
    script, place, output = folder / "reader.py", folder / "place", folder / f"{service.data.name}.printed"
    script.write_text(READER, encoding="utf-8")
    command = [sys.executable, str(script), f"unix://{service.data}/redis.sock", feed.id, str(place)]
    entries = entries_of(service, feed, with_text=text)
    run_reader(command, output, lambda: stored(place) == entries[-1][0].decode())


def kept_of(entries: list[Entry], *, upto: list[Entry]) -> tuple[list[tuple[int, Any]], dict[str, Any]]:
    """The events up to the last log entry of some, by offset, without changes of alerts; and the last of each alert.

    A restored service makes its tables again from the log. Versions of an alert between two commits are not kept, and
    the log begins with an entry of its own.
    """
    last = place_of(upto[-1][0].decode())[0]
    events, alerts = list[tuple[int, Any]](), dict[str, Any]()
    for entry, fields in entries:
        offset, event = place_of(entry.decode())[0], msgspec.json.decode(fields[b"event"])
        if offset <= last and event["kind"] != "alert.changed":
            events.append((offset, event))
        if offset <= last and event["kind"].startswith("alert."):
            alerts[event["data"]["alertId"]] = event["data"]["status"], event["data"]["bandAtAlert"]
    return events, alerts


def scored(listener: Listener) -> list[str]:
    return [each.data["data"]["transferId"] for each in listener.of(SCORED)]


def test_given_a_backup_that_is_restored_when_it_goes_on_then_streams_and_feed_continue_from_its_log(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data", *ALONE) as service:
        bank = LiveBank(service)
        feed, token = bank.feed(), bank.tenant["operatorToken"]
        with Listener(service.port, token) as listener:
            send(feed, range(10))
            eventually(lambda: len(listener.of(SCORED)) == 10)
            middle = listener.of(SCORED)[4].id
            saved = entries_of(service, feed, with_text=b"wire_9")
            run("backup", "--data", service.data, "--to", tmp_path / "backup", "--with-secrets")
            send(feed, range(10, 15))  # lost with the machine
            eventually(lambda: len(listener.of(SCORED)) == 15)
            lost = listener.of(SCORED)[-1].id
            read_until(service, feed, tmp_path, b"wire_14")
        service.kill()

    run("restore", tmp_path / "backup", "--data", tmp_path / "restored")
    restored = RunningService(tmp_path / "restored", *ALONE)
    restored.port = service.port
    with restored, closing(bank):
        assert kept_of(entries_of(restored, feed, with_text=b"wire_9"), upto=saved) == kept_of(saved, upto=saved)
        read_until(restored, feed, tmp_path, b"wire_9")
        with Listener(restored.port, token, last_id=lost) as ahead:
            assert [each.data for each in ahead.told] == [{"reason": "unknown_position"}]
        with Listener(restored.port, token, last_id=middle) as behind:
            send(feed, range(20, 23))
            eventually(lambda: len(behind.of(SCORED)) == 8)
        went_on = entries_of(restored, feed, with_text=b"wire_22")
        read_until(restored, feed, tmp_path, b"wire_22")
        assert [each for each, _ in printed(tmp_path / "restored.printed")] == [each.decode() for each, _ in went_on]
        assert place_of(went_on[-1][0].decode()) > place_of(lost.partition(".")[0])
        with Listener(restored.port, token, last_id=lost) as passed:
            assert [each.data for each in passed.told] == [{"reason": "unknown_position"}]
        with Listener(restored.port, token, last_id=behind.last_id) as same:
            send(feed, range(23, 24))
            eventually(lambda: scored(same) == ["wire_23"])

    assert scored(behind) == [f"wire_{number}" for number in (5, 6, 7, 8, 9, 20, 21, 22)]
    assert not behind.of("resync") + same.of("resync")
    assert kept_of(went_on, upto=saved) == kept_of(saved, upto=saved)
    places = [tuple(map(int, entry.split(b"-"))) for entry, _ in went_on]
    assert places == sorted(set(places))
