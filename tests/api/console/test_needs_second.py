"""The workspace says which decisions wait for a second person, before and after one is signed."""

from typing import Any

from tests.api.console.test_workspace import opened, send, the_stack
from tests.support.alerting import NARRATIVE
from tests.support.console import Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import two_persons_for_hard_alerts


def test_given_hard_alerts_of_two_persons_then_the_page_says_which_decisions_wait_and_where_they_are_approved(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    assert "Your signature is enough." in opened(browser, stack_id).text
    two_persons_for_hard_alerts(api, tenant)
    page = opened(browser, stack_id)
    assert "Of hard alerts, close, release and no action wait for a second person." in page.text
    close, hold = (
        next(each.text for each in DomPage(page.text).all("label", class_="choice") if word in each.text)
        for word in ("Close", "Hold")
    )
    assert "needs a second person" in close
    assert "needs a second person" not in hold
    answer = send(browser, page, stack_id, decision="close", narrative=f"{NARRATIVE} {NARRATIVE}")
    assert "waiting for a second person" in answer.text
    assert (
        "A second person finds it on Today and under Approvals."
        in DomPage(answer.text).one("section", id="results").text
    )
