"""Kill -9 of a real service in the middle of an import, and the import after it."""

import contextlib
import http.client
import threading
from pathlib import Path
from typing import Any, Final

from clearhold.demo.scan_index import ScanIndex
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.store.clock import SystemClock
from tests.support.running_service import RunningService
from tests.support.scan_items import Item, a_profile, a_settlement, an_agent, entity_of, wallet_of
from tests.support.waiting import eventually

AGENTS: Final = 20
SETTLEMENTS: Final = 800
KILLED_AT_PAGES: Final = (2, 6)


def settlements(now: int) -> list[Item]:
    first = now - 10 * DAY_US
    return [a_settlement(each, first + each * HOUR_US // 10, agent=each % AGENTS) for each in range(SETTLEMENTS)]


def imported(service: RunningService, headers: dict[str, str]) -> dict[str, Any]:
    return service.ask("POST", "/api/agents/import", headers)


def test_given_a_service_that_is_killed_while_it_imports_when_it_imports_again_then_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    now = SystemClock().now()
    with ScanIndex(page_items=100, as_of=format_instant(now)) as index, contextlib.ExitStack() as opened:
        local = {"CLEARHOLD_SCAN_INDEX_URL": index.url, "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}
        service = opened.enter_context(RunningService(tmp_path / "data", environment=local))
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "agents", "name": "Agents"})
        headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "test"}
        index.put("agents", *map(an_agent, range(AGENTS)))
        index.put("profiles", *(a_profile(wallet_of(number)) for number in range(AGENTS)))
        index.put("settlements", *settlements(now))
        for pages in KILLED_AT_PAGES:
            kill_at_page(service, index, headers, pages)
            service.start()
        counted = imported(service, headers)
        again = imported(service, headers)
        agents: Any = service.ask("GET", "/api/agents", headers)
        one = service.ask("GET", f"/api/agents/{entity_of(7)}", headers)

    assert counted["transfers"] < SETTLEMENTS, "what was imported before the kills is not new"
    assert (again["transfers"], again["counterparties"]) == (0, 0)
    assert sum(agent["settlements"] for agent in agents) == SETTLEMENTS
    assert sum(int(agent["volumeCents"]) for agent in agents) == SETTLEMENTS * 250
    assert (one["settlements"], one["screeningStatus"]) == (SETTLEMENTS // AGENTS, "clear")


def kill_at_page(service: RunningService, index: ScanIndex, headers: dict[str, str], pages: int) -> None:
    """Import, and kill the service when the index is asked for so many pages of settlements."""
    reached, counted = threading.Event(), [0]

    def count(name: str) -> None:
        counted[0] += name == "settlements"
        if counted[0] == pages:
            reached.set()

    def send() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            imported(service, headers)

    index.on_page = count
    caller = threading.Thread(target=send)
    caller.start()
    eventually(reached.is_set)
    service.kill()
    caller.join()
    index.on_page = lambda _: None
