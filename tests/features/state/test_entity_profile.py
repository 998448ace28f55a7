"""What the bank states of an entity, as known at each instant, and how little memory it shares or takes."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.bank.events import EntitySnapshot
from clearhold.features.state.parties import Actor
from clearhold.features.state.party_details import UNKNOWN_PROFILE, EntityProfile

FIELDS = ("type", "name", "verification_status", "last_screened_at", "created_at", "is_high_risk")
WORDS = st.none() | st.sampled_from(["a", "b"])
INSTANTS = st.none() | st.integers(1, 3)
STATEMENTS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.fixed_dictionaries(
            {
                "type": WORDS,
                "name": WORDS,
                "verification_status": WORDS,
                "last_screened_at": INSTANTS,
                "created_at": INSTANTS,
                "is_high_risk": st.none() | st.booleans(),
            }
        ),
    ),
    max_size=8,
)


def a_snapshot(**over: Any) -> EntitySnapshot:
    return EntitySnapshot(**{**dict.fromkeys(EntitySnapshot.__struct_fields__), "id": "enti_1", **over})


def an_actor() -> Actor:
    return Actor.new("enti_1", 0, is_account=False)


def fields_of(profile: EntityProfile) -> dict[str, Any]:
    words = profile.words
    return {field: getattr(words if hasattr(words, field) else profile, field) for field in FIELDS}


STATED = itemgetter(1)


def newest_of(statements: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Each field as the last of the statements that have it states it."""
    fields: dict[str, Any] = dict.fromkeys(FIELDS)
    for stated in statements:
        fields |= {field: value for field, value in stated.items() if value is not None}
    return fields


@given(statements=STATEMENTS, at=st.integers(-1, 10))
def test_given_statements_in_any_order_when_an_instant_is_asked_then_each_field_is_the_newest_that_was_known(
    statements: list[tuple[int, dict[str, Any]]], at: int
) -> None:
    actor = an_actor()
    for place, (known_at, stated) in enumerate(statements):
        former, is_older = actor.profile, known_at < max((each for each, _ in statements[:place]), default=-1)
        profile = actor.merge(a_snapshot(**stated), known_at=known_at)
        assert (profile is None) == (is_older and fields_of(actor.profile) == fields_of(former))
    in_order = sorted(statements, key=itemgetter(0))
    known, current = (
        newest_of(stated for known_at, stated in in_order if known_at <= at),
        newest_of(map(STATED, in_order)),
    )

    loaded = Actor.loaded(msgspec.msgpack.decode(msgspec.msgpack.encode(actor.dump())), 0)

    assert fields_of(actor.profile_at(at)) == fields_of(loaded.profile_at(at)) == known
    assert fields_of(actor.profile) == current
    assert loaded.dump() == actor.dump()


def test_given_a_statement_behind_its_time_then_it_is_known_no_earlier_than_the_one_before_it() -> None:
    actor = an_actor()
    actor.merge(a_snapshot(name="Ada", updated_at=10), known_at=20)

    profile = actor.merge(a_snapshot(name="Ada B", updated_at=11), known_at=15)

    assert profile is not None
    assert (profile.known_at, profile.order) == (20, (11, 15, 0))
    assert actor.merge(a_snapshot(name="Ada C", updated_at=9), known_at=30) is None
    assert actor.profile_at(19) is UNKNOWN_PROFILE


def test_given_an_older_statement_that_comes_again_then_nothing_is_kept_twice() -> None:
    actor, older = an_actor(), a_snapshot(name="Ada", pep_status="yes")
    actor.merge(a_snapshot(verification_status="VERIFIED"), known_at=20)

    assert actor.merge(older, known_at=10) is not None
    dumped = actor.dump()
    assert actor.merge(older, known_at=10) is None

    assert actor.dump() == dumped


def test_given_two_entities_with_the_same_words_then_they_are_in_memory_once_whoever_they_are() -> None:
    stated = {"type": "PERSON", "verification_status": "VERIFIED", "review_reasons": ("fraud_risk",)}
    ada, bo = an_actor(), an_actor()

    ada.merge(a_snapshot(name="Ada", **stated), known_at=1)
    bo.merge(a_snapshot(name="Bo", **stated), known_at=2)
    loaded = Actor.loaded(msgspec.msgpack.decode(msgspec.msgpack.encode(ada.dump())), 0)

    assert ada.profile.words is bo.profile.words
    assert ada.profile.words is loaded.profile.words
    assert (ada.profile.name, bo.profile.name) == ("Ada", "Bo")


def test_given_an_entity_stated_as_it_was_created_then_its_instants_are_in_memory_once() -> None:
    instant = 1_767_225_600_000_000
    stated = {"created_at": instant + 0, "last_screened_at": int(str(instant)), "updated_at": int(str(instant))}

    profile = an_actor().merge(a_snapshot(**stated), known_at=instant)

    assert profile is not None
    assert profile.created_at is profile.known_at
    assert profile.last_screened_at is profile.known_at
    assert profile.updated_at is profile.known_at
    assert profile.event_at is profile.known_at
