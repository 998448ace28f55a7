"""Cards in tests, whatever the default one is, and entries that bring them into force or into shadow."""

from typing import Any, Final

from msgspec.structs import replace

from clearhold.features.core.scorecards import Scorecard, points_when, scorecard_sha256
from clearhold.features.policy.bodies import ChallengerBody, ScorecardBody
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory

LARGE_FIRST: Final = "TRS-CPY-02"


def a_card(points: int = 30) -> Scorecard:
    """Points for a large first payment, and those of the hard signals."""
    hard = (each for each in DEFAULT_CARD.signals if SCORER.signals[each.id].hard)
    signals = (points_when(LARGE_FIRST, points), *hard)
    return replace(DEFAULT_CARD, name=f"{LARGE_FIRST} gives {points}", caps=(), signals=signals)


def a_report(card: Scorecard, made_at: str, **over: Any) -> dict[str, Any]:
    """As much of a calibration's report on a card as an activation needs."""
    usual = {
        "cardSha256": scorecard_sha256(card),
        "generatedAt": made_at,
        "data": {"later": {"bad": 12, "ok": 340}},
        "rankings": [{"name": "card", "averagePrecision": 0.4}],
        "findings": [],
    }
    return usual | over


def card_in_force(
    story: ShardStory, card: Scorecard | None, at: int, *, version: str = "scorecard-v1", of_program: bool = False
) -> None:
    """A card scores from so many microseconds after T0 on; None is the default one."""
    in_force_at(story, version, ScorecardBody(card=card), at, of_program=of_program)


def card_in_shadow(
    story: ShardStory, card: Scorecard, at: int, *, of: str = "scorecard-v1", version: str = "challenger-v1"
) -> None:
    in_force_at(story, version, ChallengerBody(version=of, card=card), at)
