"""Feature vectors that are random in some fields or all, with figures from around the lines that the rules draw."""

from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from clearhold.features.catalogue.thresholds import COUNTED_SIGNALS
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.vocabulary import AchType, Direction, PepStatus, Rail, VerificationStatus
from tests.support.builders import a_vector

COUNTS: Final = st.one_of(
    st.integers(0, 12), st.sampled_from((19, 20, 25, 29, 30, 40, 49, 50, 59, 60, 61, 99, 100, 1_000))
)
CENTS: Final = st.one_of(
    st.sampled_from(
        (0, 1, 99, 100, 500, 99_999, 100_000, 239_999, 240_000, 249_999, 250_000, 299_999, 300_000, 500_000, 999_999)
    ),
    st.integers(0, 2_000_000),
    st.just(10**18 - 1),
)
DAYS: Final = st.sampled_from((0, 1, 4, 5, 6, 30, 31, 89, 90, 91, 365, 366, 4_000))
_WORDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "rail": st.sampled_from([word.value for word in Rail]),
    "direction": st.sampled_from([word.value for word in Direction]),
    "type": st.sampled_from([None, *(word.value for word in AchType)]),
    "status": st.sampled_from((None, "COMPLETED")),
    "counterparty_country": st.sampled_from((None, "US", "DE", "FR", "VE", "IR", "KP", "CU", "MM")),
    "card_decision_reason": st.none(),
    "entity_verification_status": st.sampled_from([None, *(word.value for word in VerificationStatus)]),
    "entity_pep_status": st.sampled_from([None, *(word.value for word in PepStatus)]),
    "declared_countries": st.sampled_from(("", "US", "DE,US")),
    "declared_rails": st.sampled_from(("", "ach", "ach,wire")),
    "counterparty_country_lists": st.sampled_from((None, "", "call_for_action", "increased_monitoring")),
    "structuring_thresholds": st.sampled_from(("300000,1000000", "250000")),
    "thresholds_version": st.just("thresholds-v1"),
    "ladder_version": st.just("ladder-v1"),
    "common_signals": st.sampled_from((None, "", "TRS-VEL-03 TRS-CPY-09", " ".join(COUNTED_SIGNALS))),
    "entry_mode": st.sampled_from((None, "ECOMMERCE")),
    "merchant_category": st.sampled_from((None, "5411")),
    "merchant_state": st.sampled_from((None, "TX")),
}


def _figures(name: str, kind: object) -> st.SearchStrategy[Any]:
    if name in _WORDS:
        return _WORDS[name]
    figures: st.SearchStrategy[Any] = COUNTS
    if kind in {bool, bool | None}:
        figures = st.booleans()
    elif kind == float | None:
        figures = st.sampled_from((0.0, 0.004, 1.0))
    elif name.endswith("_cents") or "_cents_" in name:
        figures = CENTS
    elif name.endswith("_days"):
        figures = DAYS
    return figures if kind in {int, bool} else st.none() | figures


FIGURES: Final = {field.name: _figures(field.name, field.type) for field in msgspec.structs.fields(FeatureVector)}
SHARES: Final = [name for name in FIGURES if name.endswith("_permille") and name != "rarest_permille"]
OF_FIRST: Final = {name for name in SHARES if name.startswith(("first_", "quiet_"))}


@st.composite
def quiet_but_for_some(draw: st.DrawFn) -> FeatureVector:
    names = draw(st.lists(st.sampled_from(sorted(FIGURES)), max_size=10, unique=True))
    return a_vector(**{name: draw(FIGURES[name]) for name in names})


def with_its_shares(vector: FeatureVector) -> FeatureVector:
    """The vector with the shares that it can have: those of first payments on one alone, and the least of all."""
    shares = {name: getattr(vector, name) for name in SHARES if vector.pair_first_time or name not in OF_FIRST}
    rarest = min([share for share in shares.values() if share is not None], default=None)
    return msgspec.structs.replace(vector, **(dict.fromkeys(SHARES) | shares), rarest_permille=rarest)


VECTORS: Final = (quiet_but_for_some() | st.builds(FeatureVector, **FIGURES)).map(with_its_shares)
