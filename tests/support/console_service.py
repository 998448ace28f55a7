"""``clearhold serve`` behind a browser: a bank whose events are signed webhooks, to be killed, stopped and started."""

import hashlib
import hmac
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import httpx
from playwright.sync_api import Browser

from clearhold.features.core.instants import DAY_US
from tests.support.alerting import ALERTING, outgoing
from tests.support.bank_events import rfc3339
from tests.support.console_demo import ANN, DESK, Person
from tests.support.running_service import RunningService
from tests.support.waiting import eventually

ANSWERS_WITHIN_S: Final = 60.0


class ConsoleService:
    """``tenant`` and ``program`` are as the service created them."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(exist_ok=True)
        self.service = RunningService(folder / "data", environment=environment)
        self.url = f"http://127.0.0.1:{self.service.port}"

    def __enter__(self) -> Self:
        self.service.start()
        self.tenant = self.new_tenant("bank")
        self.program = self.new_program(self.tenant)
        return self

    def __exit__(self, *_: object) -> None:
        self.service.__exit__()

    @property
    def token(self) -> str:
        token: str = self.tenant["operatorToken"]
        return token

    def new_tenant(self, slug: str) -> dict[str, Any]:
        return self.service.admin("/api/admin/tenants", {"slug": slug, "name": f"The {slug}"})

    def new_program(self, tenant: Mapping[str, Any], name: str = "Payroll") -> dict[str, Any]:
        return self.service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": name.lower(), "name": name})

    def deliver(self, *bodies: bytes) -> None:
        """Post events as the bank would."""
        with httpx.Client(base_url=self.url, timeout=ANSWERS_WITHIN_S) as client:
            for body in bodies:
                sign = hmac.new(self.program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
                answer = client.post(
                    f"/api/ingest/bank/{self.program['id']}", content=body, headers={"Bank-Signature": sign}
                )
                assert answer.status_code == httpx.codes.OK, answer.text

    def ago(self, days: int) -> str:
        """An instant of the bank's, days before now."""
        return rfc3339(time.time_ns() // 1_000 - days * DAY_US)

    def stacks(self, *accounts: str) -> list[dict[str, Any]]:
        """New stacks of one alert each, one of each account."""
        for each in accounts:
            self.deliver(outgoing(f"acht_{each}", bank_account_id=each, counterparty_id=f"cpty_{each}", **ALERTING))
        return [self._stack_of(each) for each in accounts]

    def _stack_of(self, account: str) -> dict[str, Any]:
        return self.stack_where(lambda each: each["kind"] == "account" and each["who"]["id"] == account)

    def stack_where(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first stack of which this holds, once there is one."""

        def read() -> list[dict[str, Any]]:
            return [each for each in self.read("/api/stacks", limit="100")["data"] if is_wanted(each)]

        eventually(read, within_s=ANSWERS_WITHIN_S)
        return read()[0]

    def read(self, path: str, **query: str) -> Any:
        return self.sent("GET", path, params=query)

    def sent(self, method: str, path: str, *, by: str = ANN, **parts: Any) -> Any:
        """The answer of the interface to an operator."""
        headers = {"Authorization": f"Bearer {self.token}", "X-Operator": by} | parts.pop("headers", {})
        answer = httpx.request(method, self.url + path, headers=headers, timeout=ANSWERS_WITHIN_S, **parts)
        assert answer.is_success, answer.text
        return answer.json()

    def decisions_on(self, alert_id: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.read("/api/dispositions", alertId=alert_id)["data"]
        return listed

    def person(self, browser: Browser, name: str = ANN, token: str | None = None, **options: Any) -> Person:
        """A browser of its own, in which this person is signed in."""
        options = {"viewport": {"width": DESK[0], "height": DESK[1]}} | options
        person = Person(browser.new_context(base_url=self.url, **options), name)
        person.sign_in(token or self.token)
        return person

    @contextmanager
    def stopped_redis(self) -> Iterator[None]:
        """Redis answers nothing, and holds what it is sent, until the end."""
        servers = self.service.redis_pids()
        assert servers
        for each in servers:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in servers:
                os.kill(each, signal.SIGCONT)
