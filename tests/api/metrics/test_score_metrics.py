"""Reliability, precision and recall by score, and drift, over HTTP."""

from typing import Any

import pytest

from tests.support.alerting import deliver, outgoing
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused


def read(api: RunningApp, tenant: dict[str, Any], name: str, **query: Any) -> dict[str, Any]:
    api.catch_up()
    answer = api.client.get(f"/api/metrics/{name}", params=query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    figures: dict[str, Any] = answer.json()
    return figures


def label(api: RunningApp, tenant: dict[str, Any], transfer_id: str, said: str) -> None:
    body = {"transferId": transfer_id, "label": said, "reason": "It is known."}
    assert api.client.post("/api/labels", json=body, headers=api.operator(tenant)).status_code in {200, 201}


def test_given_labels_then_each_tenth_has_the_share_that_went_bad_and_recall_counts_unscored_ones(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, *(outgoing(f"acht_{number}") for number in range(8)))
    for number, said in enumerate(("ok", "bad", "ok", "bad", "bad")):
        label(api, tenant, f"acht_{number}", said)
    label(api, tenant, "acht_0", "bad")
    figures = read(api, tenant, "scores")
    rows = api.stores.database.execute(
        "SELECT transfer_id, score FROM transfer_features WHERE NOT rescored ORDER BY transfer_id"
    ).fetchall()
    scores = dict(rows)
    bad = {"acht_0", "acht_1", "acht_3", "acht_4"}
    labelled = {*bad, "acht_2"}
    assert (figures["windowDays"], len(figures["tenths"]), len(figures["steps"])) == (90, 10, 9)
    for at, tenth in enumerate(figures["tenths"]):
        within = {each for each, score in scores.items() if score is not None and min(score // 10, 9) == at}
        assert (tenth["scoreFrom"], tenth["transfers"]) == (10 * at, len(within))
        assert tenth["observed"]["n"] == len(within & labelled)
        known = within & labelled
        assert tenth["observed"]["value"] == (round(len(within & bad) / len(known), 6) if known else None)
        assert tenth["meanScore"] == (round(sum(scores[each] for each in known) / len(known), 6) if known else None)
    for step in figures["steps"]:
        above = {each for each, score in scores.items() if score is not None and score >= step["scoreFrom"]}
        assert (step["alerted"], step["recall"]["n"]) == (len(above), len(bad))
        assert step["recall"]["value"] == round(len(above & bad) / len(bad), 6)
        assert step["precision"]["n"] == len(above & labelled)


def test_given_few_transfers_in_a_week_then_its_drift_is_not_measured_and_every_week_is_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2"))
    weeks = read(api, tenant, "drift", weeks=4)["weeks"]
    assert [each["week"] for each in weeks] == ["2026-W07", "2026-W08", "2026-W09", "2026-W10"]
    assert [each["n"] for each in weeks] == [0, 0, 0, 2]
    assert {(each["psi"], each["verdict"]) for each in weeks} == {(None, None)}


@pytest.mark.usefixtures("program")
def test_given_a_program_of_another_bank_or_too_long_a_time_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for name, long in (("scores", {"days": 366}), ("drift", {"weeks": 53})):
        headers = api.operator(tenant)
        unknown = api.client.get(f"/api/metrics/{name}", params={"programId": UNKNOWN_ID}, headers=headers)
        assert_refused(unknown, 404)
        assert_refused(api.client.get(f"/api/metrics/{name}", params=long, headers=headers), 400)
