"""Copies control streams into the lake: each entry once it is in Redis, and missed ones in regular rounds.

From it tenants, programs, tokens, secrets and keys are restored when Redis is lost.
"""

from threading import Lock

from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.reader import LogReader


class ControlCopy:
    """Safe to use from several threads, one of which copies at a time."""

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments
        self._copying = Lock()

    def copy(self, tenant_id: str) -> None:
        """Copy the entries that the tenant's segments lack."""
        with self._copying:
            after = self._segments.last_control_offset(tenant_id)
            self._segments.write_control(tenant_id, self._reader.control_of(tenant_id, after))

    def copy_all(self) -> None:
        for tenant_id in self._reader.tenants():
            self.copy(tenant_id)
