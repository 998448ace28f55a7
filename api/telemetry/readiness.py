"""Whether the service can take work: each of its components is asked."""

from collections.abc import Callable
from typing import Final

import msgspec

UP: Final = "up"
DOWN: Final = "down"
READY: Final = "ready"
UNAVAILABLE: Final = "unavailable"


class ReadinessReport(msgspec.Struct, frozen=True, kw_only=True):
    """``components`` maps the name of each component to up or down."""

    status: str
    components: dict[str, str]


class Readiness:
    """Asks each component whether it is up; a check that raises counts as down."""

    def __init__(self, checks: dict[str, Callable[[], bool]]) -> None:
        self._checks = checks

    def add(self, name: str, check: Callable[[], bool]) -> None:
        self._checks[name] = check

    def report(self) -> ReadinessReport:
        components = {name: UP if _is_up(check) else DOWN for name, check in self._checks.items()}
        status = READY if all(state == UP for state in components.values()) else UNAVAILABLE
        return ReadinessReport(status=status, components=components)


def _is_up(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever a component raises, it is down; its own code logs why
        return False
