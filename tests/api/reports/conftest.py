"""One reported bank for all tests of reports: they only read."""

from collections.abc import Iterator

import pytest

from tests.support.callers import running_app
from tests.support.reported_bank import ReportedBank


@pytest.fixture(scope="session")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportedBank]:
    with running_app(tmp_path_factory.mktemp("reported"), ReportedBank) as bank:
        yield bank
