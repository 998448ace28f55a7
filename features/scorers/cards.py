"""All scorers, and cards compiled for scoring."""

from functools import lru_cache
from typing import Any, Final

from clearhold.features.core.scorecards import Scorecard
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.scorer import Scorer
from clearhold.features.scorers.trs_v1 import scorer as trs_v1

_DEFAULTS: Final[tuple[CompiledCard[Any], ...]] = (
    trs_v1.DEFAULT,
    ers_v1.DEFAULT,
    crs_v1.DEFAULT,
    ars_v1.DEFAULT,
    prs_v1.DEFAULT,
)
DEFAULTS: Final = {each.card.scorer: each for each in _DEFAULTS}
"""The default card of each scorer, by its word: trs, ers, crs, ars, prs."""

SCORERS: Final[dict[str, Scorer[Any]]] = {name: each.scorer for name, each in DEFAULTS.items()}
MOST_COMPILED: Final = 512


@lru_cache(maxsize=MOST_COMPILED)
def compile_card(card: Scorecard, *, version: str | None = None) -> CompiledCard[Any]:
    """A card without faults (``card_check.py``), ready to score; equal content under one version is compiled once.

    ``version`` is the version of the card's policy, as in scorecard-v3; None stands for the scorer's own.
    """
    scorer = SCORERS[card.scorer]
    return CompiledCard(scorer, card, score_version(scorer, version))


def score_version(scorer: Scorer[Any], version: str | None) -> str:
    """The card's name in scores: ``trs-v1`` for the default, ``trs-v1+scorecard-v3`` for a tenant's third."""
    return scorer.version if version is None else f"{scorer.version}+{version}"
