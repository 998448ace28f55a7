"""The answers of Redis on the event loop, for a request of a person that waits for them.

Errors  ``UnavailableError`` when Redis does not answer in time, or refuses
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

from redis.exceptions import RedisError

from clearhold.features.core.errors import UnavailableError

WITHIN_S: Final = 4.0


async def answered(step: Awaitable[Any], unavailable: str) -> Any:
    """The answer to a command; ``unavailable`` is the sentence of its refusal."""
    try:
        async with asyncio.timeout(WITHIN_S):
            return await step
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        raise UnavailableError(unavailable) from error
