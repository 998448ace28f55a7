"""From supervised back to standard takes a second person; from standard to trusted takes evidence."""

import pytest

from tests.support.live_feed import LiveFeed


def test_given_a_supervised_program_when_another_person_agrees_then_it_is_standard_again_without_evidence(
    feed: LiveFeed,
) -> None:
    bank, path = feed.bank, f"/api/autonomy/{feed.id}"
    assert bank.post(path, {"tier": "supervised", "note": "To be sure."})["tier"] == "supervised"

    action = bank.post(path, {"tier": "standard", "note": "It was a mistake."})
    waiting = bank.get(path)["tier"]
    approved = bank.post(f"/api/actions/{action['id']}/approve", {"approverId": "ben"})

    assert (action["status"], waiting, approved["status"]) == ("requested", "supervised", "executed")
    assert bank.get(path)["tier"] == "standard"


def test_given_a_supervised_program_when_the_same_person_agrees_then_it_stays_supervised(feed: LiveFeed) -> None:
    bank, path = feed.bank, f"/api/autonomy/{feed.id}"
    bank.post(path, {"tier": "supervised", "note": "To be sure."})

    action = bank.post(path, {"tier": "standard", "note": "It was a mistake."})
    approved = bank.post(f"/api/actions/{action['id']}/approve", {"approverId": "Ann"})

    assert approved["status"] == "refused"
    assert bank.get(path)["tier"] == "supervised"


@pytest.mark.parametrize("first", ["standard", "supervised"])
def test_given_a_program_without_evidence_when_it_is_to_be_trusted_then_it_is_refused(
    feed: LiveFeed, first: str
) -> None:
    path = f"/api/autonomy/{feed.id}"
    if first == "supervised":
        feed.bank.post(path, {"tier": "supervised", "note": "To be sure."})

    answer = feed.bank.call("POST", path, {"tier": "trusted", "note": "Now."})

    assert (answer.status_code, answer.json()["code"]) == (409, "autonomy_not_eligible")
