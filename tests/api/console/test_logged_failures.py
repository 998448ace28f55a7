"""Internal errors of the console in a service as it runs: each has its traceback in the log, without a sent value."""

import contextlib
import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from clearhold.api.console.entry import COOKIE
from clearhold.api.console.way_back import SIGN_IN
from tests.support.running_service import RunningService

BREAKING: Final = """
import clearhold.api.console.passkeys as passkeys
import clearhold.api.http.auth as auth
import clearhold.api.stacks.routes as stacks

of_token = auth.Authenticator.of_token

def breaking_of_token(self, token, access):
    if token.startswith("op_planted"):
        raise ValueError(f"no such token: {token}")
    return of_token(self, token, access)

async def breaking_decide(self, principal, stack_id, request, effect_id):
    typed = request.narrative
    raise RuntimeError(f"cannot write {typed!r}", {"narrative": typed}) from KeyError(typed)

async def breaking_use(self, sent):
    raise TypeError(sent)

auth.Authenticator.of_token = breaking_of_token
stacks.StackService.decide = breaking_decide
passkeys.PasskeyDesk.use = breaking_use
from clearhold.api.cli.main import main
main()
"""
TOKEN: Final = "op_plantedTokenOfAPerson0123456789"
NARRATIVE: Final = "Plantedly typed by a person about Maria Huber."
ALERT: Final = "01890a5d-ac96-774b-bcce-b302099a8057"
PASSKEY: Final = '{"id":"plantedCredential","response":{"signature":"plantedSignature"}}'
SENT: Final = ("planted", "Planted", "Maria Huber")


class PlainBrowser:
    """Sends forms to a running service as a page does; ``secret`` is the value of the session's cookie."""

    def __init__(self, service: RunningService) -> None:
        self._service, self.secret = service, ""

    def send(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
        if self.secret:
            headers["Cookie"] = f"{COOKIE}={self.secret}"
        with contextlib.closing(self._service.connect()) as connection:
            connection.request(method, path, urlencode(form or {}), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie" and value.startswith(f"{COOKIE}="):
                self.secret = value.partition("=")[2].partition(";")[0]
        return answer.status, body


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder: Path = tmp_path_factory.mktemp("failures")
    with RunningService(folder / "data", command=BREAKING) as running:
        yield running


def test_given_an_internal_error_of_a_form_when_it_is_logged_then_nothing_that_a_person_sent_is_in_the_log(
    service: RunningService,
) -> None:
    bank = service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
    ann, stranger = PlainBrowser(service), PlainBrowser(service)
    name = "ann@bank.example"
    assert ann.send("POST", SIGN_IN, {"token": bank["operatorToken"], "name": name})[0] == HTTPStatus.SEE_OTHER
    csrf = ann.send("GET", "/console/people")[1].partition('name="csrf" value="')[2].partition('"')[0]
    decision = {"csrf": csrf, "attempt": "1", "decision": "close", "narrative": NARRATIVE}
    answers = [
        ann.send("POST", "/console/stacks/none/decide", decision | {"alertIds": ALERT}),
        stranger.send("POST", SIGN_IN, {"token": TOKEN, "name": name}),
        stranger.send("POST", f"{SIGN_IN}/passkey", {"credential": PASSKEY}),
        stranger.send("GET", f"/console/openid/callback?code=plantedCode&state=plantedState&token={TOKEN}"),
    ]
    assert [status for status, _ in answers] == [500, 500, 500, 404]
    assert all("Traceback" not in body for _, body in answers)

    lines: list[dict[str, Any]] = [json.loads(line) for line in service.log_lines]
    failures = [line["exception"] for line in lines if line["event"] == "request_failed"]
    assert [each[0]["exc_type"] for each in failures] == ["RuntimeError", "ValueError", "TypeError"]
    frames = [frame for failure in failures for each in failure for frame in each["frames"]]
    assert {"decide", "sign_in", "use"} <= {frame["name"] for frame in frames}
    assert not [frame for frame in frames if frame.get("locals")]
    everything = "\n".join([*service.log_lines, service.output])
    secrets = (ann.secret, csrf, bank["operatorToken"], *SENT)
    assert len(ann.secret) > 20
    assert [each for each in secrets if each in everything] == []
