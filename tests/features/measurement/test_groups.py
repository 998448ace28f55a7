"""The groups that a vector is measured in have the fields of the vector, in its order and of its types."""

from typing import get_type_hints

import msgspec

from clearhold.features.catalogue.vector import GROUPS, FeatureVector


def test_given_all_groups_when_their_fields_are_put_together_then_they_are_the_vectors_in_its_order() -> None:
    fields = [(name, kind) for group in GROUPS for name, kind in get_type_hints(group).items()]

    assert fields == [(field.name, field.type) for field in msgspec.structs.fields(FeatureVector)]
