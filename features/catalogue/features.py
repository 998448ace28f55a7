"""Every feature of the vector: the rule fields of the interface first, then the further ones, in the vector's order."""

from typing import Final

from clearhold.features.catalogue.feature import Feature
from clearhold.features.catalogue.further_fields import FURTHER_FIELDS
from clearhold.features.catalogue.rhythm_fields import RHYTHM_FIELDS
from clearhold.features.catalogue.rule_fields import RULE_FIELDS
from clearhold.features.catalogue.vector import FeatureVector

FEATURES: Final[tuple[Feature, ...]] = (*RULE_FIELDS, *FURTHER_FIELDS, *RHYTHM_FIELDS)
NAME_OF: Final = {feature.column: feature.name for feature in FEATURES}


def values_by_name(vector: FeatureVector) -> dict[str, str | int | float | bool | None]:
    """A vector under the names of the interface."""
    return {feature.name: getattr(vector, feature.column) for feature in FEATURES}
