"""Projection of the control streams: requested configurations, and the versions that came into force.

The settings themselves are in the projections of their kinds.
"""

from collections.abc import Mapping
from typing import Final

from clearhold.features.policy.bodies import LimitsBody
from clearhold.store.control.entries import ConfigAppliedEntry, ConfigEntry

KEPT_CONFIGS: Final = 8
"""The newest requested configurations of a tenant: only one waits at a time. Older ones stay in the log alone."""

Limits = Mapping[str, tuple[LimitsBody, int]]
"""The limits of programs by their ids, each with the instant of their last change."""


class TenantConfigs:
    """The configurations of one tenant."""

    def __init__(self) -> None:
        self._requested: dict[str, ConfigEntry] = {}
        self._version_of: dict[str, str] = {}  # by action
        self._limits: dict[str, tuple[LimitsBody, int]] = {}

    def add(self, entry: ConfigEntry) -> None:
        self._requested[entry.id] = entry
        while len(self._requested) > KEPT_CONFIGS:
            del self._requested[next(iter(self._requested))]

    def put_applied(self, entry: ConfigAppliedEntry) -> bool:
        """Whether the entry is the first by its action."""
        is_first = entry.action_id not in self._version_of
        self._version_of.setdefault(entry.action_id, entry.version)
        for each in entry.limits if is_first else ():
            self._limits[each.program_id] = (each.body, entry.at)
        return is_first

    def find(self, config_id: str) -> ConfigEntry | None:
        """A requested configuration; None when it is not kept any more."""
        return self._requested.get(config_id)

    def version_of(self, action_id: str) -> str | None:
        """The version that an action brought into force."""
        return self._version_of.get(action_id)

    def limits(self, committed: Limits) -> dict[str, LimitsBody]:
        """The limits of programs: as committed, or as applied where that is newer than the last commit."""
        late = {key: each for key, each in self._limits.items() if each[1] > committed.get(key, each)[1]}
        applied = {each: self._limits[each] for each in self._limits.keys() - committed.keys()}
        return {program_id: body for program_id, (body, _) in ({**committed} | late | applied).items()}

    @property
    def next_version(self) -> str:
        return f"config-v{1 + len(self._version_of)}"
