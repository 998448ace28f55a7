"""A program with four months of random traffic and decisions of people behind it: something to report on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from tests.support.alerting import decide
from tests.support.random_streams import WIDTH, Stream
from tests.support.running_app import RunningApp

HAPPENINGS: Final = 110
DECISIONS: Final = 12
ENTRIES_A_SNAPSHOT: Final = 30
_HOURS: Final = (4, 4, 4, 5)  # which of a stream's delays pass between them
DAY: Final = 86_400_000_000
UNMOVED: Final = {
    *("REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"),
    *("CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"),
}
UNAUTHORIZED: Final = {"R05", "R07", "R10", "R11", "R29", "R51"}
MOST_CENTS: Final = 10**12


class ReportedBank:
    def __init__(self, api: RunningApp) -> None:
        self.api, self.tenant = api, api.create_tenant()
        self.program = api.create_program(self.tenant)
        self.quiet = api.create_program(self.tenant, slug="quiet", source="simulated")
        self.headers = api.operator(self.tenant)
        random, stream = Random(4), Stream(self.program["id"])
        for _ in range(HAPPENINGS):
            kind, _, *rest = random.randbytes(WIDTH)
            stream.happen(bytes([kind, random.choice(_HOURS), *rest]))
        for number, entry in enumerate(stream.entries):
            api.clock.at = max(api.clock.at, entry.appended_at)
            api.deliver(self.program, entry.body)  # some of it is odd, and refused
            if number % ENTRIES_A_SNAPSHOT == 0:
                self.take_snapshot()
        api.catch_up()
        self._decide(random)

    def _decide(self, random: Random) -> None:
        waiting = [alert for alert in self.every("/api/alerts") if alert["status"] in {"open", "held"}]
        for alert in random.sample(waiting, DECISIONS):
            self.api.clock.advance(random.randrange(DAY // 4))
            assert decide(self.api, self.headers, alert["id"], "close").status_code == 201
        for alert in random.sample([each for each in waiting if each["status"] == "open"], DECISIONS // 3):
            decide(self.api, self.headers, alert["id"], "escalate")

    def take_snapshot(self) -> None:
        answer = self.api.client.post(f"/api/kri/snapshot/{self.program['id']}", headers=self.headers)
        assert answer.status_code == 200, answer.text

    def get(self, path: str, **query: str) -> Any:
        return self.api.client.get(path, params=query or None, headers=self.headers)

    def read(self, path: str, **query: str) -> Any:
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def every(self, path: str, **query: str) -> list[dict[str, Any]]:
        """All pages of a list."""
        return list(self._pages(path, {"programId": self.program["id"], "limit": "100"} | query))

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        while True:
            page = self.read(path, **query)
            yield from page["data"]
            if not page["hasMore"]:
                return
            query["cursor"] = page["nextCursor"]


def within(items: Sequence[dict[str, Any]], field: str, start: str, end: str) -> list[dict[str, Any]]:
    """Those with an instant in [start, end), which are dates or instants in the form of answers."""
    return [item for item in items if start <= item[field] < end]


def summary_of(transfers: list[dict[str, Any]]) -> dict[str, Any]:
    """The TransfersSummary of transfers as lists show them."""
    moved = [each for each in transfers if each["status"] not in UNMOVED]
    returned = [each for each in moved if each["returnCode"] and each["status"] != "RETURN_DISHONORED"]
    unauthorized = [each for each in returned if _is_debit_of_ours(each) and each["returnCode"] in UNAUTHORIZED]
    bands = Counter(each["scoreBand"] for each in transfers)
    return {
        "count": len(transfers),
        "volumeCents": str(sum(min(int(each["amountCents"]), MOST_CENTS) for each in moved)),
        "returns": {"any": len(returned), "unauthorized": len(unauthorized)},
        "bands": {band: bands[band] for band in ("clear", "review", "hold", "unscored")},
    }


def _is_debit_of_ours(transfer: dict[str, Any]) -> bool:
    return (transfer["rail"], transfer["type"], transfer["direction"]) == ("ach", "DEBIT", "outgoing")
