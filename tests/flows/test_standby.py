"""A second node stands by for the log in a named Redis, and takes over in place when the owner is gone."""

import base64
import contextlib
import hashlib
import html
import http.client
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from clearhold.store.nodes.joined import mark_joined
from clearhold.store.nodes.members import members_of
from clearhold.store.record.signed_trees import NoteError, opened_note
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.owner import FENCED_EXIT
from tests.api.cli.test_mixed_up import refusal
from tests.flows.test_backups import run
from tests.flows.test_owner import transfers_in
from tests.support.alerting import ALERTING, outgoing
from tests.support.redis_replicas import replicated_redis
from tests.support.running_bank import RunningBank
from tests.support.running_service import (
    ADMIN_TOKEN,
    RunningService,
    free_port,
    post_until_taken,
    wait_until_committed,
)
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver

ANSWERS_WITHIN_S: Final = 15.0
REGISTRIES_WITHIN_S: Final = 1.0
"""The time in which a standby follows the registries."""

LOCAL: Final = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}


class Nodes:
    """A service with events in its tables, and a joined copy of its stopped directory."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.environment = environment
        (folder / "one").mkdir()
        self.one = RunningService(folder / "one" / "data", "--scorers", "1", environment=environment)
        with self.one:
            self.bank = RunningBank(self.one, "payroll")
            self.post(self.one, "acht_1", "acht_2")
        shutil.copytree(folder / "one" / "data", folder / "two" / "data")
        self.two = RunningService(folder / "two" / "data", "--scorers", "1", environment=environment)

    def join(self) -> None:
        mark_joined(self.two.data)

    def post(self, service: RunningService, *transfers: str) -> None:
        """Post, and wait for the tables."""
        post_until_taken(service, self.bank.program, [outgoing(each) for each in transfers], within_s=60)
        for each in transfers:
            wait_until_committed(service, self.bank.token, each)

    def end(self) -> None:
        for each in (self.one, self.two):
            if each.is_running:
                each.kill()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with replicated_redis(tmp_path, 1) as (primary, _), contextlib.ExitStack() as ending:
        nodes = Nodes(tmp_path, {"CLEARHOLD_REDIS_URL": primary.url, "CLEARHOLD_REDIS_REPLICAS": "1"} | LOCAL)
        ending.callback(nodes.end)
        yield nodes


def roles_of(nodes: Nodes) -> list[str]:
    with closing(connect_sync(nodes.environment["CLEARHOLD_REDIS_URL"])) as client:
        return [each.report.role for each in members_of(client)]


def get(service: RunningService, path: str, token: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "test"} if token else {}
    return httpx.get(f"http://127.0.0.1:{service.port}{path}", headers=headers, timeout=30)


def test_given_a_joined_directory_when_started_beside_the_owner_then_it_stands_by_and_names_the_owner(
    nodes: Nodes,
) -> None:
    nodes.join()
    with nodes.one as one, nodes.two as two:
        nodes.post(one, "acht_3")
        refused = get(two, "/api/transfers/acht_3?full=1", nodes.bank.token)
        eventually(lambda: get(two, "/readyz").json()["behindSeconds"] == 0)
        ready, healthy = get(two, "/readyz"), get(two, "/healthz")

    assert refused.status_code == http.client.SERVICE_UNAVAILABLE
    assert refused.json()["code"] == "standby"
    assert refused.json()["owner"] == f"http://127.0.0.1:{one.port}"
    assert refused.headers["Owner-Location"] == f"http://127.0.0.1:{one.port}/api/transfers/acht_3?full=1"
    assert refused.headers["Retry-After"]
    assert refused.headers["X-Request-Id"] == refused.json()["requestId"]
    assert healthy.status_code == http.client.OK
    assert ready.status_code == http.client.SERVICE_UNAVAILABLE
    assert ready.json()["code"] == "standby"
    assert ready.json()["role"] == "standby"
    assert ready.json()["components"]["redis"] == "up"
    assert transfers_in(two.data) == ["acht_1", "acht_2", "acht_3"]


def test_given_a_browser_that_opens_a_page_of_the_console_on_a_standby_then_it_is_led_to_the_same_page_of_the_owner(
    nodes: Nodes,
) -> None:
    nodes.join()
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    with nodes.one as one, nodes.two as two:
        owner, here = f"http://127.0.0.1:{one.port}", f"http://127.0.0.1:{two.port}"
        pages = {path: httpx.get(f"{here}{path}", headers=browser) for path in ("/console", "/console/queue?a=1&b=<2>")}
        others = [
            httpx.get(f"{here}/console/queue", headers={"Accept": "application/json"}),
            httpx.get(f"{here}/console/queue"),
            httpx.get(f"{here}/api/alerts", headers=browser),
            httpx.get(f"{here}/consoles", headers=browser),
            httpx.post(f"{here}/console/queue", headers=browser),
        ]

    for path, page in pages.items():
        assert (page.status_code, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8"), path
        assert "This node stands by" in page.text
        assert page.headers["Owner-Location"].startswith(f"{owner}/console")
        assert f'<a href="{html.escape(page.headers["Owner-Location"])}">{owner}</a>' in page.text
        assert page.headers["Retry-After"]
        assert page.headers["X-Request-Id"]
        style = page.text.partition("<style>")[2].partition("</style>")[0]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in page.headers["Content-Security-Policy"]
        assert "<script" not in page.text
    for other in others:
        assert other.json()["code"] == "standby"
        assert other.json()["owner"] == owner


def test_given_a_copy_that_has_not_joined_when_started_beside_the_owner_then_it_is_refused(nodes: Nodes) -> None:
    with nodes.one:
        assert "has an owner, which renewed it " in refusal(nodes.two.data, nodes.environment)


def test_given_an_owner_that_is_killed_then_the_standby_answers_within_seconds_and_the_former_owner_stands_by(
    nodes: Nodes,
) -> None:
    nodes.join()
    nodes.one.start()
    with nodes.two as two:
        nodes.post(nodes.one, "acht_3")
        killed_at = time.monotonic()
        nodes.one.kill()
        post_until_taken(two, nodes.bank.program, [outgoing("acht_4")], within_s=60)
        answered_after_s = time.monotonic() - killed_at
        wait_until_committed(two, nodes.bank.token, "acht_4")
        wait_until_committed(two, nodes.bank.token, "acht_3")
        assert get(two, "/readyz").status_code == http.client.OK

        nodes.one.start()
        assert get(nodes.one, "/readyz").json()["role"] == "standby"
        nodes.post(two, "acht_5")
        eventually(lambda: get(nodes.one, "/readyz").json()["behindSeconds"] == 0)
        assert get(nodes.one, "/api/transfers/acht_5", nodes.bank.token).json()["owner"].endswith(str(two.port))
        nodes.one.stop()

    print(f"first 200 after {answered_after_s:.1f} s")
    assert answered_after_s < ANSWERS_WITHIN_S
    every = ["acht_1", "acht_2", "acht_3", "acht_4", "acht_5"]
    assert transfers_in(two.data) == transfers_in(nodes.one.data) == every
    assert "ready http" in two.output


def test_given_a_promotion_that_an_operator_asks_for_then_the_owner_hands_over_within_a_moment_and_ends(
    nodes: Nodes,
) -> None:
    nodes.join()
    nodes.one.start()
    with nodes.two as two:
        nodes.post(nodes.one, "acht_3")
        own = {name: value for name, value in os.environ.items() if not name.startswith("CLEARHOLD_")}
        environment = own | nodes.environment
        again = run("promote", "--data", nodes.one.data, environment=environment)
        assert again.returncode == 0, again.stderr
        assert "owns the log already" in again.stdout
        stopped = run("promote", "--data", nodes.two.data.parent, environment=environment)
        assert stopped.returncode != 0
        eventually(lambda: "standby" in roles_of(nodes))

        nodes.post(nodes.one, "acht_4")
        began = time.monotonic()
        promoted = run("promote", "--data", nodes.two.data, environment=environment)
        assert promoted.returncode == 0, promoted.stderr + promoted.stdout
        assert " owns the log, " in promoted.stdout
        post_until_taken(two, nodes.bank.program, [outgoing("acht_5")], within_s=60)
        print(f"first 200 {time.monotonic() - began:.1f} s after the command began: {promoted.stdout}")
        assert nodes.one.ended_with(within_s=60) == 0
        wait_until_committed(two, nodes.bank.token, "acht_5")

        nodes.one.start()
        assert get(nodes.one, "/readyz").json()["role"] == "standby"
        nodes.one.stop()
    assert transfers_in(two.data) == transfers_in(nodes.one.data) == [f"acht_{number}" for number in range(1, 6)]


def test_given_an_owner_that_was_stopped_when_it_goes_on_then_it_is_fenced_and_has_written_no_row_since(
    nodes: Nodes,
) -> None:
    nodes.join()
    nodes.one.start()
    metrics = free_port()
    two = RunningService(
        nodes.two.data, "--scorers", "1", "--metrics-port", str(metrics), environment=nodes.environment
    )

    def fences() -> str:
        text = httpx.get(f"http://127.0.0.1:{metrics}/metrics", timeout=30).text
        return next((line for line in text.splitlines() if line.startswith("clearhold_fences_total")), "")

    with two:
        nodes.post(nodes.one, "acht_3")
        eventually(lambda: fences() == "clearhold_fences_total 0.0")
        pids = [nodes.one.pid, *nodes.one.scorers()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        nodes.post(two, "acht_4")
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        assert nodes.one.ended_with(within_s=60) == FENCED_EXIT
        eventually(lambda: fences() == "clearhold_fences_total 1.0")
    assert transfers_in(nodes.one.data) == ["acht_1", "acht_2", "acht_3"]
    assert transfers_in(two.data) == ["acht_1", "acht_2", "acht_3", "acht_4"]


@pytest.mark.parametrize("was_stopped", [True, False])
def test_given_keys_announced_and_removed_on_the_owner_when_it_is_killed_then_the_standby_publishes_and_signs_alike(
    nodes: Nodes, *, was_stopped: bool
) -> None:
    nodes.join()
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "test", "Content-Type": "application/json"}
    with nodes.one, contextlib.ExitStack() as ending:
        if was_stopped:
            ending.enter_context(nodes.two)
            nodes.two.stop()
        else:
            ending.enter_context(nodes.two)
        announced = nodes.one.ask("POST", "/api/admin/signing-keys", admin, b'{"purpose":"proof"}', expect=201)
        keys: Any = nodes.one.ask("GET", "/api/admin/signing-keys", admin)
        (signing,) = [key for key in keys if (key["purpose"], key["state"]) == ("checkpoint", "signing")]
        nodes.one.ask("DELETE", f"/api/admin/signing-keys/{signing['kid']}", admin)
        if was_stopped:
            nodes.two.start()
        else:
            time.sleep(REGISTRIES_WITHIN_S)
        nodes.post(nodes.one, "acht_3")
        paths = ("/.well-known/jwks.json", "/api/signing-keys")
        before = [get(nodes.one, path, nodes.bank.token).json() for path in paths]
        eventually(lambda: get(nodes.two, "/readyz").json()["behindSeconds"] == 0)
        nodes.one.kill()

        nodes.post(nodes.two, "acht_4")
        after = [get(nodes.two, path, nodes.bank.token).json() for path in paths]
        note = get(nodes.two, "/api/record/checkpoint?chain=actions", nodes.bank.token).text
    (new,) = [key for key in after[1] if (key["purpose"], key["state"]) == ("checkpoint", "signing")]
    (removed,) = [key for key in after[1] if key["state"] == "removed"]
    assert after == before
    assert announced["kid"] in {key["kid"] for key in after[0]["keys"]}
    opened_note(note, [base64.urlsafe_b64decode(new["x"] + "=")])
    with pytest.raises(NoteError):
        opened_note(note, [base64.urlsafe_b64decode(removed["x"] + "=")])


def test_given_deliveries_of_the_owner_when_it_is_killed_then_the_standby_delivers_the_new_ones_alone(
    nodes: Nodes,
) -> None:
    nodes.join()
    with WebhookReceiver() as receiver:
        nodes.one.start()
        with nodes.two as two:
            on_one = RunningBank(nodes.one, tenant=nodes.bank.tenant)
            endpoint = on_one.register(receiver.url, "alert.opened")
            time.sleep(REGISTRIES_WITHIN_S)
            post_until_taken(nodes.one, nodes.bank.program, [outgoing("acht_a", **ALERTING)], within_s=60)
            path = f"/api/webhooks/{endpoint['id']}/deliveries"
            receiver.wait_for(1)
            eventually(lambda: {each["status"] for each in on_one.ask("GET", path)} == {"delivered"})
            before = len(receiver.received)
            eventually(lambda: get(two, "/readyz").json()["behindSeconds"] == 0)
            nodes.one.kill()

            post_until_taken(two, nodes.bank.program, [outgoing("acht_b", **ALERTING)], within_s=60)
            on_two = RunningBank(two, tenant=nodes.bank.tenant)
            eventually(lambda: len(on_two.ask("GET", path)) > before)
            eventually(lambda: {each["status"] for each in on_two.ask("GET", path)} == {"delivered"})
            ids = [each.header("Score-Delivery") for each in receiver.received]
    assert len(ids) == len(set(ids)) > before


def test_given_a_standby_that_passes_requests_on_then_the_owner_answers_them_once_and_without_it_they_are_refused(
    nodes: Nodes,
) -> None:
    nodes.join()
    two = RunningService(nodes.two.data, "--scorers", "1", "--proxy", environment=nodes.environment)
    key = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "test", "Idempotency-Key": "one"}
    with nodes.one as one, two:
        assert post_until_taken(two, nodes.bank.program, [outgoing("acht_3")], within_s=60) == 0
        wait_until_committed(two, nodes.bank.token, "acht_3")
        body = {"slug": "second-bank", "name": "Second Bank"}
        url = f"http://127.0.0.1:{two.port}/api/admin/tenants"
        made, again = (httpx.post(url, json=body, headers=key, timeout=30) for _ in range(2))
        listed = get(two, "/api/transfers?limit=1", nodes.bank.token)
        unknown = get(two, "/api/transfers/acht_unknown", nodes.bank.token)
        ready = get(two, "/readyz")
        hops = httpx.get(url, headers=key | {"Clearhold-Passed-On": "1"}, timeout=30)
        for pid in (one.pid, *one.scorers()):
            os.kill(pid, signal.SIGKILL)
        refused = get(two, "/api/transfers", nodes.bank.token)
        one.ended_with(within_s=60)

    assert (made.status_code, again.status_code) == (http.client.CREATED, http.client.CREATED)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert made.json()["id"] == again.json()["id"]
    assert listed.status_code == http.client.OK
    assert len(listed.json()["data"]) == 1
    assert (unknown.status_code, unknown.json()["code"]) == (http.client.NOT_FOUND, "transfer_not_found")
    assert unknown.headers["X-Request-Id"] == unknown.json()["requestId"]
    assert len(unknown.headers.get_list("Date")) == 1
    assert ready.json()["role"] == "standby"
    assert (hops.status_code, hops.json()["code"]) == (http.client.SERVICE_UNAVAILABLE, "standby")
    assert (refused.status_code, refused.json()["code"]) == (http.client.SERVICE_UNAVAILABLE, "unavailable")
