"""Work that several callers wait for: a caller that leaves does not end it.

Errors  UnavailableError for the waiting callers when the process ends it
"""

import asyncio
from typing import TypeVar

from clearhold.features.core.errors import ErrorCode, UnavailableError

T = TypeVar("T")


async def result_of(task: "asyncio.Task[T]", stopping: str) -> T:
    """Its result, or UnavailableError with the sentence ``stopping``."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise UnavailableError(stopping, ErrorCode.STARTING) from None
        raise
