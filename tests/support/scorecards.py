"""Cards in tests, whatever the default one is, and entries that bring them into force or into shadow."""

from typing import Final

from msgspec.structs import replace

from features.core.scorecards import Scorecard, points_when
from features.policy.bodies import ChallengerBody, ScorecardBody
from features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER
from tests.support.policies import in_force_at
from tests.support.stories import ShardStory

LARGE_FIRST: Final = "TRS-CPY-02"


def a_card(points: int = 30) -> Scorecard:
    """Points for a large first payment, and those of the hard signals."""
    hard = (each for each in DEFAULT_CARD.signals if SCORER.signals[each.id].hard)
    signals = (points_when(LARGE_FIRST, points), *hard)
    return replace(DEFAULT_CARD, name=f"{LARGE_FIRST} gives {points}", caps=(), signals=signals)


def card_in_force(
    story: ShardStory, card: Scorecard | None, at: int, *, version: str = "scorecard-v1", of_program: bool = False
) -> None:
    """A card scores from so many microseconds after T0 on; None is the default one."""
    in_force_at(story, version, ScorecardBody(card=card), at, of_program=of_program)


def card_in_shadow(
    story: ShardStory, card: Scorecard, at: int, *, of: str = "scorecard-v1", version: str = "challenger-v1"
) -> None:
    in_force_at(story, version, ChallengerBody(version=of, card=card), at)
