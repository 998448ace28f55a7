"""Replay of a file: order kept, nothing skipped, whatever the connection and the service do."""

import json
import os
import time
from pathlib import Path
from threading import Thread

import pytest
import typer
from typer.testing import CliRunner, Result

from clearhold.api.cli.replay import replay
from clearhold.client.event_lines import MAX_LINE_BYTES
from tests.support.fake_service import (
    BUSY,
    CLOSE,
    DROP,
    PROGRAM,
    SECRET,
    TAKE_THEN_DROP,
    FakeService,
    fake_service,
)


def an_event(number: int) -> bytes:
    return json.dumps({"id": f"evnt_{number}", "created_at": "2026-03-02T15:04:05Z", "type": "ach.x"}).encode()


def a_file(folder: Path, lines: list[bytes], *, ending: bytes = b"\n") -> str:
    path = folder / "events.ndjson"
    path.write_bytes(ending.join(lines) + ending)
    return str(path)


def replayed(service: FakeService | str, file: str, *options: str, secret: str | None = SECRET) -> Result:
    app = typer.Typer()
    app.command()(replay)
    app.command("other")(lambda: None)
    url = service if isinstance(service, str) else service.url
    with_secret = ["--secret", secret] if secret is not None else []
    return CliRunner().invoke(app, ["replay", file, "--url", url, "--program", PROGRAM, *with_secret, *options])


def summary(result: Result) -> dict[str, str]:
    pairs = [line.split() for line in result.stdout.splitlines()]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize("batch", ["1", "7", "32", "1000"])
def test_given_a_file_when_replayed_then_its_lines_are_taken_in_order(tmp_path: Path, batch: str) -> None:
    events = [an_event(number) for number in range(500)]

    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, events), "--batch", batch)

    assert result.exit_code == 0
    assert service.taken == events
    assert summary(result)["accepted"] == "500"


def test_given_a_replayed_file_when_replayed_again_then_all_are_duplicates_and_it_is_a_success(tmp_path: Path) -> None:
    events = [an_event(number) for number in range(40)]
    file = a_file(tmp_path, events)

    with fake_service() as service:
        replayed(service, file)
        again = replayed(service, file)

    assert again.exit_code == 0
    assert (summary(again)["accepted"], summary(again)["duplicates"]) == ("0", "40")
    assert service.taken == events


@pytest.mark.parametrize("trouble", [BUSY, DROP, TAKE_THEN_DROP, CLOSE])
def test_given_trouble_midway_when_replayed_then_every_line_is_taken_once_and_in_order(
    tmp_path: Path, trouble: str
) -> None:
    events = [an_event(number) for number in range(200)]

    with fake_service({2: trouble, 3: trouble, 9: trouble, 15: trouble}) as service:
        result = replayed(service, a_file(tmp_path, events), "--batch", "8")

    assert result.exit_code == 0, result.output
    assert service.taken == events
    assert int(summary(result)["accepted"]) + int(summary(result)["duplicates"]) == 200


def test_given_503_one_at_a_time_when_replayed_then_the_order_is_exact(tmp_path: Path) -> None:
    events = [an_event(number) for number in range(60)]

    with fake_service({5: BUSY, 6: BUSY, 30: BUSY}) as service:
        result = replayed(service, a_file(tmp_path, events), "--batch", "1")

    assert result.exit_code == 0
    assert service.taken == events
    assert summary(result)["retried"] == "3"


def test_given_a_service_that_stays_busy_when_replayed_then_it_gives_up_and_says_from_which_line(
    tmp_path: Path,
) -> None:
    with fake_service(dict.fromkeys(range(4, 1_000), BUSY)) as service:
        result = replayed(
            service, a_file(tmp_path, [an_event(n) for n in range(9)]), "--batch", "1", "--max-tries", "3"
        )

    assert result.exit_code == 1
    assert len(service.taken) == 3
    assert "after 3 tries (503: The log cannot take entries right now); line 4" in result.stderr


def test_given_nobody_listening_when_replayed_then_it_says_so(tmp_path: Path) -> None:
    with fake_service() as service:
        url = service.url

    result = replayed(url, a_file(tmp_path, [an_event(1)]), "--max-tries", "2")

    assert result.exit_code == 1
    assert "took nothing after 2 tries" in result.stderr
    assert "line 1" in result.stderr


def test_given_bad_lines_when_replayed_then_they_are_reported_and_the_others_are_taken(tmp_path: Path) -> None:
    lines = [an_event(1), b"not json", an_event(2), b'{"no":"id"}', b"x" * (MAX_LINE_BYTES + 1), an_event(3)]

    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, lines))

    assert result.exit_code == 1
    assert service.taken == [an_event(1), an_event(2), an_event(3)]
    assert summary(result)["refused"] == "3"
    assert "line 2: Validation failed" in result.stdout
    assert "line 4: Validation failed" in result.stdout
    assert "line 5: the line is longer than 1048576 bytes" in result.stdout


def test_given_a_line_far_over_the_limit_when_replayed_then_the_lines_after_it_keep_their_numbers(
    tmp_path: Path,
) -> None:
    lines = [an_event(1), b"x" * (5 * MAX_LINE_BYTES), b"", b"not json"]

    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, lines))

    assert "line 2: the line is longer" in result.stdout
    assert "line 4: Validation failed" in result.stdout


def test_given_strict_when_a_line_is_refused_then_it_stops_there(tmp_path: Path) -> None:
    lines = [an_event(1), b"not json", *(an_event(number) for number in range(2, 99))]

    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, lines), "--strict", "--batch", "1")

    assert result.exit_code == 1
    assert service.taken == [an_event(1)]
    assert "Stopped at line 2" in result.stderr


def test_given_the_wrong_secret_when_replayed_then_it_stops_at_the_first_line(tmp_path: Path) -> None:
    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, [an_event(n) for n in range(99)]), "--batch", "1", secret="no")

    assert result.exit_code == 1
    assert service.requests == 1
    assert "Stopped at line 1: 401" in result.stderr


def test_given_the_secret_in_the_environment_when_replayed_then_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEARHOLD_INGEST_SECRET", SECRET)

    with fake_service() as service:
        result = replayed(service, a_file(tmp_path, [an_event(1)]), secret=None)

    assert result.exit_code == 0


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n  \n"])
def test_given_blank_lines_and_no_last_newline_when_replayed_then_exactly_the_events_are_posted(
    tmp_path: Path, ending: bytes
) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(ending + ending.join([an_event(1), an_event(2)]))

    with fake_service() as service:
        result = replayed(service, str(path))

    assert result.exit_code == 0
    assert service.taken == [an_event(1), an_event(2)]


@pytest.mark.parametrize(
    ("name", "sentence", "code"),
    [("", "Is a directory", 2), ("absent.ndjson", "No such file", 2), ("empty.ndjson", "holds no events", 1)],
)
def test_given_a_file_that_is_none_when_replayed_then_one_clear_sentence_says_so(
    tmp_path: Path, name: str, sentence: str, code: int
) -> None:
    (tmp_path / "empty.ndjson").write_bytes(b"\n\n")

    result = replayed("http://127.0.0.1:9", str(tmp_path / name))

    assert result.exit_code == code
    assert sentence in result.stderr


def test_given_an_address_that_is_none_when_replayed_then_it_says_so(tmp_path: Path) -> None:
    result = replayed("127.0.0.1:8080", a_file(tmp_path, [an_event(1)]))

    assert result.exit_code == 2
    assert "--url (CLEARHOLD_URL) must be an http:// or https:// address." in result.stderr


def test_given_a_pipe_that_is_still_written_when_replayed_then_events_go_out_before_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    taken_early: list[int] = []

    with fake_service() as service, os.fdopen(reading, "rb") as stream:

        def write_slowly() -> None:
            os.write(writing, an_event(1) + b"\n" + an_event(2) + b"\n{")
            deadline = time.monotonic() + 60
            while len(service.taken) < 2 and time.monotonic() < deadline:
                time.sleep(0.001)
            taken_early.append(len(service.taken))
            os.write(writing, an_event(3)[1:])
            os.close(writing)

        monkeypatch.setattr("clearhold.api.cli.replay._open", lambda _file: (stream, None))
        writer = Thread(target=write_slowly)
        writer.start()
        result = replayed(service, "-")
        writer.join()

    assert result.exit_code == 0
    assert taken_early == [2]
    assert service.taken == [an_event(1), an_event(2), an_event(3)]
