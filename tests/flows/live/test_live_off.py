"""The options of the live streams on a real service: with ``off`` Redis has no key of theirs, as the metrics say."""

from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from clearhold.store.redis_log.connect import connect_sync
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService, free_port
from tests.support.waiting import eventually


def test_given_live_off_then_nothing_is_written_and_the_rest_stays_and_on_again_the_hole_is_filled(
    tmp_path: Path,
) -> None:
    data, metrics = tmp_path / "data", free_port()
    with RunningService(data, "--scorers", "0") as service, closing(connect_sync(data / "redis.sock")) as client:
        bank = RunningBank(service, "payroll")
        program = bank.program["id"]
        bank.ask("POST", f"/api/kri/snapshot/{program}")
        eventually(lambda: client.xlen(f"out:{program}") > 0)
        before: Any = client.xrange(f"out:{program}")

    off = RunningService(data, "--scorers", "0", "--live", "off", "--metrics-port", str(metrics))
    with off, closing(connect_sync(data / "redis.sock")) as client:
        RunningBank(off, tenant=bank.tenant).ask("POST", f"/api/kri/snapshot/{program}")
        assert client.xrange(f"out:{program}") == before
        figures = httpx.get(f"http://127.0.0.1:{metrics}/metrics").text
        assert "clearhold_live_enabled 0.0" in figures
        assert "clearhold_live_published_entries_total 0.0" in figures

    on = RunningService(data, "--scorers", "0", environment={"CLEARHOLD_LIVE": "on", "CLEARHOLD_LIVE_HOURS": "1"})
    with on, closing(connect_sync(data / "redis.sock")) as client:
        eventually(lambda: client.xlen(f"out:{program}") > len(before))
        RunningBank(on, tenant=bank.tenant).ask("POST", f"/api/kri/snapshot/{program}")
        eventually(lambda: 0 < client.ttl(f"out:{program}") <= 3_600)
        after: Any = client.xrange(f"out:{program}")
        assert after[: len(before)] == before
