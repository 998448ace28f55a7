"""The feed for a browser: events for the session of the cookie, which end with the session and do not prolong it."""

import pytest

from clearhold.features.core.instants import MINUTE_US
from clearhold.flows.live.feed import FeedLimits
from clearhold.store.sessions import IDLE_US
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

LIVE = "/console/live"
UNATTENDED = {"X-Unattended": "true"}


def test_given_no_session_then_the_feed_is_not_read(console: ConsoleApp) -> None:
    assert console.browser().get(LIVE).status_code == 303
    assert console.browser().part(LIVE).status_code == 401


def test_given_a_session_then_the_feed_answers_and_does_not_prolong_it(browser: Browser, api: RunningApp) -> None:
    for _ in range(2):
        answer = browser.get(LIVE, **UNATTENDED)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.startswith("retry: ")
        api.clock.advance(IDLE_US // 2 + MINUTE_US)
    assert browser.get(LIVE, **UNATTENDED).status_code == 303


def test_given_an_unreadable_last_id_then_it_is_refused(browser: Browser) -> None:
    assert browser.get(LIVE, **{"Last-Event-ID": "nothing"}).status_code == 400


@pytest.mark.parametrize("cause", ["full for the tenant", "full in all", "stopping"])
def test_given_no_room_for_a_reader_then_it_is_refused_as_by_the_interface(
    browser: Browser, api: RunningApp, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = api.services["live"]._feed
    full = FeedLimits(of_tenant=0) if cause == "full for the tenant" else FeedLimits(in_all=0)
    monkeypatch.setattr(feed, *(("_stopping", True) if cause == "stopping" else ("_limits", full)))
    answer = browser.get(LIVE, **UNATTENDED)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert ("The service is stopping" if cause == "stopping" else "Too many readers") in answer.text
