"""A transfer measured and scored."""

import msgspec

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.reason import Score


class Assessment(msgspec.Struct, frozen=True, gc=False):
    """A vector with its score. ``degraded`` halves the confidence and changes no points.

    ``degraded_reasons`` name the missing facts; a stored score that is read back has the flag alone. ``layering`` and
    ``round_trip`` are the transfers that the two graph features rest on, as rows, oldest first.
    """

    vector: FeatureVector
    score: Score
    degraded: bool
    layering: tuple[int, ...] = ()
    round_trip: tuple[int, ...] = ()
    degraded_reasons: tuple[str, ...] = ()
