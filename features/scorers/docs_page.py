"""The reason catalogue: every reason that a scorer can give, from which ``docs/reasons.md`` is made.

A scorer's reasons are written beside its rules; its module lists them, and its section below puts them on the page.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from features.core.vocabulary import Rail
from features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from features.scorers.families import Family
from features.scorers.rule import ANY_RAIL, ReasonKind
from features.scorers.scorecard import FamilyCap
from features.scorers.trs_v1.rules import CAPS as TRS_V1_CAPS
from features.scorers.trs_v1.rules import REASONS as TRS_V1_REASONS
from features.scorers.trs_v1.scorer import VERSION as TRS_V1


class Section(NamedTuple):
    """One scorer version; ``caps`` are the most points that each family may add."""

    version: str
    title: str
    reasons: tuple[ReasonKind, ...]
    caps: Mapping[Family, int]


def _points(caps: Mapping[Family, FamilyCap]) -> Mapping[Family, int]:
    return {family: cap.points for family, cap in caps.items()}


SECTIONS: Final = (
    Section(TRS_V1, "Transaction Risk Score", TRS_V1_REASONS, _points(TRS_V1_CAPS)),
    Section(ers_v1.VERSION, "Entity Risk Score", ers_v1.REASONS, _points(ers_v1.CARD.caps)),
    Section(crs_v1.VERSION, "Counterparty Risk Score", crs_v1.REASONS, _points(crs_v1.CARD.caps)),
    Section(ars_v1.VERSION, "Agent Risk Score", ars_v1.REASONS, _points(ars_v1.CARD.caps)),
    Section(prs_v1.VERSION, "Program Risk Score", prs_v1.REASONS, {}),
)


def markdown() -> str:
    """The catalogue as a page."""
    head = (
        "# Reasons\n\n"
        "Every reason that a score can carry. A score is the sum of its reasons' weights, and a cap is a reason that\n"
        "takes away what is over it. A hard reason always goes to a person, whatever the score is.\n"
        "[P] marks what is proposed here, without a public source, and to be tuned on labels.\n"
        "Made from `features/scorers/docs_page.py`; a test keeps the two equal.\n"
    )
    return head + "".join(_table(section) for section in SECTIONS)


def _table(section: Section) -> str:
    head = (
        f"\n## {section.title}, {section.version}\n\n"
        "| id | signal | meaning | weight | family (cap) | hard | rails | source |\n|---|---|---|---|---|---|---|---|\n"
    )
    rows = (
        f"| {kind.id} | `{kind.signal}` | {kind.meaning} | {_weight(kind)} | {_family(kind, section.caps)} "
        f"| {'hard' if kind.hard else ''} | {_rails(kind)} | {kind.source} |\n"
        for kind in section.reasons
    )
    return head + "".join(rows)


def _weight(kind: ReasonKind) -> str:
    return ", ".join(str(weight) for weight in kind.weights) or "worked out"


def _family(kind: ReasonKind, caps: Mapping[Family, int]) -> str:
    if kind.family is None:
        return ""
    return f"{kind.family.value} ({caps[kind.family]})" if kind.family in caps else kind.family.value


def _rails(kind: ReasonKind) -> str:
    """The rails it looks at, or all but those it does not, whichever is shorter; empty for every rail."""
    if kind.rails == ANY_RAIL:
        return ""
    named = [rail.value for rail in Rail if rail.value in kind.rails]
    others = [rail.value for rail in Rail if rail.value not in kind.rails]
    return ", ".join(named) if len(named) <= len(others) + 1 else f"not {', '.join(others)}"
