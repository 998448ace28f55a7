"""Floors that short streams reach, for the state and for the oracle alike."""

import pytest

from clearhold.features.measurement import pairs
from clearhold.features.windows import prevalence
from tests.oracle import pairs as oracle_pairs
from tests.oracle import shares


def let_few_suffice(monkeypatch: pytest.MonkeyPatch, floor: int) -> None:
    """Shares from ``floor`` transfers, and an entity's past with a party from 4 of the entity and 1 with the party."""
    for module in (prevalence, shares):
        monkeypatch.setattr(module, "FLOOR", floor)
    monkeypatch.setattr(pairs, "CLEAN_TRANSFERS", 4)
    monkeypatch.setattr(pairs, "KNOWN_PARTY_TRANSFERS", 1)
    monkeypatch.setattr(oracle_pairs, "TRANSFERS_FROM", 4)
    monkeypatch.setattr(oracle_pairs, "WITH_IT_FROM", 1)
