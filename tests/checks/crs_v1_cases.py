"""The cases of crs-v1."""

from typing import Any, Final

from hypothesis import strategies as st

from clearhold.features.core.vocabulary import Score
from clearhold.features.scorers import crs_v1
from clearhold.features.scorers.crs_v1 import CounterpartyInputs
from tests.checks.scorecards import ScorecardCases, SignalCase
from tests.support.policies import seeded_lists_of


def inputs_of(transfers: int, **over: Any) -> CounterpartyInputs:
    """Inputs whose country is on the lists that a new tenant has it on."""
    return CounterpartyInputs(transfers, **over, country_lists=seeded_lists_of(over.get("country")))


QUIET: Final[dict[str, Any]] = {"transfers": 10, "transfers_60d": 10, "relationship_days": 60, "country": "US"}
SIGNALS: Final = (
    SignalCase("CRS-RET-01", 15, {"unauthorized_returns_60d": 1}, {"unauthorized_returns_60d": 0}),
    SignalCase("CRS-RET-02", 30, {"unauthorized_returns_60d": 2}, {"unauthorized_returns_60d": 1}),
    SignalCase("CRS-RET-03", 20, {"returns_60d": 2}, {"returns_60d": 2, "transfers_60d": 11}),
    SignalCase("CRS-RET-03", 20, {"returns_60d": 2, "transfers_60d": 2}, {"returns_60d": 1, "transfers_60d": 2}),
    SignalCase("CRS-CPY-01", 10, {"relationship_days": 6}, {"relationship_days": 7}),
    SignalCase("CRS-CPY-02", 5, {"relationship_days": 7}, {"relationship_days": 6}),
    SignalCase("CRS-CPY-02", 5, {"relationship_days": 29}, {"relationship_days": 30}),
    SignalCase("CRS-CPY-03", 15, {"account_changed_days": 89}, {"account_changed_days": 90}),
    SignalCase("CRS-CPY-04", 20, {"shared_entities_30d": 3}, {"shared_entities_30d": 2}),
    SignalCase("CRS-GEO-01", 40, {"country": "MM"}, {"country": None}),
    SignalCase("CRS-GEO-02", 12, {"country": "VE"}, {"country": "IR"}),
    SignalCase("CRS-GEO-03", 40, {"country": "CU"}, {"country": "SY"}),
    SignalCase(
        "CRS-HIS-01", -5, {"transfers": 20, "relationship_days": 90}, {"transfers": 19, "relationship_days": 90}
    ),
    SignalCase(
        "CRS-HIS-01", -5, {"transfers": 20, "relationship_days": 90}, {"transfers": 20, "relationship_days": 89}
    ),
    SignalCase(
        "CRS-HIS-01",
        -5,
        {"transfers": 20, "relationship_days": 90},
        {"transfers": 20, "relationship_days": 90, "returns": 1},
    ),
)

COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 20, 60, 1_000)))
DAYS: Final = st.none() | st.sampled_from((0, 6, 7, 29, 30, 89, 90, 4_000))
INPUTS: Final = st.builds(
    inputs_of,
    transfers=COUNTS,
    transfers_60d=COUNTS,
    returns=COUNTS,
    returns_60d=COUNTS,
    unauthorized_returns_60d=COUNTS,
    shared_entities_30d=COUNTS,
    relationship_days=DAYS,
    account_changed_days=DAYS,
    country=st.none() | st.sampled_from(("US", "DE", "VE", "IR", "KP", "CU", "MM")),
)
CASES: Final = ScorecardCases(
    card=crs_v1.DEFAULT,
    score_of=crs_v1.DEFAULT.score,
    inputs_of=inputs_of,
    quiet=QUIET,
    quiet_n=10,
    quiet_confidence=0.33,
    least=3,
    n_of=lambda inputs: inputs.transfers,
    signals=SIGNALS,
    any_inputs=INPUTS,
)


def scored(**over: Any) -> Score:
    """The score of a quiet counterparty, with these inputs in place of its own."""
    return CASES.score(over)
