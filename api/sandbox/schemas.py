"""The sandbox as the interface takes and shows it."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from api.reports.schemas import ScoreSignal
from features.core.bands import band_of
from features.core.program import Simulated
from features.core.reason import Reason
from features.core.rows.transfers import TransferRow
from features.core.vocabulary import Band, Rail
from features.sandbox.scenario import MOST_REPETITIONS, Scenario, ScenarioName

MOST_SEED = 2**31 - 1


class ScenarioListing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scenario, and the detectors of the alerts that it must open: of exactly these, or of none."""

    name: ScenarioName
    description: str
    rails: tuple[Rail, ...]
    expects: tuple[str, ...]


class ScenarioRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``seed`` fixes names and amounts, ``count`` is how often it happens, each time to other people."""

    scenario: ScenarioName
    seed: Annotated[int, msgspec.Meta(ge=0, le=MOST_SEED)] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_REPETITIONS)] = 1


class SandboxScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The score of the transfer as it now stands."""

    score: int | None
    band: Band
    version: str | None
    n: int | None
    confidence: float | None
    signals: tuple[ScoreSignal, ...]


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The events that were stored, and what they led to as far as that is ``committed``."""

    events: tuple[str, ...]
    transfer_id: str | msgspec.UnsetType = msgspec.UNSET
    alert_ids: tuple[str, ...]
    score: SandboxScore | None
    committed: bool = False
    simulated: Simulated = msgspec.UNSET


def to_listing(scenario: Scenario) -> ScenarioListing:
    return ScenarioListing(
        name=scenario.name,
        description=scenario.description,
        rails=scenario.rails,
        expects=scenario.expects,
    )


def to_score(row: TransferRow, reasons: Iterable[Reason]) -> SandboxScore:
    return SandboxScore(
        score=row.score,
        band=band_of(row.score),
        version=row.score_version,
        n=row.score_n,
        confidence=row.score_confidence,
        signals=tuple(
            ScoreSignal(code=each.signal, weight=each.weight, hard=each.hard, detail=each.detail) for each in reasons
        ),
    )
