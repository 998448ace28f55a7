"""The feature vector: everything that a scorer may read, as of the transfer's own time.

The groups declare the features, each with what it means. Their order is the order of the vector's fields, of columns
in ``transfer_features``, of names in ``scoreInputs`` and of the page ``docs/features.md``.
"""

from typing import TYPE_CHECKING, Final, get_type_hints

import msgspec

from clearhold.features.catalogue.amounts import (
    Activity,
    Amounts,
    Facts,
    History,
    Identity,
    Passing,
    ProgramFigures,
    Relationship,
    Typologies,
)
from clearhold.features.catalogue.feature import Group, features_of
from clearhold.features.catalogue.flows import (
    AchEntries,
    Cards,
    Flow,
    MeasuredInForce,
    Novelties,
    Returns,
    Rhythm,
    Standing,
)
from clearhold.features.catalogue.purchases import Purchases
from clearhold.features.catalogue.shares import Shares
from clearhold.features.catalogue.weeks import FundsOrigin, PairPast, Weeks
from clearhold.features.core.money import money_leaves

FEATURE_VERSION: Final = "features-v7"
RARE_AT_MOST: Final = 3


GROUPS: Final[tuple[type[Group], ...]] = (
    *(Facts, Identity, Activity, Relationship, ProgramFigures, Typologies, History, Amounts, Passing),
    *(Flow, Returns, AchEntries, Cards, Novelties, Standing, MeasuredInForce, Rhythm),
    *(Weeks, PairPast, FundsOrigin, Shares, Purchases),
)
"""All groups, in the order of the vector."""

if TYPE_CHECKING:

    class _OfAmounts(
        Passing, Amounts, History, Typologies, ProgramFigures, Relationship, Activity, Identity, Facts, frozen=True
    ): ...

    class _OfFlows(MeasuredInForce, Standing, Novelties, Cards, AchEntries, Returns, Flow, _OfAmounts, frozen=True): ...

    class FeatureVector(Purchases, Shares, FundsOrigin, PairPast, Weeks, Rhythm, _OfFlows, frozen=True): ...

else:
    # A Struct has one base with fields, so the fields of all groups are put together here.
    FeatureVector = msgspec.defstruct(
        "FeatureVector",
        [field for group in GROUPS for field in get_type_hints(group).items()],
        namespace={"__doc__": "The fields of all groups. None means not measured; it is never 0 or False."},
        module=__name__,
        frozen=True,
        gc=False,
    )

FEATURES: Final = tuple(feature for group in GROUPS for feature in features_of(group))
RULE_FIELDS: Final = (
    *FEATURES[: FeatureVector.__struct_fields__.index("declared_rails")],
    *features_of(Purchases),
)
"""The features that a bank may write rules on: the rule fields of the interface, which are the first of the vector, and
those of card purchases.
"""

NAME_OF: Final = {feature.column: feature.name for feature in FEATURES}


def values_by_name(vector: FeatureVector) -> dict[str, str | int | float | bool | None]:
    """A vector under the names of the interface."""
    return {feature.name: getattr(vector, feature.column) for feature in FEATURES}


class PathOffsets(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The transfers that passed money on, oldest first, as log offsets of their deliveries."""

    layering_hops: tuple[int, ...] = ()
    round_trip: tuple[int, ...] = ()


class TransferFeaturesRow(msgspec.Struct, frozen=True, gc=False):
    """One scoring of one transfer. In the table the fields of the vector follow as further columns."""

    tenant_id: str
    program_id: str
    transfer_id: str
    shard: int
    offset: int
    taken_at: int  # the transfer's own time, which the windows end at
    scored_at: int
    feature_version: str
    score_version: str
    score: int | None
    band: str
    n: int
    confidence: float | None
    hard: bool
    degraded: bool
    reasons: str  # JSON of Reason[]
    paths: str | None  # JSON of a PathOffsets; None without a path
    rescored: bool  # the transfer was scored before
    vector: FeatureVector


def pays(v: FeatureVector) -> bool:
    """True when the money leaves the program, no matter who originated the transfer."""
    return money_leaves(v.rail, v.direction, v.type)


def is_attempt(v: FeatureVector) -> bool:
    """True when no money moved."""
    return v.moved is False


def is_rare_pair(v: FeatureVector) -> bool:
    """Payer and payee are new to each other, and neither has over 3 new acquaintances in 90 days, this one included."""
    if not v.pair_first_time or v.payer_new_payees_90d is None or v.payee_new_payers_90d is None:
        return False
    return v.payer_new_payees_90d <= RARE_AT_MOST and v.payee_new_payers_90d <= RARE_AT_MOST
