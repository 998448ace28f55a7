"""What a reader of the feed wants of the live events, and what the feed itself tells its readers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, Protocol

import msgspec

from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import about
from clearhold.features.live.payloads import LiveKind

LONGEST_ID: Final = 32_768
EVENT_ID: Final = r"^[0-9]{1,16}-[0-9]{1,16}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]{8})?$(?!\n)"
"""The form of an event's id. Not every text of this form is one."""


class OfKind(Protocol):
    """The parts of an event that a reader chooses by."""

    @property
    def program_id(self) -> str: ...

    @property
    def kind(self) -> LiveKind: ...

    @property
    def band(self) -> str | None: ...

    @property
    def severity(self) -> str | None: ...


class Wanted(NamedTuple):
    """What a reader may see and wants to; None is any. An event without a band is in no wanted band, and likewise for
    severities.
    """

    programs: frozenset[str] | None = None
    kinds: frozenset[LiveKind] | None = None
    bands: frozenset[str] | None = None
    severities: frozenset[str] | None = None

    def takes(self, event: OfKind) -> bool:
        return (
            (self.programs is None or event.program_id in self.programs)
            and (self.kinds is None or event.kind in self.kinds)
            and (self.bands is None or event.band in self.bands)
            and (self.severities is None or event.severity in self.severities)
        )


SCOPE_OF: Final[Mapping[LiveKind, KeyScope]] = {
    LiveKind.TRANSFER_SCORED: KeyScope.ALERTS_READ,
    LiveKind.ACTOR_SCORED: KeyScope.ALERTS_READ,
    LiveKind.PROGRAM_SCORED: KeyScope.REPORTS,
    LiveKind.KRI_SNAPSHOT: KeyScope.REPORTS,
    LiveKind.ALERT_OPENED: KeyScope.ALERTS_READ,
    LiveKind.ALERT_CHANGED: KeyScope.ALERTS_READ,
    LiveKind.DISPOSITION_CREATED: KeyScope.ALERTS_READ,
    LiveKind.ACTION_CHANGED: KeyScope.ACTIONS,
}
"""The scope under which an API key reads the same by request."""


def kinds_for(principal: Principal, named: frozenset[LiveKind] | None) -> frozenset[LiveKind]:
    """The kinds that a caller gets: of all that it may read, or the named ones; ForbiddenError for a named kind
    whose scope it lacks.
    """
    if named is None:
        return frozenset(kind for kind, scope in SCOPE_OF.items() if principal.has_scope(scope))
    for kind in sorted(named):
        principal.require_scope(SCOPE_OF[kind])
    return named


class Resync(StrEnum):
    """Why events are missing. The reader reads what it shows from the API, and goes on from there."""

    SLOW = "slow"  # it did not read as fast as events came
    TOO_OLD = "too_old"  # more was committed since its last event than is sent again
    UNKNOWN_POSITION = "unknown_position"  # its last event is not in this service's log
    BEHIND = "behind"  # the feed itself did not keep up, or failed


class End(StrEnum):
    """Why the service ended an answer."""

    STOPPING = "stopping"
    UNAUTHORIZED = "unauthorized"  # the token or key ended, or lost its right
    STALLED = "stalled"  # the reader read nothing for a minute
    AGE = "age"  # every answer ends after about an hour; the next one continues


class ResyncNotice(msgspec.Struct, frozen=True):
    """``data`` of the feed's own event ``resync``."""

    reason: Annotated[Resync, about("Why events are missing; read what you show from the API, and go on.")]


class EndNotice(msgspec.Struct, frozen=True):
    """``data`` of the feed's own event ``end``."""

    reason: Annotated[End, about("Why the answer ends; connect again with the last id.")]
