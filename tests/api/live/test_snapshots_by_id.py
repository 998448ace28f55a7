"""A snapshot of the indicators is read by its id, and history that is loaded has one for each of its days."""

from contextlib import closing

from tests.support.live_feed import DAY, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService


def test_given_a_snapshot_that_was_asked_for_when_its_id_is_read_then_it_is_whole(feed: LiveFeed) -> None:
    feed.send_usual(range(1, 30))
    feed.settle()

    snapshot_id = feed.bank.post(f"/api/kri/snapshot/{feed.id}")["snapshotId"]

    snapshot = feed.bank.get(f"/api/kri/snapshots/{snapshot_id}")
    fields = {"id", "tenantId", "programId", "asOf", "windowDays", "kris", "programScore", "programScoreN"}
    assert fields | {"programScoreVersion", "createdAt"} <= set(snapshot)
    assert (snapshot["id"], snapshot["programId"]) == (snapshot_id, feed.id)
    assert snapshot["tenantId"] == feed.bank.tenant["id"]
    assert snapshot in feed.bank.get(f"/api/kri/snapshots?programId={feed.id}")["data"]
    assert feed.bank.get(f"/api/reports/program/{feed.id}")["kris"].keys() == snapshot["kris"].keys()


def test_given_a_snapshot_of_another_tenant_when_its_id_is_read_then_it_is_unknown(
    live_service: RunningService, feed: LiveFeed
) -> None:
    feed.send_usual(range(1, 4))
    feed.settle()
    snapshot_id = feed.bank.post(f"/api/kri/snapshot/{feed.id}")["snapshotId"]

    with closing(LiveBank(live_service)) as other:
        answer = other.call("GET", f"/api/kri/snapshots/{snapshot_id}")

    assert feed.bank.call("GET", f"/api/kri/snapshots/{snapshot_id}").status_code == 200
    assert (answer.status_code, answer.json()["code"]) == (404, "snapshot_not_found")


def test_given_history_when_it_is_loaded_then_each_past_day_has_one_snapshot_as_of_its_end(feed: LiveFeed) -> None:
    feed.send_usual(range(3, 13))
    feed.settle()

    rows = feed.bank.get(f"/api/kri/snapshots?programId={feed.id}&limit=100")["data"]
    ends = sorted(row["asOf"] for row in rows if row["cause"] == "history")
    expected = [f"{(now() - day * DAY).date()}T23:59:59.999Z" for day in range(12, 3, -1)]
    assert ends[:9] == expected  # the day of the newest event may be open still
