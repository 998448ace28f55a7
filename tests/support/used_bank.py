"""A bank whose service was used, and stopped: to be harmed, copied, checked and started again."""

import shutil
from collections.abc import Mapping
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tests.support.alerting import ALERTING, DETECTOR, outgoing
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed

ALONE: Final = ("--scorers", "0")
TRANSFERS: Final = 40


class Bank:
    """A program, a few transfers, one decision on an alert."""

    def __init__(self, data: Path, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        with RunningService(data, *ALONE, environment=environment) as service:
            tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
            self.token = tenant["operatorToken"]
            self.headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
            program = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
            self.program = service.admin("/api/admin/programs", program)
            self.bodies = [outgoing("acht_0", **ALERTING)]
            self.bodies += [outgoing(f"acht_{number}") for number in range(1, TRANSFERS)]
            post_until_taken(service, self.program, self.bodies, within_s=60)
            wait_until_committed(service, tenant["operatorToken"], f"acht_{TRANSFERS - 1}")
            (alert,) = self.get(service, f"/api/alerts?transferId=acht_0&detector={DETECTOR}")["data"]
            decision = msgspec.json.encode({"decision": "close", "narrative": "It was right, as they said."})
            headers = self.headers | {"Content-Type": "application/json"}
            service.ask("POST", f"/api/alerts/{alert['id']}/decide", headers, decision, expect=201)

    def copied(self, folder: Path) -> Self:
        """The same, in a directory of its own."""
        twin = copy(self)
        twin.data = Path(shutil.copytree(self.data, folder / "data", ignore=shutil.ignore_patterns("*.sock")))
        return twin

    def get(self, service: RunningService, path: str) -> Any:
        return service.ask("GET", path, self.headers)

    def segments(self) -> list[Path]:
        """The files of the program's shard, oldest first."""
        folders = (self.data / "lake" / "log").glob("shard=*")
        (paths,) = (files for folder in folders if (files := sorted(folder.rglob("*.parquet"))))
        return paths

    def losses(self, service: RunningService) -> list[dict[str, Any]]:
        """The links about losses, of a record that holds."""
        assert self.get(service, "/api/record/verify")["ok"]
        export = self.text(service, "/api/record/export")
        lines = [msgspec.json.decode(line) for line in export.splitlines()]
        return [line["body"] for line in lines if line["kind"] == "action"]

    def text(self, service: RunningService, path: str) -> bytes:
        with closing(service.connect()) as connection:
            connection.request("GET", path, headers=self.headers)
            return connection.getresponse().read()
