"""Logs of a request that failed: a traceback without what its frames held, and none for a refusal of ours."""

import subprocess
import sys
from typing import Final

PLANTED: Final = "op_plantedTokenThatNobodyMayRead"

_FAILING: Final = f"""
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


_REFUSED: Final = """
from litestar import Request
from api.errors import render_error
from api.logs import configure_logs
from features.errors import UnavailableError

configure_logs()
scope = {"type": "http", "headers": []}
answer = render_error(Request(scope), UnavailableError("The log did not confirm this in time. Try again."))
assert answer.status_code == 503
"""


def test_given_a_refusal_of_ours_when_it_is_logged_then_its_sentence_is_enough() -> None:
    ended = subprocess.run([sys.executable, "-c", _REFUSED], capture_output=True, text=True, check=True)

    assert "did not confirm this in time" in ended.stderr
    assert "frames" not in ended.stderr
