"""The scorecards of stored scores, by version and digest.

Errors  none: a version that the tenant does not have (lost with its log) has no digest
"""

from clearhold.api.transfers.schemas import ScoringCard
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.policy.card_book import card_version
from clearhold.features.scorers.trs_v1.scorer import DEFAULT
from clearhold.store.control.policies import Policies
from clearhold.store.control.scorecard_registry import card_in


class ScoringCards:
    """Versions are never edited, so each is digested once. Thread-safe."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._cards: dict[tuple[str, str], ScoringCard] = {}

    def of(self, tenant_id: str, score_version: str) -> ScoringCard:
        """The card of a score's version."""
        version = card_version(score_version)
        if version is None:
            return _DEFAULT
        known = self._cards.get((tenant_id, version))
        if known is None:
            policy = self._policies.of_tenant(tenant_id).find(version)
            card = None if policy is None else card_in(policy)
            known = ScoringCard(version=version, sha256=None if card is None else scorecard_sha256(card))
            if card is not None:
                self._cards[tenant_id, version] = known
        return known


_DEFAULT = ScoringCard(version=DEFAULT.version, sha256=DEFAULT.sha256)
