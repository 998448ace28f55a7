"""A snapshot of the indicators is read by its id, and history that is loaded has one for each of its days."""

from tests.support.live_feed import LiveBank, LiveFeed


def test_given_a_snapshot_that_was_asked_for_when_its_id_is_read_then_it_is_whole(feed: LiveFeed) -> None:
    feed.send_usual(range(1, 30))
    feed.settle()

    snapshot_id = feed.bank.post(f"/api/kri/snapshot/{feed.id}")["snapshotId"]

    snapshot = feed.bank.get(f"/api/kri/snapshots/{snapshot_id}")
    fields = {"id", "tenantId", "programId", "asOf", "windowDays", "kris", "programScore", "programScoreN"}
    assert fields | {"programScoreVersion", "createdAt"} <= set(snapshot)
    assert (snapshot["id"], snapshot["programId"]) == (snapshot_id, feed.id)
    assert snapshot["tenantId"] == feed.bank.tenant["id"]
    listed = feed.bank.get(f"/api/kri/snapshots?programId={feed.id}")
    rows = listed["data"] if isinstance(listed, dict) else listed
    assert snapshot_id in [row["id"] for row in rows]
    assert feed.bank.get(f"/api/reports/program/{feed.id}")["kris"].keys() == snapshot["kris"].keys()


def test_given_a_snapshot_of_another_tenant_when_its_id_is_read_then_it_is_unknown(live_bank: LiveBank) -> None:
    answer = live_bank.call("GET", "/api/kri/snapshots/0b0c4a53-0000-4000-8000-000000000001")

    assert answer.status_code == 404


def test_given_history_when_it_is_loaded_then_each_past_day_has_one_snapshot_as_of_its_end(feed: LiveFeed) -> None:
    feed.send_usual(range(3, 13))
    feed.settle()

    listed = feed.bank.get(f"/api/kri/snapshots?programId={feed.id}&limit=100")
    rows = listed["data"] if isinstance(listed, dict) else listed
    of_history = [row for row in rows if row.get("cause") == "history"]
    days = [row["asOf"][:10] for row in of_history]
    assert len(days) == len(set(days)) >= 9
