"""The feed of the console in a running service: it ends with the session of its cookie."""

from clearhold.api.console.entry import COOKIE
from tests.support.listening import Listener
from tests.support.live_feed import LiveBank
from tests.support.running_service import RunningService
from tests.support.waiting import eventually


class CookieListener(Listener):
    """Reads the feed of the console, as a browser that is signed in."""

    def __init__(self, port: int, token: str, name: str) -> None:
        super().__init__(port, token)
        del self._client.headers["Authorization"], self._client.headers["X-Operator"]
        answer = self._client.post(
            "/console/sign-in", data={"token": token, "name": name}, headers={"Sec-Fetch-Site": "same-origin"}
        )
        assert answer.status_code == 303, answer.text
        self._client.headers["Cookie"] = f"{COOKIE}={answer.headers['set-cookie'].partition('=')[2].partition(';')[0]}"
        self._path = "/console/live"

    def sign_out(self) -> None:
        page = self._client.get("/console/queue").text
        csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
        headers = {"Sec-Fetch-Site": "same-origin"}
        assert self._client.post("/console/sign-out", data={"csrf": csrf}, headers=headers).status_code == 303


def test_given_a_sign_out_then_the_feed_ends(live_service: RunningService, live_bank: LiveBank) -> None:
    with CookieListener(live_service.port, live_bank.tenant["operatorToken"], "ann@bank.example") as listener:
        assert not listener.is_done
        listener.sign_out()
        eventually(lambda: listener.is_done)
    assert [each.data["reason"] for each in listener.told if each.kind == "end"] == ["unauthorized"]
