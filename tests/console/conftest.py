"""A demo, moving money, and Debian's Chromium to look at it."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from playwright.sync_api import Browser, sync_playwright

from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.support.console import ConsoleApp
from tests.support.console_demo import ConsoleDemo
from tests.support.npm_packages import npm_installed
from tests.support.routed_console import RoutedConsole
from tests.support.running_app import RunningApp
from tests.support.stacking import stacks, story

ROOT: Final = Path(__file__).parents[2]
AXE: Final = "axe-core@4.14.1"
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one file: its driver runs an event loop in this thread, and tests of other files run their own.

    ``.ci/run`` installs Chromium, and says so where it cannot. Without it, a developer's run skips these tests.
    """
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("Chromium is not on PATH; Debian has it as the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    folder = npm_installed(ROOT / "build" / "axe", AXE)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleDemo]:
    with ConsoleDemo(Path(tmp_path_factory.mktemp("demo"))) as running:
        running.furnish()
        yield running


class QueueDesk(NamedTuple):
    """A console whose queue has a dozen stacks, one of each account, the soonest due first in ``stacks``."""

    api: RunningApp
    console: ConsoleApp
    tenant: dict[str, Any]
    program: dict[str, Any]

    @property
    def stacks(self) -> list[dict[str, Any]]:
        return stacks(self.api, self.tenant, limit="100")

    def person(self, chromium: Browser, name: str = "ann@bank.example", *, width: int = 1440) -> RoutedConsole:
        visitor = self.console.browser()
        visitor.sign_in(self.tenant["operatorToken"], name)
        return RoutedConsole(chromium, visitor, width=width)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, redis_server: EmbeddedRedis) -> Iterator[QueueDesk]:
    with closing(connect_sync(redis_server.socket_path)) as client:
        client.flushall()
    with ExitStack() as opened:
        api = RunningApp(tmp_path_factory.mktemp("desk"), redis_server.socket_path, opened)
        tenant = api.create_tenant()
        program = api.create_program(tenant)
        for number in range(12):
            story(api, tenant, program, f"bacc_{number}", 1)
        yield QueueDesk(api, ConsoleApp(api), tenant, program)
