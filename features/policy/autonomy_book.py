"""The autonomy of one program: its versions, of which the newest is in force."""

from typing import Any, Final

import msgspec

from clearhold.features.core.entries.autonomy import AutonomyBody, AutonomyTier, AutonomyVersion, autonomy_version
from clearhold.features.core.instants import DAYS_7

WIDENED_ONCE_IN_US: Final = DAYS_7
AS_THE_POLICY_STANDS: Final = AutonomyBody(
    version=autonomy_version(0), tier=AutonomyTier.STANDARD, granted=(), withdrawn=(), note=""
)
"""The autonomy of a program without a recorded version."""


class AutonomyBook:
    __slots__ = ("versions", "widened_at")

    def __init__(self) -> None:
        self.versions: list[AutonomyVersion] = []  # oldest first
        self.widened_at: int | None = None

    @property
    def body(self) -> AutonomyBody:
        return self.versions[-1].body if self.versions else AS_THE_POLICY_STANDS

    @property
    def version(self) -> str | None:
        """None for a program without a recorded version."""
        return self.versions[-1].body.version if self.versions else None

    @property
    def next_widening_at(self) -> int | None:
        """The instant from which it may be widened again; None when it never was."""
        return None if self.widened_at is None else self.widened_at + WIDENED_ONCE_IN_US

    @property
    def next_version(self) -> str:
        return autonomy_version(len(self.versions) + 1)

    def put_in_force(self, body: AutonomyBody, at: int, *, widens: bool) -> None:
        self.versions.append(AutonomyVersion(body=body, created_at=at))
        if widens:
            self.widened_at = at

    def dump(self) -> Any:
        return self.versions, self.widened_at

    def load(self, dumped: Any) -> None:
        versions, self.widened_at = dumped
        self.versions = msgspec.convert(versions, list[AutonomyVersion])
