"""What a detector is: data that says which reasons open an alert, on whom, how grave it is and how long it is one.

A detector is fed by lines. A line takes one reason of the scorer and names the subject; it may ask for more than the
reason, and may find the hit graver than usual. Hits of one line on one subject within its window are one alert.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.core.vocabulary import Severity, SubjectType
from features.landing.landing import LandingResult
from features.measurement.assess import Assessment
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState

ONCE: Final = 0
"""The window of an alert on a transfer: there is one of it, for good."""


class Subject(NamedTuple):
    """Whom an alert is about."""

    type: SubjectType
    id: str


class Grade(NamedTuple):
    """How grave a hit is."""

    severity: Severity
    hard: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One finding of one detector on one subject, at one transfer.

    ``after`` and ``until`` are the ends of the time that its alert would cover; an alert on a transfer covers none.
    ``figures`` are evidence beside the vector.
    """

    detector: "Detector"
    subject: Subject
    grade: Grade
    reasons: tuple[Reason, ...]
    sentence: str
    at: int
    after: int
    until: int
    figures: dict[str, int | str]
    is_news: bool  # False for a transfer that was known before and is scored again


class DetectionContext(msgspec.Struct, frozen=True, gc=False):
    """A transfer that was assessed, in the state that it has just changed."""

    program: ProgramState
    transfer_id: str
    landed: LandingResult
    assessment: Assessment
    fired: tuple[Reason, ...]  # every reason that fired, whether the transfer has a score or not

    @property
    def vector(self) -> FeatureVector:
        return self.assessment.vector

    @property
    def at(self) -> int:
        """The transfer's own time."""
        return self.landed.taken_at

    @property
    def actor(self) -> Actor | None:
        return self.landed.parties[0]

    @property
    def counterparty(self) -> Counterparty | None:
        return self.landed.parties[1]


Thresholds = Mapping[str, int | str]
SubjectOf = Callable[[DetectionContext, Reason], Subject | None]
Regrade = Callable[[DetectionContext, Subject], Grade | None]


class Trigger(NamedTuple):
    """One way into a detector. ``subject`` answers None, and ``regrade`` too, where there is no alert."""

    reason_id: str
    subject: SubjectOf
    grade: Grade
    window_us: int
    regrade: Regrade | None = None


class Detector(NamedTuple):
    """One row of ``docs/detectors.md``; ``features`` are the columns of the vector that its evidence shows.

    The last three say for the page what the lines do not: further severities, when it is hard, and the window of a
    detector that has no lines because it measures the program.
    """

    id: str
    opens_when: str
    triggers: tuple[Trigger, ...]
    features: tuple[str, ...]
    thresholds: Thresholds
    severities: tuple[Severity, ...] = ()
    hard_when: str = ""
    window: str = ""


LOW: Final = Grade(Severity.LOW, hard=False)
MEDIUM: Final = Grade(Severity.MEDIUM, hard=False)
HIGH: Final = Grade(Severity.HIGH, hard=False)
HARD: Final = Grade(Severity.HIGH, hard=True)
MEDIUM_HARD: Final = Grade(Severity.MEDIUM, hard=True)


def worse_of(one: Grade, other: Grade) -> Grade:
    """The two together: the higher severity, and hard when either is."""
    severity = max(one.severity, other.severity, key=_GRADES.index)
    return Grade(severity, one.hard or other.hard)


_GRADES: Final = tuple(Severity)
