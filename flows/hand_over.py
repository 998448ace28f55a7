"""The owner's part of a hand-over, which an operator asks for: another node owns the log within a moment.

close ─▶ requests under way are answered ─▶ hand over: the other node takes the log at once ─▶ this node stops

Only a node that stands by, and was seen just now, is handed the log. This node drains what the log has and ends as at
a SIGTERM; started again it stands by.

Unit    seconds
Errors  none: a hand-over that fails ends this node too, and the other one takes the log after its silence
"""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

import redis
import structlog
from redis.exceptions import RedisError

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.roles import Role, Roles
from clearhold.store.nodes.members import SeenMember, members_of, now_of
from clearhold.store.redis_log.owner import LogNode, LogOwnership

SEEN_WITHIN_S: Final = 15.0
ANSWERED_WITHIN_S: Final = 1.5
_LOOK_EVERY_S: Final = 0.1
_POLL_S: Final = 0.01

log = structlog.get_logger()


class HandOver:
    """``under_way`` is the number of requests that are being answered. ``client`` belongs to it."""

    def __init__(
        self, roles: Roles, ownership: LogOwnership, client: redis.Redis, under_way: Callable[[], int]
    ) -> None:
        self._roles, self._ownership, self._client, self._under_way = roles, ownership, client, under_way
        self._refused: LogNode | None = None

    async def run(self) -> None:
        """Run until the log is handed over."""
        while True:
            wanted = self._ownership.wanted
            if self._roles.is_open and wanted is not None and wanted.id != self._ownership.node.id:
                address = await asyncio.to_thread(self._address_of, wanted)
                if address is not None:
                    await self._hand_over(wanted, address)
                    return
            await asyncio.sleep(_LOOK_EVERY_S)

    def _address_of(self, wanted: LogNode) -> str | None:
        """The address of a node that stands by; None when it may not be handed the log now."""
        try:
            member = _member(self._client, wanted.id)
        except (RedisError, OSError) as error:
            log.warning("hand_over_not_begun", node=wanted.id, error=str(error))
            return None
        if member is not None:
            return member.report.address
        if self._refused != wanted:
            self._refused = wanted
            log.warning("hand_over_refused", node=wanted.id)
        return None

    async def _hand_over(self, wanted: LogNode, address: str) -> None:
        log.warning("hand_over_begun", node=wanted.id, address=address)
        self._roles.close()
        loop = asyncio.get_running_loop()
        until = loop.time() + ANSWERED_WITHIN_S
        while self._under_way() and loop.time() < until:  # noqa: ASYNC110 - a count has no event
            await asyncio.sleep(_POLL_S)
        try:
            await asyncio.to_thread(self._ownership.hand_over, wanted, address)
        except (RedisError, OSError) as error:
            log.error("hand_over_failed", node=wanted.id, error=str(error))  # noqa: TRY400 - the client's words suffice
        signal.raise_signal(signal.SIGTERM)


def _member(client: redis.Redis, node: str) -> SeenMember | None:
    """The member that stands by under this name, if it was seen just now."""
    now = now_of(client)
    return next(
        (
            each
            for each in members_of(client)
            if each.node == node and each.report.role == Role.STANDBY and now - each.seen_at < SEEN_WITHIN_S * SECOND_US
        ),
        None,
    )
