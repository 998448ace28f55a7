"""Webhooks of a real service: delivered, verified by the libraries that receivers use, and not forgotten."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.support.alerting import ALERTING, outgoing
from tests.support.running_bank import RunningBank
from tests.support.running_service import COMMAND, RunningService, post_until_taken
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhook_verifiers import assert_verified

LOCAL = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}


def test_given_an_endpoint_when_an_alert_opens_then_it_is_delivered_and_libraries_verify_it(tmp_path: Path) -> None:
    with WebhookReceiver() as receiver, RunningService(tmp_path / "data", environment=LOCAL) as service:
        bank = RunningBank(service, "payroll")
        endpoint = bank.register(receiver.url, "alert.opened")
        post_until_taken(service, bank.program, [outgoing("acht_1", **ALERTING)], within_s=60)
        event = assert_verified(receiver.wait_for(1)[0], endpoint["secret"])
        alerts = bank.ask("GET", "/api/alerts")["data"]
        assert (event["type"], event["tenant"], event["program"]) == (
            "alert.opened",
            "first-bank",
            bank.program["id"],
        )
        assert event["data"]["alertId"] in {alert["id"] for alert in alerts}
        deliveries = f"/api/webhooks/{endpoint['id']}/deliveries"
        eventually(lambda: {each["status"] for each in bank.ask("GET", deliveries)} == {"delivered"})
        delivery = next(
            each for each in bank.ask("GET", deliveries) if each["id"] == receiver.received[0].header("Score-Delivery")
        )
        assert (delivery["attempts"], delivery["lastStatusCode"], delivery["payload"]) == (1, 200, event)


def test_given_a_killed_then_a_rebuilt_service_then_what_was_not_accepted_is_delivered_and_nothing_again(
    tmp_path: Path,
) -> None:
    def answer(number: int, _: BaseHTTPRequestHandler) -> int:
        released.wait(0 if number > 1 else 60)
        return 200

    released = threading.Event()
    with WebhookReceiver(answer) as receiver, RunningService(tmp_path / "data", environment=LOCAL) as service:
        bank = RunningBank(service, "payroll")
        endpoint = bank.register(receiver.url)
        ping = bank.ask("POST", f"/api/webhooks/{endpoint['id']}/test")
        receiver.wait_for(1)
        service.kill()
        service.start()
        again = receiver.wait_for(2)[1]
        released.set()
        assert again.header("Score-Delivery") == ping["id"]
        assert again.body == receiver.received[0].body
        assert_verified(again, endpoint["secret"])
        eventually(lambda: bank.ask("GET", f"/api/webhooks/{endpoint['id']}/deliveries")[0]["status"] == "delivered")
        service.stop()
        rebuilt = subprocess.run(
            [sys.executable, "-c", COMMAND, "rebuild", "--data", str(service.data)], capture_output=True, check=False
        )
        assert rebuilt.returncode == 0, rebuilt.stderr
        service.start()
        assert [each["id"] for each in bank.ask("GET", "/api/webhooks")] == [endpoint["id"]]
        assert bank.ask("GET", f"/api/webhooks/{endpoint['id']}/deliveries") == []
        bank.ask("POST", f"/api/webhooks/{endpoint['id']}/test")
        assert_verified(receiver.wait_for(3)[2], endpoint["secret"])
        assert not [line for line in service.log_lines if endpoint["secret"] in line]
