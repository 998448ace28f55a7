"""A log that does not confirm what is appended to its control streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.store.redis_log.waiting_append import UNAVAILABLE
from tests.support.running_app import RunningApp


@contextmanager
def unconfirmed(api: RunningApp, *, in_log: bool = True) -> Iterator[None]:
    """The log confirms no entry of a control stream, whether it has it or not."""
    append = api.appender.append_control

    async def fail(*args: Any, **sent: Any) -> int:
        if in_log:
            await append(*args, **sent)
        raise UnavailableError(UNAVAILABLE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api.appender, "append_control", fail)
        yield
