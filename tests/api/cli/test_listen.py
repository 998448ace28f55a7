"""``clearhold listen`` between a real service and a receiver that verifies as receivers do."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, Self

import pytest
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from clearhold.api.http.auth import UNKNOWN_BEARER
from clearhold.features.webhooks.delivery import secret_of
from clearhold.store.control.tenancy import UNKNOWN_PROGRAM
from tests.support.alerting import ALERTING, outgoing
from tests.support.running_bank import RunningBank
from tests.support.running_service import COMMAND, RunningService, free_port, post_until_taken
from tests.support.waiting import eventually
from tests.support.webhook_receiver import Received, WebhookReceiver
from tests.support.webhook_verifiers import assert_verified

LOCAL: Final = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}
WITHIN_S: Final = 60.0
SECRET: Final = secret_of(b"s" * 32)


class Listening:
    """The command as a process of its own, with the lines that it printed."""

    def __init__(self, *options: str, environment: Mapping[str, str] | None = None) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CLEARHOLD_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "listen", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean | dict(environment or {}),
        )
        self.lines: list[str] = []
        self.notes: list[str] = []
        self._readers = [
            threading.Thread(target=lines.extend, args=(stream,), daemon=True)
            for stream, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.notes))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.ended()

    def line(self, *words: str) -> str:
        """The first line with these words, once it is there."""
        eventually(lambda: self.printed(*words) or self.process.poll() is not None, within_s=WITHIN_S)
        assert self.printed(*words), (self.lines, self.notes)
        return self.printed(*words)[0]

    def end(self, sign: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(sign)
        return self.ended()

    def printed(self, *words: str) -> list[str]:
        return [line for line in [*self.lines, *self.notes] if all(word in line for word in words)]

    def ended(self) -> int:
        code = self.process.wait(WITHIN_S)
        for reader in self._readers:
            reader.join(WITHIN_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBank]:
    folder = tmp_path_factory.mktemp("listen")
    with RunningService(folder / "data", "--scorers", "0", environment=LOCAL) as service:
        yield RunningBank(service, "payroll")


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What a command in this process changes of its signals is put back."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def listening(bank: RunningBank, forward_to: str, *options: str) -> Listening:
    environment = {"CLEARHOLD_TOKEN": bank.token}
    return Listening("--forward-to", forward_to, "--url", bank.url, *options, environment=environment)


def endpoint_of(command: Listening) -> str:
    return command.line("Listening as endpoint").split()[3].rstrip(",")


def enabled_of(bank: RunningBank) -> dict[str, Any]:
    return {each["id"]: each["enabled"] for each in bank.ask("GET", "/api/webhooks")}


def test_given_a_listener_when_an_alert_opens_then_its_receiver_gets_what_an_endpoint_is_sent(
    bank: RunningBank,
) -> None:
    with WebhookReceiver() as endpoint, WebhookReceiver(lambda number, _: 200 if number > 1 else 500) as receiver:
        bank.register(endpoint.url, "alert.opened")
        with listening(bank, receiver.url, "--events", "alert.opened", "--program", bank.program["id"]) as command:
            endpoint_id, secret = endpoint_of(command), command.line("secret").split()[-1]
            post_until_taken(bank.service, bank.program, [outgoing("acht_1", **ALERTING)], within_s=60)
            endpoint.wait_for(1)
            alerts = bank.ask("GET", f"/api/alerts?programId={bank.program['id']}")["data"]
            sent, got = endpoint.wait_for(len(alerts)), receiver.wait_for(len(alerts))
            event = assert_verified(got[0], secret)
            assert event["type"] == "alert.opened"
            assert sorted(each.body for each in got) == sorted(each.body for each in sent)
            same = next(each for each in sent if each.body == got[0].body)
            assert fixed_headers(got[0]) == fixed_headers(same)
            delivery_id = got[0].header("Score-Delivery")
            assert command.line("alert.opened", delivery_id, " 500 ")

            bank.ask("POST", f"/api/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver")
            again = receiver.wait_for(len(got) + 1)[-1]
            assert again.body == got[0].body
            bank.ask("POST", f"/api/webhooks/{endpoint_id}/test")
            assert command.line("ping", " 200 ")
            deliveries = bank.ask("GET", f"/api/webhooks/{endpoint_id}/deliveries")
            assert {(each["status"], each["attempts"]) for each in deliveries} == {("pending", 0)}
            assert enabled_of(bank)[endpoint_id]
            assert command.end() == 0
            assert not enabled_of(bank)[endpoint_id]


def fixed_headers(received: Received) -> dict[str, str | None]:
    """What does not change from one attempt to the next, and the names of what does."""
    changing = {"score-signature", "score-delivery", "webhook-timestamp", "webhook-signature"}
    kept = {name: value for name, value in received.headers.items() if name not in {"host", "connection"}}
    return {name: None if name in changing else value for name, value in kept.items()}


def test_given_an_endpoint_of_an_earlier_listener_then_the_next_one_takes_it_and_gets_news_alone(
    bank: RunningBank,
) -> None:
    with WebhookReceiver() as receiver:
        with listening(bank, receiver.url) as first:
            endpoint_id = endpoint_of(first)
            bank.ask("POST", f"/api/webhooks/{endpoint_id}/test")
            assert_verified(receiver.wait_for(1)[0], first.line("secret").split()[-1])
            assert first.end(signal.SIGTERM) == 0
        with listening(bank, receiver.url, "--secret", SECRET) as second:
            assert endpoint_of(second) == endpoint_id
            with listening(bank, receiver.url) as beside:
                assert endpoint_of(beside) != endpoint_id
            ping = bank.ask("POST", f"/api/webhooks/{endpoint_id}/test")
            assert assert_verified(receiver.wait_for(2)[1], SECRET) == ping["payload"]
            assert not second.printed("secret")
            assert second.end() == 0
        assert len(receiver.received) == 2


def test_given_more_than_a_page_of_deliveries_at_once_then_the_receiver_gets_each_of_them(bank: RunningBank) -> None:
    program = bank.create_program("sandbox", source="simulated")
    key = bank.key(mode="test", scopes=["sandbox"])
    run = {"scenario": "structuring_below_threshold", "count": 2}
    with WebhookReceiver() as receiver, listening(bank, receiver.url, "--program", program["id"]) as command:
        path = f"/api/webhooks/{endpoint_of(command)}/deliveries?limit=100"
        bank.ask("POST", f"/api/sandbox/{program['id']}/scenario", run, headers=key, expect=201)
        deliveries = bank.ask("GET", path)
        for _ in range(2):
            deliveries += bank.ask("GET", f"{path}&before={deliveries[-1]['id']}")
        assert len(deliveries) > 2 * 92  # each transfer, and the alerts
        receiver.wait_for(len(deliveries))
        got = {each.header("Score-Delivery") for each in receiver.received}
        assert got >= {each["id"] for each in deliveries}
        assert not command.printed("left out")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--url", "127.0.0.1"], "--url (CLEARHOLD_URL) must be"),
        (["--forward-to", "localhost:3000"], "--forward-to must be"),
        (["--events", "alert.closed"], "--events must be of alert.opened"),
        (["--secret", "whsec_short"], "--secret must be"),
        (["--secret", secret_of(bytes(23))], "--secret must be"),
        (["--secret", secret_of(bytes(24)), "--program", "0b9f0000-0000-4000-8000-000000000000"], UNKNOWN_PROGRAM),
        (["--token", "test_unknown"], UNKNOWN_BEARER),
        (["--url", f"http://127.0.0.1:{free_port()}"], "did not answer"),
        (["--program", "0b9f0000-0000-4000-8000-000000000000"], UNKNOWN_PROGRAM),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_given_a_mistake_then_it_does_not_start_and_says_which(
    bank: RunningBank, options: list[str], words: str
) -> None:
    before = enabled_of(bank)
    given = ["--url", bank.url, "--forward-to", "http://localhost:3000", "--token", bank.token]
    run = CliRunner().invoke(app, ["listen", *given, *options])
    assert (run.exit_code, run.stdout) == (2, "")
    assert words in run.stderr
    assert enabled_of(bank) == before


def test_given_an_error_that_nobody_foresaw_then_the_endpoint_is_removed_all_the_same(
    bank: RunningBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr("clearhold.api.cli.listen.heard", fails)
    given = ["--url", bank.url, "--forward-to", "http://localhost:3000/hooks"]

    run = CliRunner().invoke(app, ["listen", *given, "--token", bank.token])

    assert isinstance(run.exception, ZeroDivisionError)
    assert not enabled_of(bank)[run.stdout.split()[3].rstrip(",")]


def test_given_a_receiver_and_then_a_service_that_are_away_then_it_says_so_and_goes_on_until_it_is_ended(
    bank: RunningBank,
) -> None:
    with listening(bank, f"http://127.0.0.1:{free_port()}/hooks") as command:
        endpoint_id = endpoint_of(command)
        ping = bank.ask("POST", f"/api/webhooks/{endpoint_id}/test")
        assert "refused" in command.line("ping", ping["id"])
        bank.service.kill()
        assert command.line("did not answer", "Trying again")
        bank.service.start()
        assert command.line("answers again")
        another = bank.ask("POST", f"/api/webhooks/{endpoint_id}/test")
        assert "refused" in command.line("ping", another["id"])
        bank.service.kill()
        assert command.end() == 1
        assert command.printed(endpoint_id, "could not be removed")
    bank.service.start()  # for the tests behind this one
