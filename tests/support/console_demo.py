"""``clearhold demo`` behind a browser: started as a person starts it, its live phase over, its service still there."""

import hashlib
import hmac
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import httpx
import msgspec
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.running_service import COMMAND, free_port
from tests.support.waiting import eventually

READY_WITHIN_S: Final = 240.0
OPTIONS: Final = ("--seed", "7", "--days", "35", "--seconds", "6", "--pace", "15")
LAST_WORDS: Final = "The bank has stopped"
"""Of the demo once its live phase is over: the money that moves before would be in one reading and not in the next."""
STOPS_WITHIN_S: Final = 30.0
ANSWERS_WITHIN_S: Final = 30.0
ANN: Final = "ann@bank.example"
BOB: Final = "bob@bank.example"
DESK: Final = (1440, 1000)


HOOKS: Final = "http://127.0.0.1:1024/hooks"
"""Nothing answers there, so a delivery to it has failed."""
RULE: Final[dict[str, Any]] = {
    "id": "large-new-payee",
    "name": "Large to a new payee",
    "scope": "transfer",
    "programId": None,
    "when": [
        {"field": "amountCents", "op": "gte", "value": "500000"},
        {"field": "rail", "op": "in", "value": ["ach", "wire"]},
        {"field": "counterparty.firstTime", "op": "eq", "value": True},
    ],
    "action": "review",
    "severity": "medium",
}
UNUSABLE: Final = (
    b'{"id": "evnt_half_a_cent", "type": "wire.outgoing_transfer.initiated", "created_at": "2026-03-05T17:10:03Z", '
    b'"data": {"id": "wire_half_a_cent", "amount": 9850.5, "bank_account_id": "bacc_1", "currency_code": "USD"}}'
)


class _Program(msgspec.Struct):
    program_id: str
    secret: str


class _Stage(msgspec.Struct):
    operator_token: str
    programs: dict[str, _Program]


class ConsoleDemo:
    """``token`` is the operator's; ``url`` the service's address."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._output = folder / "demo", folder / "output"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._command = [
            sys.executable,
            "-c",
            COMMAND,
            "demo",
            "--data",
            str(self._folder),
            "--port",
            str(port),
            *OPTIONS,
        ]

    def __enter__(self) -> Self:
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.STDOUT)
        end_at = time.monotonic() + READY_WITHIN_S
        while LAST_WORDS not in self._output.read_text("utf-8"):
            assert self._process.poll() is None, self._output.read_text("utf-8")
            assert time.monotonic() < end_at, self._output.read_text("utf-8")
            time.sleep(0.1)
        self._stage = msgspec.json.decode((self._folder / "demo.json").read_bytes(), type=_Stage)
        self.token = self._stage.operator_token
        return self

    def furnish(self) -> None:
        """As at a bank: a key, an endpoint that does not answer, a request that waits, a rule that was backtested whole
        and then previewed, an event that cannot be used.
        """
        self.send("/api/keys", {"name": "payroll originations", "mode": "live", "scopes": ["preflight", "reports"]})
        events = ["alert.opened", "action.approved"]
        endpoint = self.send("/api/webhooks", {"url": HOOKS, "events": events, "description": "Case management"})
        self.send(f"/api/webhooks/{endpoint['id']}/test", {})
        self.send("/api/rules", RULE)
        for full in (True, False):
            self.send(f"/api/rules/{RULE['id']}/backtest", {"full": full})
        program = self._stage.programs["payroll"]
        limit = {"kind": "entity_daily", "capCents": "2500000", "note": "A larger payroll from December."}
        self._sent("POST", f"/api/limits/program/{program.program_id}", by=BOB, json=limit)
        sign = hmac.new(program.secret.encode(), UNUSABLE, hashlib.sha256).hexdigest()
        path, headers = f"/api/ingest/bank/{program.program_id}", {"Bank-Signature": sign}
        assert httpx.post(self.url + path, content=UNUSABLE, headers=headers, timeout=ANSWERS_WITHIN_S).is_success
        eventually(lambda: self.read("/api/events", result="unusable")["data"], within_s=ANSWERS_WITHIN_S)

    def link(self, name: str) -> str:
        """The printed link that signs this person in, once."""
        printed = self._output.read_text("utf-8")
        line = next(each for each in printed.splitlines() if each.strip().startswith(f"as {name}"))
        return line.split()[-1]

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def read(self, path: str, **query: str) -> Any:
        """The answer of the interface."""
        return self._sent("GET", path, params=query)

    def send(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer of the interface to ann."""
        return self._sent("POST", path, json=body)

    def _sent(self, method: str, path: str, *, by: str = ANN, **parts: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "X-Operator": by}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=ANSWERS_WITHIN_S, **parts)
        assert answer.is_success, answer.text
        return answer.json()

    def person(self, browser: Browser, name: str = ANN, **options: object) -> "Person":
        """A browser of its own, in which this person is signed in."""
        options = {"viewport": {"width": DESK[0], "height": DESK[1]}} | options
        person = Person(browser.new_context(base_url=self.url, **options), name)  # type: ignore[arg-type]
        person.sign_in(self.token)
        return person


class Person:
    """A browser with a person; ``faults`` are errors of its console, refused requests and reports of the policy."""

    def __init__(self, context: BrowserContext, name: str) -> None:
        self.context, self.name, self.label = context, name, ""
        self.faults: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def sign_in(self, token: str, wanted: str = "/console/queue") -> None:
        self.page.goto(f"/console/sign-in?next={wanted}")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_label("Your name").fill(self.name)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"**{wanted}")

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.faults.append(text)
