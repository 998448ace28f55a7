"""``clearhold demo`` as a person starts it, against the real service."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from clearhold.client.client import ClearholdClient
from clearhold.demo.results import Results
from tests.support.running_service import free_port

ENDS_WITHIN_S = 240
LIVE_S = "12"
PACE = "30"
MOST_ALERTS_PER_1_000 = 20
CANNOT_BE_ASKED_ABOUT = {"one card tested", "round trip"}  # cards and book transfers


@contextmanager
def a_demo(folder: Path, port: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", "from clearhold.api.cli.start import main; main()", "demo"]
    command += ["--data", str(folder), "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as demo:
        try:
            yield demo
        finally:
            demo.terminate()  # of one that a test has failed on; nothing to one that has ended


def read_until(demo: subprocess.Popen[str], sentence: str) -> str:
    """What it says up to and with the sentence, or to its end."""
    assert demo.stdout is not None
    output = ""
    for line in demo.stdout:
        output += line
        if sentence in line:
            break
    return output


def test_given_nothing_when_the_demo_runs_and_ends_then_events_are_scored_and_the_service_is_gone(
    tmp_path: Path,
) -> None:
    port = free_port()
    with a_demo(tmp_path / "demo", port, "--days", "3", "--seconds", "3", "--pace", "15", "--exit") as demo:
        output, _ = demo.communicate(timeout=ENDS_WITHIN_S)

    last = [line for line in output.splitlines() if line.startswith("events ")][-1]
    assert demo.returncode == 0, output
    for program in ("payroll", "remittance", "lending"):
        assert re.search(rf"{program}: .*(clear|review|unscored) \d", last), output
    assert re.search(r"pre-flights .*[1-9]", last), output
    assert re.search(r"event to score p50 \d", last), output
    assert "curl -s" in output
    with ClearholdClient(f"http://127.0.0.1:{port}") as client:
        assert not client.ready()


class Told(msgspec.Struct, frozen=True):
    """A demo that ran until every story was told."""

    results: Results
    output: str


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder, options = tmp_path_factory.mktemp("told") / "demo", ("--seed", "7", "--seconds", LIVE_S, "--pace", PACE)
    with a_demo(folder, free_port(), *options, "--exit") as demo:
        output, _ = demo.communicate(timeout=ENDS_WITHIN_S)
    assert demo.returncode == 0, output
    return Told(msgspec.json.decode((folder / "results.json").read_bytes(), type=Results), output)


def test_given_every_story_when_told_then_each_is_caught_and_the_table_says_so(told: Told) -> None:
    stories, total = told.results.stories, sum(story.planted for story in told.results.stories)

    assert told.results.untold == ()
    assert {story.name: story.missed for story in stories if story.missed} == {}, told.output
    assert f"{total} of {total} planted scenarios caught." in told.output
    assert all(f"\n{story.name} " in told.output for story in stories)


def test_given_every_story_when_asked_about_then_pre_flight_holds_or_reviews_each_that_can_be_asked_about(
    told: Told,
) -> None:
    passed = {story.name for story in told.results.stories if story.held + story.reviewed == 0}

    assert passed == CANNOT_BE_ASKED_ABOUT, told.output
    assert {story.name for story in told.results.stories if story.asked == 0} == CANNOT_BE_ASKED_ABOUT


def test_given_a_history_of_months_when_it_is_loaded_then_every_account_finds_its_owner_at_the_bank(told: Told) -> None:
    assert re.search(r"Owners, from the bank's API: (\d+) of \1 accounts", told.output), told.output


def test_given_everyday_traffic_after_30_days_when_counted_then_people_can_work_its_alerts(told: Told) -> None:
    rates = {one.program: one.alerts_per_1_000 for one in told.results.everyday}

    assert {slug for slug, rate in rates.items() if rate is None or rate > MOST_ALERTS_PER_1_000} == set(), rates


def test_given_a_demo_that_is_left_running_when_interrupted_then_it_stops_the_service_and_can_go_on_later(
    tmp_path: Path,
) -> None:
    port = free_port()
    with a_demo(tmp_path / "demo", port, "--days", "2", "--seconds", "1") as demo:
        output = read_until(demo, "The bank has stopped; the service stays up until Ctrl-C.")
        with ClearholdClient(f"http://127.0.0.1:{port}") as client:
            assert client.ready(), output
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=ENDS_WITHIN_S)
            assert demo.returncode == 0
            assert not client.ready()

    with a_demo(tmp_path / "demo", port, "--keep") as again:
        output = read_until(again, "events ")
        again.send_signal(signal.SIGINT)
        rest, _ = again.communicate(timeout=ENDS_WITHIN_S)
    assert again.returncode == 0, output + rest
    assert "History" not in output
    assert "planted scenarios caught." in rest


def test_given_a_taken_port_when_the_demo_starts_then_one_sentence_says_so(tmp_path: Path) -> None:
    started = time.monotonic()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        a_demo(tmp_path / "demo", server.getsockname()[1]) as demo,
    ):
        output, _ = demo.communicate(timeout=ENDS_WITHIN_S)

    assert demo.returncode == 1
    assert "is taken on 127.0.0.1; name another with --port" in output
    assert time.monotonic() - started < 30
