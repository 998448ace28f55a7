"""What every test may ask for: a real Redis, started once, and the event loop that the service runs on."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from redis import Redis

from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.support import long, run, warm
from tests.support.clock import FrozenClock, SequentialIds
from tests.support.scopes import ByFileAndDemo
from tests.support.stalls import run_undisturbed

LONGEST: Final = (
    "test_fuzz.py",
    "test_pages.py",
    "test_demo.py",
    "test_kills.py",
    "test_oracle.py",
    "test_idempotency_races.py",
    "test_backfill_service.py",
    "test_isolation_matrix.py",
    "test_hostile_input.py",
    "test_held_loop.py",
)


# Each of the services that tests start would compile every module again, and take half as long again to start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A property is about values. How long the machine took for one of them says nothing about it.
settings.register_profile("values", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("values")

gc.disable()  # what is collected stays: to look for garbage in it takes a fourth of the time that collecting does


FOLDER: Final = pytest.StashKey[Path | None]()


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The processes that run the tests get their folders from the one that starts them."""
    if not is_worker(config):
        config.stash[FOLDER] = folder = run.begin()
        if folder is not None and config.option.basetemp is None:
            config.option.basetemp = str(folder)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFileAndDemo | None:
    """With ``--dist=loadfile`` alone: another way to distribute stays as it is."""
    return ByFileAndDemo(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """A process that ends with a test that hung leaves the service behind that the test had started."""
    if not is_worker(config):
        for each in run.end(config.stash[FOLDER]):
            print(f"Left behind by a test, and killed: {each}", flush=True)


def pytest_sessionstart() -> None:
    """A background shell makes the tests ignore the interrupt; the programs that they start would ignore it too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    warm.end_parent()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Before items are chosen by their markers."""
    if long.is_long(item.path):
        item.add_marker(pytest.mark.long)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest begin first, so that no process waits at the end for another one's."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)  # the usual ones take a tenth of the time of tests that make many objects
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test that compares times is not held against a machine that stood still."""
    if item.get_closest_marker("timed") is None:
        return None
    run_undisturbed(item, nextitem)
    return True


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """One server for all tests that do not harm it; those that do start their own."""
    server = EmbeddedRedis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def log_redis(redis_server: EmbeddedRedis) -> Iterator[Redis]:
    """A client of the shared server, empty at the start of each test."""
    with closing(connect_sync(redis_server.socket_path)) as client:
        client.flushall()
        yield client


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def new_id() -> SequentialIds:
    return SequentialIds()


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Tests marked ``anyio`` run on uvloop, as the service does."""
    return "asyncio", {"use_uvloop": True}
