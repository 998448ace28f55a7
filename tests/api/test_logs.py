"""Logs of a failed request: the traceback, and nothing that a frame held."""

import subprocess
import sys

PLANTED = "op_plantedTokenThatNobodyMayRead"

_FAILING = f"""
import structlog
from api.logs import configure_logs

def handler(headers):
    raise OverflowError("date value out of range")

configure_logs()
try:
    handler({{"authorization": "{PLANTED}"}})
except OverflowError as error:
    structlog.get_logger().error("request_failed", exc_info=error)
"""


def test_given_a_secret_in_a_frame_when_its_failure_is_logged_then_the_secret_is_not() -> None:
    ended = subprocess.run([sys.executable, "-c", _FAILING], capture_output=True, text=True, check=True)

    assert "date value out of range" in ended.stderr
    assert "handler" in ended.stderr
    assert PLANTED not in ended.stderr
