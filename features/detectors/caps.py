"""The detector of a program's caps, run on each transfer that lands or changes its amount.

The transfer is recorded and not held at the rail. There is one alert a kind of cap and a period: the day or the month
of the program, the transaction, or the day or 24 hours of one entity.

Source  ``program_limit_breach`` of the API; the caps are the bank's
"""

from typing import Final

from clearhold.features.core.entries.limits import CapKind
from clearhold.features.core.vocabulary import Severity, SubjectType
from clearhold.features.detectors.detector import (
    HARD,
    AlertSubject,
    DetectionContext,
    Detector,
    Figures,
    Finding,
    ReviewQuestion,
)
from clearhold.features.limits.caps import CapCrossing, sentence_of

PROGRAM_LIMIT_BREACH: Final = "program_limit_breach"
LIMIT: Final = "limit"
"""The figure that names the kind of cap."""


def cap_finding(context: DetectionContext, crossing: CapCrossing) -> Finding:
    """A crossed cap as a finding on the program."""
    kind = crossing.kind.value
    one = context.transfer_id if crossing.kind is CapKind.PER_TRANSACTION else crossing.actor_id
    topic = kind if one is None else f"{kind}:{one}"
    return Finding(
        detector=_DETECTOR,
        subject=AlertSubject(SubjectType.PROGRAM, context.program.id),
        grade=HARD,
        reasons=(),
        sentence=sentence_of(crossing),
        at=crossing.at,
        after=crossing.after,
        until=crossing.until,
        figures=_figures(crossing),
        topic=topic,
        is_news=context.landed.is_new,
    )


def _figures(crossing: CapCrossing) -> Figures:
    counted = crossing.kind is CapKind.ENTITY_VELOCITY_24H
    amounts: Figures = {} if counted else {"limitObservedCents": crossing.observed, "limitCapCents": crossing.cap}
    caps: Figures = {"limitCapCount": crossing.cap} if counted else {}
    return {
        LIMIT: crossing.kind.value,
        "limitVersion": crossing.version,
        "limitCount": crossing.transfers,
        **amounts,
        **caps,
    }


_DETECTOR: Final = Detector(
    id=PROGRAM_LIMIT_BREACH,
    opens_when=(
        "A transfer exceeds a cap of the program: on ACH debits of the day or the month, on one transfer, on an "
        "entity's outgoing transfers of the day, or on its transfers of 24 h. One alert per kind and period; per "
        "transfer or entity where the cap is on one."
    ),
    triggers=(),
    features=("velocity_24h_count", "velocity_24h_sum_cents"),
    thresholds={},
    severities=(Severity.HIGH,),
    hard_when="hard",
    window="the day, the month, the transaction or 24 h",
    review=ReviewQuestion(
        unexplained="why the program moved more than it may",
        next_step="ask the program for the reason and decide whether the cap or the program's activity has to change",
    ),
)
DETECTORS: Final[tuple[Detector, ...]] = (_DETECTOR,)
