"""The scorecards of one program: the champion that scores its transfers, and the challenger that runs in shadow.

Both count from their entry on, in the order of the log, whatever the clock says. A card activated for the program has
precedence over one for the whole tenant, until the program follows the tenant again. Without an activation the default
card of this build scores.
"""

from typing import Any, Final, cast

import msgspec

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.policy.bodies import (
    CHALLENGER,
    SCORECARD,
    ActiveVersion,
    ChallengerBody,
    ScorecardBody,
    decode_body,
    prefix_of,
)
from clearhold.features.scorers.cards import compile_card, faults_of
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.trs_v1 import scorer as trs_v1

CARD_PREFIXES: Final = frozenset({SCORECARD, CHALLENGER})

TransferCard = CompiledCard[FeatureVector]


class CardBook:
    """The cards that score a program. A replaced version is forgotten, except for the name of its scores."""

    def __init__(self) -> None:
        self.champion: TransferCard = trs_v1.DEFAULT
        self.challenger: TransferCard | None = None
        self._newest: dict[tuple[str, bool], ActiveVersion] = {}  # by prefix, and whether of the program alone
        self._champions: list[tuple[int, str]] = []  # from which entry on scores have which version

    def activate(self, version: ActiveVersion, offset: int) -> ActiveVersion | None:
        """Bring a version into force with the entry at an offset; None if that activation has it in force already.

        Raises ValueError, naming the fault, for a card that this build cannot score with; the previous one stays.
        """
        if self.knows(version.action_id):
            return None
        version = _ready(version)
        self._newest[prefix_of(version.version), version.of_program] = version
        self._choose()
        if self.champion.version != self.version_at(offset):
            self._champions.append((offset, self.champion.version))
        return version

    def knows(self, action_id: str) -> bool:
        """Whether a version is in force by that activation; earlier ones are not remembered."""
        return any(each.action_id == action_id for each in self._newest.values())

    def in_force(self) -> tuple[str | None, Scorecard | None]:
        """The version that scores with its card, which is None for the default card."""
        newest = self._in_force(SCORECARD)
        if newest is None:
            return None, None
        return newest.version, cast("ScorecardBody | ChallengerBody", newest.body).card

    def version_at(self, offset: int) -> str:
        """The version of the scores that the entry at an offset gave."""
        for since, version in reversed(self._champions):
            if since <= offset:
                return version
        return trs_v1.VERSION

    def dump(self) -> Any:
        return [msgspec.to_builtins(each) for each in self._newest.values()], self._champions

    def load(self, dumped: Any) -> None:
        """Raises ValueError for a card that this build cannot score with: a replay would have set it aside."""
        versions, champions = dumped
        for fields in versions:
            version = _ready(ActiveVersion(**{**fields, "body": decode_body(fields["version"], fields["body"])}))
            self._newest[prefix_of(version.version), version.of_program] = version
        self._champions = [(offset, version) for offset, version in champions]
        self._choose()

    def _choose(self) -> None:
        version, card = self.in_force()
        self.champion = trs_v1.DEFAULT if card is None else compile_card(card, version=version)
        self.challenger, running = None, self._in_force(CHALLENGER)
        if running is not None:
            body = cast(ChallengerBody, running.body)
            if body.card is not None and body.version != version:
                self.challenger = compile_card(body.card, version=body.version)

    def _in_force(self, prefix: str) -> ActiveVersion | None:
        own = self._newest.get((prefix, True))
        return self._newest.get((prefix, False)) if own is None or _follows_tenant(own) else own


def card_version(score_version: str) -> str | None:
    """Which scorecard a score was given by; None is the default card.

    >>> card_version("trs-v1+scorecard-v3")
    'scorecard-v3'
    """
    return score_version.partition("+")[2] or None


def _follows_tenant(version: ActiveVersion) -> bool:
    """Whether a version of the program says that it has no card."""
    body = cast("ScorecardBody | ChallengerBody", version.body)
    return body.card is None if isinstance(body, ChallengerBody) else body.follows_tenant


def _ready(version: ActiveVersion) -> ActiveVersion:
    """The version with its card checked, and stored once for all programs that have it."""
    body = cast("ScorecardBody | ChallengerBody", version.body)
    if body.card is None:
        return version
    for fault in faults_of(body.card):
        raise ValueError(f"card {body.card.name}, {fault.path}: {fault.sentence}")
    named = body.version if isinstance(body, ChallengerBody) else version.version
    shared = compile_card(body.card, version=named).card
    return msgspec.structs.replace(version, body=msgspec.structs.replace(body, card=shared))
