"""Derived ids: the same in every release, apart for different causes, and UUIDs of version 5."""

import uuid

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clearhold.features.core.canonical import ALERT_IDS, POLICY_IDS, SCORE_IDS, IdNamespace, derived_id, is_derived

PARTS = st.lists(st.text(max_size=8), max_size=4)


def test_given_the_same_cause_then_the_id_is_the_same_in_every_release() -> None:
    assert derived_id("ten_1", "evt_1", "velocity") == derived_id("ten_1", "evt_1", "velocity")
    assert derived_id("ten_1", "evt_1") == "886b6a41-b765-5420-a9bd-c94952adfd09"


@given(PARTS, PARTS)
def test_given_different_parts_then_the_ids_differ_even_if_they_join_to_the_same_text(
    one: list[str], other: list[str]
) -> None:
    assume(one != other)

    assert derived_id(*one) != derived_id(*other)


@pytest.mark.parametrize(("ids", "kind"), [(ALERT_IDS, "alerts"), (POLICY_IDS, "policies"), (SCORE_IDS, "scores")])
@given(cause=st.text(st.characters(exclude_categories=["Cs"])))
def test_given_a_namespace_then_its_ids_are_the_version_5_uuids_of_its_address(
    ids: IdNamespace, kind: str, cause: str
) -> None:
    namespace = uuid.uuid5(uuid.NAMESPACE_URL, f"https://clearhold.invalid/{kind}")

    assert ids.id_of(cause) == str(uuid.uuid5(namespace, cause))
    assert is_derived(ids.id_of(cause))
