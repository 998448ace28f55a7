"""What the story of a detector's alert is, and what its alerts are about."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from clearhold.features.core.vocabulary import SubjectType
from tests.support.stories import ShardStory

ENTITY, COUNTERPARTY = SubjectType.ENTITY.value, SubjectType.COUNTERPARTY.value
TRANSFER, PROGRAM, ACCOUNT = SubjectType.TRANSFER.value, SubjectType.PROGRAM.value, SubjectType.ACCOUNT.value


class Scenario(Protocol):
    def __call__(self, w: ShardStory, *, hit: bool) -> None: ...


class DetectorCase(NamedTuple):
    """``subjects``: the kinds of subject of its alerts, in the order in which they open."""

    play: Scenario
    subjects: tuple[str, ...] = (ENTITY,)
    gravity: tuple[str, bool] = ("medium", False)
    declared: Mapping[str, Any] = {}


LOW: Final = ("low", False)
HIGH: Final = ("high", False)
HARD: Final = ("high", True)
