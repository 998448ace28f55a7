"""Who looks at which stack, in the memory of this process. It is advisory: nothing is locked by it.

Bounds  ``MOST`` views of all tenants; the oldest is forgotten for a further one
"""

from typing import Final

from clearhold.features.core.instants import SECOND_US

LOOKS_FOR_US: Final = 45 * SECOND_US
"""A browser tells every 20 s what it shows."""

MOST: Final = 10_000

_Stack = tuple[str, str]


class Presence:
    """Belongs to the API's event loop."""

    def __init__(self) -> None:
        self._seen: dict[tuple[_Stack, str], int] = {}  # by stack and name, the oldest first
        self._names: dict[_Stack, set[str]] = {}

    def look(self, tenant_id: str, stack_id: str, name: str, now: int) -> list[str]:
        """Note that a person looks at a stack; returns the names of the others who do, sorted."""
        stack = (tenant_id, stack_id)
        self._seen.pop((stack, name), None)
        self._seen[stack, name] = now
        self._names.setdefault(stack, set()).add(name)
        self._forget(now)
        return sorted(self._names[stack] - {name})

    def _forget(self, now: int) -> None:
        while self._seen:
            (stack, name), at = next(iter(self._seen.items()))
            if now - at < LOOKS_FOR_US and len(self._seen) <= MOST:
                return
            del self._seen[stack, name]
            self._names[stack].discard(name)
            if not self._names[stack]:
                del self._names[stack]
