"""One running service for the stories of this folder, and a tenant for each of its tests' processes."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.live_feed import LiveBank, LiveFeed
from tests.support.running_service import RunningService


@pytest.fixture(scope="session")
def live_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("live") / "data", "--scorers", "0") as service:
        yield service


@pytest.fixture(scope="session")
def live_bank(live_service: RunningService) -> Iterator[LiveBank]:
    with closing(LiveBank(live_service)) as bank:
        yield bank


@pytest.fixture
def feed(live_bank: LiveBank) -> LiveFeed:
    """A new program."""
    return live_bank.feed(declaredRails=["ach", "wire", "realtime", "intl_wire", "book", "check", "card"])
