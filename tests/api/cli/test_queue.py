"""``clearhold queue`` at a terminal of its own: listing, reading and signing; and what it says when that fails."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import pytest

from clearhold.api.cli.terminal import inert
from tests.support.alerting import ALERTING, outgoing
from tests.support.fake_service import FakeService, fake_service
from tests.support.running_service import COMMAND, RunningService, post_until_taken, wait_until_committed

WITHIN_S: Final = 60
HOSTILE: Final = "Ada\x1b[2J\x1b]0;owned\x07\u202e\u200b"
LIST: Final = "/api/stacks?limit=50"
ALERT_LIST: Final = "/api/alerts?limit=50&status=open%2Cheld%2Cescalated"


class AtTerminal:
    """The command with a terminal of its own, which a person reads and types into."""

    def __init__(self, url: str, *options: str, token: str = "op_1") -> None:
        master, slave = pty.openpty()
        command = [sys.executable, "-c", COMMAND, "queue", "--url", url, "--token", token, *options]
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
        os.close(slave)
        self._master, self.shown, self._read_to = master, "", 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    def sees(self, text: str) -> str:
        """Read on until the text is shown."""
        until = time.monotonic() + WITHIN_S
        while text not in self.shown[self._read_to :]:
            assert time.monotonic() < until, f"{text!r} is not in {self.shown[self._read_to :]!r}"
            self._more()
        end = self.shown.index(text, self._read_to) + len(text)
        part, self._read_to = self.shown[self._read_to : end], end
        return part

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def ended(self) -> int:
        until = time.monotonic() + WITHIN_S
        while self._process.poll() is None:
            assert time.monotonic() < until, self.shown
            self._more()
        self._more()
        return self._process.returncode

    def _more(self) -> None:
        if select.select([self._master], [], [], 0.1)[0]:
            try:
                self.shown += os.read(self._master, 65_536).decode()
            except OSError:  # the other side is closed
                time.sleep(0.05)


def an_alert(number: int, **over: Any) -> dict[str, Any]:
    usual = {
        "id": f"00000000-0000-4000-8000-00000000000{number}",
        "programId": "prg_1",
        "detector": "velocity_spike",
        "severity": "high",
        "subjectType": "entity",
        "subjectId": "enti_1",
        "transferId": "acht_1",
        "summary": "Many transfers.",
        "evidence": {"finding": "9 transfers in 24 h."},
        "scoreAtAlert": 80,
        "bandAtAlert": "hold",
        "hardSignal": True,
        "status": "open",
        "openedAt": "2026-03-02T15:04:05.000Z",
        "dueAt": "2026-03-03T15:04:05.000Z",
    }
    return usual | over


def a_stack(number: int, alerts: list[dict[str, Any]], **over: Any) -> dict[str, Any]:
    usual = {
        "id": f"10000000-0000-4000-8000-00000000000{number}",
        "programId": "prg_1",
        "who": {"type": "entity", "id": f"enti_{number}", "name": HOSTILE},
        "words": f"same entity enti_{number}",
        "waiting": len(alerts),
        "dueAt": "2026-03-03T15:04:05.000Z",
        "band": "hold",
        "score": 80,
        "severity": "high",
        "hardSignal": True,
        "sentence": "9 transfers in 24 h.",
    }
    return usual | over


def a_detail(alert: dict[str, Any]) -> dict[str, Any]:
    transfer = {"id": "acht_1", "amountCents": "10000", "currency": "USD", "rail": "ach", "direction": "outgoing"}
    return {
        "alert": alert,
        "transfer": transfer | {"status": "SETTLED", "bankCreatedAt": "2026-03-02T15:04:05.000Z"},
        "reasons": [{"weight": 12, "hard": True, "sentence": f"The payee is {HOSTILE}."}],
        "draft": {"recommendation": "hold", "narrative": "Nine transfers."},
        "dispositions": [],
    }


def a_page(*items: dict[str, Any]) -> dict[str, Any]:
    return {"data": list(items), "hasMore": False, "nextCursor": None}


@contextmanager
def two_stacks() -> Iterator[FakeService]:
    first, second = [an_alert(1), an_alert(2), an_alert(3, status="closed")], [an_alert(4)]
    stacks = [a_stack(1, first[:2]), a_stack(2, second, sentence="A second finding.")]
    with fake_service({}) as service:
        service.answers = {LIST: (200, a_page(*stacks))}
        for stack, alerts in zip(stacks, (first, second), strict=True):
            service.answers[f"/api/stacks/{stack['id']}"] = (200, {"stack": stack, "alerts": alerts})
        for alert in (*first, *second):
            service.answers[f"/api/alerts/{alert['id']}"] = (200, a_detail(alert))
        told = {"isSame": True, "difference": None, "goesToPerson": "A person decides."}
        lower = [{"sentence": "If the payee had been paid before: review with 60 points."}]
        service.answers["/api/transfers/acht_1/explain?programId=prg_1"] = (200, told | {"wouldBeLower": lower})
        yield service


def decided(service: FakeService) -> list[tuple[str, dict[str, Any], str]]:
    """The path, the body and the Idempotency-Key of each decision that was sent."""
    return [
        (path, json.loads(body), headers["Idempotency-Key"])
        for method, path, headers, body in service.asked
        if method == "POST"
    ]


def path_of(number: int) -> str:
    return f"/api/stacks/10000000-0000-4000-8000-00000000000{number}/decide"


def test_given_stacks_when_worked_by_keys_then_one_is_read_and_signed_and_the_next_one_comes() -> None:
    with two_stacks() as service, AtTerminal(service.url, "--operator", "ann") as screen:
        results = [{"alertId": an_alert(n)["id"], "result": "decided", "error": None} for n in (1, 2)]
        answer = {"decision": "hold", "decided": 2, "requested": 0, "refused": 0, "results": results}
        service.answers[path_of(1)] = (200, answer)
        screen.sees("2 read.")
        screen.types("o")
        screen.sees("same entity enti_1, 2 waiting")
        screen.sees("If the payee had been paid before: review with 60 points.")
        screen.types("h")
        screen.sees("hold: why? (empty goes back)")
        screen.types("The payee was called.\n")
        screen.sees("Sign hold on 2 alerts as ann? Type yes:")
        assert decided(service) == []
        screen.types("yes\n")
        screen.sees("Signed: 2 of 2.")
        screen.sees("> 1. ")
        screen.sees("A second finding.")
        screen.types("q")
        assert screen.ended() == 0

        ((path, body, key),) = decided(service)
        ids = [an_alert(number)["id"] for number in (1, 2)]
        assert (path, body) == (
            path_of(1),
            {"decision": "hold", "narrative": "The payee was called.", "alertIds": ids},
        )
        assert key
        assert {headers["X-Operator"] for _, _, headers, _ in service.asked} == {"ann"}


def test_given_no_typed_yes_then_nothing_is_signed_and_a_key_alone_never_signs() -> None:
    with two_stacks() as service, AtTerminal(service.url, "--operator", "ann") as screen:
        screen.sees("2 read.")
        for typed, said in (("\n", "Nothing was signed."), ("Why.\n", "Type yes:")):
            screen.types("jkc")
            screen.sees("close: why?")
            screen.types(typed)
            screen.sees(said)
        screen.types("y\n")
        screen.sees("Not signed here. Your words: Why.")
        screen.types("\x1b[Aq")
        assert screen.ended() == 0
        assert decided(service) == []


def test_given_names_from_outside_with_control_sequences_then_they_are_shown_inert() -> None:
    with two_stacks() as service, AtTerminal(service.url, "--operator", "ann") as screen:
        screen.sees("2 read.")
        screen.types("o")
        screen.sees("The payee is ")
        screen.types("q")
        screen.ended()

    assert inert(HOSTILE) == r"Ada\x1b[2J\x1b]0;owned\x07\u202e\u200b"
    assert inert(HOSTILE) in screen.shown
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u202e]", screen.shown)


def test_given_a_decision_of_another_in_between_when_signed_then_it_is_said_and_the_words_are_shown() -> None:
    with two_stacks() as service, AtTerminal(service.url, "--operator", "ann") as screen:
        service.answers[path_of(1)] = (409, {"error": "This alert is closed, which is final.", "code": "alert_closed"})
        sign(screen, "e", "Mine.")
        screen.sees("Not signed: This alert is closed, which is final.")
        screen.sees("Your words: Mine.")
        screen.sees("A second finding.")
        screen.types("q")
        assert screen.ended() == 0


def test_given_no_answer_when_signed_then_the_same_again_has_the_same_key() -> None:
    with two_stacks() as service, AtTerminal(service.url, "--operator", "ann") as screen:
        service.answers[path_of(1)] = (503, {"error": "The request was accepted but is not confirmed yet."})
        sign(screen, "h", "Mine.")
        screen.sees("It is not known whether it was signed")
        screen.sees("Try the same again? Type yes:")
        service.answers[path_of(1)] = (
            200,
            {"decision": "hold", "decided": 2, "requested": 0, "refused": 0, "results": [{}, {}]},
        )
        screen.types("yes\n")
        screen.sees("Signed: 2 of 2.")
        screen.types("q")
        screen.ended()

        assert len({key for _, _, key in decided(service)}) == 1
        assert len({json.dumps(body) for _, body, _ in decided(service)}) == 1


def sign(screen: AtTerminal, key: str, narrative: str) -> None:
    screen.sees("2 read.")
    screen.types(key)
    screen.sees("why?")
    screen.types(f"{narrative}\n")
    screen.sees("Type yes:")
    screen.types("yes\n")


def test_given_a_service_without_stacks_then_single_alerts_are_worked() -> None:
    with fake_service({}) as service:
        service.answers = {ALERT_LIST: (200, a_page(an_alert(1)))}
        service.answers[f"/api/alerts/{an_alert(1)['id']}/decide"] = (201, {"decision": "close", "hash": "ab12"})
        with AtTerminal(service.url, "--operator", "ann") as screen:
            screen.sees("1 read.")
            screen.types("c")
            screen.sees("why?")
            screen.types("It was explained.\n")
            screen.sees("Sign close on 1 alert as ann? Type yes:")
            screen.types("yes\n")
            screen.sees("Signed: close, link ab12.")
            screen.sees("Nothing waits.")
            screen.types("q")
            assert screen.ended() == 0


@pytest.mark.parametrize(("status", "said"), [(401, "The bearer token is unknown."), (503, "The service is starting.")])
def test_given_a_refused_list_then_the_sentence_of_the_service_is_the_end(status: int, said: str) -> None:
    with fake_service({}) as service:
        service.answers = {LIST: (status, {"error": said})}
        with AtTerminal(service.url, "--operator", "ann") as screen:
            assert screen.ended() == 2
            assert said in screen.shown


def test_given_no_service_then_it_is_said_in_a_sentence() -> None:
    with AtTerminal("http://127.0.0.1:9", "--operator", "ann") as screen:
        assert screen.ended() == 2
        assert "did not answer" in screen.shown
        assert "Traceback" not in screen.shown


def test_given_no_name_at_a_terminal_then_it_is_asked_for() -> None:
    with AtTerminal("http://127.0.0.1:9") as screen:
        assert screen.ended() == 2
        assert "--operator" in screen.shown


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_given_no_terminal_then_the_page_is_printed_as_plain_lines(options: tuple[str, ...]) -> None:
    with two_stacks() as service:
        command = [sys.executable, "-c", COMMAND, "queue", "--url", service.url, "--token", "op_1", *options]
        told = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout

    lines = told.splitlines()
    assert len(lines) == 2
    assert "\x1b" not in told
    if options:
        assert [json.loads(line)["who"]["name"] for line in lines] == [HOSTILE, HOSTILE]
    else:
        assert lines[0].startswith("due 2026-03-03T15:04Z  hold 80, hard, high, 2 alerts  entity enti_1 (Ada")
        assert lines[1].endswith("A second finding.")


def test_given_a_running_service_when_a_stack_is_signed_then_all_its_alerts_are_decided(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data") as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        described = {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"}
        program, token = service.admin("/api/admin/programs", described), tenant["operatorToken"]
        names = [f"acht_{number}" for number in range(2)]
        post_until_taken(service, program, [outgoing(name, **ALERTING) for name in names], within_s=WITHIN_S)
        wait_until_committed(service, token, names[-1])

        with AtTerminal(f"http://127.0.0.1:{service.port}", "--operator", "ann", token=token) as screen:
            screen.sees("2 read.")
            screen.types("o")
            screen.sees("waiting")
            screen.sees("Recomputed: the same")
            screen.types("e")
            screen.sees("why?")
            screen.types("The money went to Iran, twice.\n")
            screen.sees("as ann? Type yes:")
            screen.types("yes\n")
            signed = re.search(r"Signed: (\d+) of (\d+)", screen.sees("."))
            screen.types("q")
            assert screen.ended() == 0

        headers = {"Authorization": f"Bearer {token}", "X-Operator": "ann"}
        decided_by = service.ask("GET", "/api/dispositions?decision=escalate", headers, b"")["data"]
        assert signed is not None
        assert signed[1] == signed[2] == str(len(decided_by))
        assert {each["decidedBy"] for each in decided_by} == {"operator:ann"}
        assert service.ask("GET", "/api/record/verify", headers, b"")["ok"]
