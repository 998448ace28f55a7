"""Work of this process that several callers wait for: one that leaves does not end it.

Errors  UnavailableError for those who wait when the process ends it
"""

import asyncio
from typing import TypeVar

from clearhold.features.core.errors import ErrorCode, UnavailableError

T = TypeVar("T")


async def result_of(task: "asyncio.Task[T]", stopping: str) -> T:
    """Its result, or the sentence that says that the service is stopping."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise UnavailableError(stopping, ErrorCode.STARTING) from None
        raise
