"""Follows the control streams of a log that another service writes: tenants, programs, tokens, keys and their ends.

A node that does not own the log reads them at its start like an owner, and then their new entries, in rounds of
``EVERY_S``. So a revoked key or token is refused there too, within a second. An owner applies its own writes, and needs
no tail: its promotion reads the streams to their ends once.

Errors  the built-in ``ConnectionError`` while the log cannot be read; a later round continues
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from clearhold.store.control.entries import ControlEntry
from clearhold.store.control.registry import Registry
from clearhold.store.redis_log.reader import LogReader

EVERY_S: Final = 0.25

log = structlog.get_logger()


class ControlTail:
    """Applies to a registry the entries of another writer, and follows its signing keys by ``follow_keys``. ``reader``
    belongs to it.
    """

    def __init__(self, registry: Registry, reader: LogReader, follow_keys: Callable[[], None]) -> None:
        self._registry, self._reader, self._follow_keys = registry, reader, follow_keys
        self._failure: str | None = None

    async def read_new(self) -> int:
        """Apply the entries that the registry lacks; returns how many."""
        async with self._registry.writing:
            entries = await asyncio.to_thread(self._new_entries)
            self._registry.tenancy.load(entries)
        await asyncio.to_thread(self._follow_keys)
        return len(entries)

    async def run(self, is_followed: Callable[[], bool]) -> None:
        """Run until cancelled; a round is left out while ``is_followed`` is false."""
        while True:
            if is_followed():
                await self._round()
            await asyncio.sleep(EVERY_S)

    async def _round(self) -> None:
        try:
            await self.read_new()
        except ConnectionError as error:
            if self._failure is None:
                log.warning("control_tail_failed", error=str(error))
            self._failure = str(error)
        else:
            self._failure = None

    def _new_entries(self) -> list[ControlEntry]:
        tenancy = self._registry.tenancy
        ends = {tenant_id: tenancy.end_of(tenant_id) for tenant_id in self._reader.tenants()}
        return [
            entry
            for tenant_id in self._reader.with_new_control(ends)
            for entry in self._reader.control_of(tenant_id, ends[tenant_id])
        ]
