"""Bodies that the JSON Schema takes are taken: for it, 14.0 is an integer, and the decoder has to agree."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec
import pytest
from msgspec import Meta

from clearhold.api.http.request_schema import MOST_VALUES, RequestSchema
from clearhold.api.http.validation import FIRST_ITEMS, MOST_PARTS, Failure, refusal
from clearhold.features.core.errors import FieldCode, InvalidRequestError


class Overlap(msgspec.Struct, forbid_unknown_fields=True):
    hours: Annotated[int, Meta(ge=0, le=72)]
    note: str = ""


OVERLAP = RequestSchema(Overlap)


def test_given_a_whole_number_with_a_point_when_read_then_it_is_that_integer() -> None:
    typed, plain = OVERLAP.decode(b'{"hours": 14.0, "note": "x"}')

    assert (typed.hours, type(typed.hours), typed.note, plain) == (14, int, "x", {"hours": 14.0, "note": "x"})


@pytest.mark.parametrize("hours", [b"14.0", b"1.4e1", b"140e-1", b"14.00000000"])
def test_given_any_short_spelling_of_a_whole_number_when_read_then_it_is_that_integer(hours: bytes) -> None:
    assert OVERLAP.decode(b'{"hours": ' + hours + b"}")[0] == Overlap(hours=14)


def at_most_a_day(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """A rule that reads its Struct, as those of scorecards and of rules do."""
    try:
        overlap = msgspec.convert(plain, Overlap)
    except msgspec.ValidationError:
        return
    if overlap.hours > 24:
        yield Failure("hours", "must be at most a day", FieldCode.TOO_LARGE)


@pytest.mark.parametrize("hours", [b"25", b"25.0", b"2.5e1", b"72.000"])
def test_given_a_rule_when_a_whole_number_has_a_point_then_the_rule_holds_as_without_it(hours: bytes) -> None:
    ruled = RequestSchema(Overlap, rules=at_most_a_day)
    body = b'{"hours": ' + hours + b"}"

    with pytest.raises(InvalidRequestError, match="hours must be at most a day"):
        ruled.decode(body)
    assert [failure.path for failure in ruled.failures(body)] == ["hours"]
    assert ruled.decode(b'{"hours": 24.0}')[0] == Overlap(hours=24)


REFUSED = (
    *(b'{"hours": 14.5}', b'{"hours": 73.0}', b'{"hours": "14"}', b'{"hours": "14.0"}', b'{"hours": true}'),
    *(b'{"hours": 1.0, "note": 5}', b'{"hours": 1.0, "note": 5.0}', b'{"hours": 14.000000000000001}'),
    *(b'{"hours": 1e999}', b'{"hours": 1e-999}', b'{"hours": 0.' + b"9" * 50_000 + b"}"),
    *(b'{"hours": 14.' + b"0" * 50_000 + b"}", b'{"hours": 14.0, "more": 1}', b""),
)


@pytest.mark.parametrize("body", REFUSED)
def test_given_another_number_text_or_truth_when_read_then_it_is_refused_and_its_failures_are_the_same(
    body: bytes,
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        OVERLAP.decode(body)
    failures = OVERLAP.failures(body)

    assert failures
    assert str(refusal(failures)) == str(refused.value)


@pytest.mark.parametrize("body", [b'{"hours": 14.0}', b'{"hours": 14, "note": "x"}'])
def test_given_a_body_that_is_taken_when_its_failures_are_listed_then_there_are_none(body: bytes) -> None:
    assert OVERLAP.failures(body) == []


class Codes(msgspec.Struct, forbid_unknown_fields=True):
    codes: tuple[Annotated[str, Meta(max_length=3)], ...] = ()
    more: Any = None


CODES = RequestSchema(Codes)


def refused(body: object) -> str:
    with pytest.raises(InvalidRequestError) as error:
        CODES.decode(msgspec.json.encode(body))
    return str(error.value)


def test_given_more_faults_than_are_counted_when_read_then_the_first_are_shown_and_the_rest_are_many() -> None:
    sentence = refused({"codes": ["long"] * 150})

    assert sentence.startswith("Validation failed: codes[0] must have at most 3 characters; codes[1] ")
    assert sentence.endswith("; codes[19] must have at most 3 characters; and many more")


@pytest.mark.parametrize("place", [0, 5_000, 6_999])
def test_given_a_large_body_when_a_value_is_wrong_then_its_path_is_named(place: int) -> None:
    codes = ["abc"] * 7_000
    codes[place] = "long"

    assert refused({"codes": codes}) == f"Validation failed: codes[{place}] must have at most 3 characters"


class OneValue(msgspec.Struct, forbid_unknown_fields=True):
    value: str | int = 0


class Nested(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    of: tuple[OneValue, ...] = ()
    anything: Any = None


NESTED = RequestSchema(Nested)
MANY: Final = [{"a": 1, "b": [2]}] * 2_500


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"name": MANY}, "name must be a string"),
        ({"of": MANY}, "of[0].a is not a known property"),
        ({"of": [{"value": 1}, {"value": MANY}]}, "of[1].value must be a string or an integer"),
        ({"anything": MANY, "name": {}}, "name must be a string"),
        ({"anything": MANY, "nome": "x"}, "nome is not a known property; did you mean name?"),
        (MANY, "body must be an object"),
    ],
)
def test_given_many_values_where_none_can_be_when_read_then_the_fault_is_theirs(body: object, sentence: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        NESTED.decode(msgspec.json.encode(body))

    assert str(error.value) == f"Validation failed: {sentence}"


@pytest.mark.parametrize("depth", [300, 450, 900])
def test_given_many_values_and_a_depth_where_anything_may_be_when_read_then_it_is_no_error(depth: int) -> None:
    body = {"anything": [*MANY, msgspec.Raw(b"[" * depth + b"]" * depth)], "name": 5}

    with pytest.raises(InvalidRequestError, match="name must be a string"):
        NESTED.decode(msgspec.json.encode(body))


@pytest.mark.parametrize(
    "body",
    [
        {"codes": ["a"] * (MOST_VALUES + 2)},
        {"codes": ["a,a"] * (MOST_VALUES // 2 + 2)},
        {"more": {f"n{number}": 1 for number in range(MOST_VALUES + 2)}},
    ],
)
def test_given_more_values_than_a_body_may_have_when_read_then_it_is_refused_unread(body: object) -> None:
    assert refused(body) == f"Validation failed: body must have at most {MOST_VALUES:,} values, by its commas"


@pytest.mark.parametrize(
    "body", [{"codes": ["a"] * MOST_VALUES}, {"more": {f"n{number}": 1 for number in range(MOST_VALUES)}}]
)
def test_given_a_body_at_its_limits_when_read_then_it_is_taken(body: object) -> None:
    assert CODES.decode(msgspec.json.encode(body))[1] == body


@pytest.mark.parametrize("digits", [311, 4_000, 4_301])
def test_given_a_number_beyond_a_float_where_anything_may_be_when_read_then_it_is_refused(digits: int) -> None:
    with pytest.raises(InvalidRequestError, match="64-bit float"):
        CODES.decode(b'{"more": [' + b"9" * digits + b"]}")


def test_given_no_json_when_read_then_it_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="must be valid JSON"):
        OVERLAP.decode(b'{"hours": 14.0')
    with pytest.raises(InvalidRequestError, match="must be valid JSON"):
        OVERLAP.failures(b'{"hours": 14.0')


def test_given_a_name_twice_beside_a_whole_number_with_a_point_when_read_then_it_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="repeated"):
        OVERLAP.decode(b'{"hours": 14.0, "hours": 15.0}')


class Overlaps(msgspec.Struct, forbid_unknown_fields=True):
    overlaps: tuple[Overlap, ...]


OVERLAPS: Final = RequestSchema(Overlaps)


@pytest.mark.parametrize("at", [0, 3, FIRST_ITEMS - 1, FIRST_ITEMS, FIRST_ITEMS + 1, MOST_PARTS - 1])
def test_given_a_long_list_then_a_fault_is_named_wherever_it_is(at: int) -> None:
    items: list[dict[str, Any]] = [{"hours": 14, "note": "x"} for _ in range(MOST_PARTS)]
    items[at] = {"hours": 14, "note": 5}

    (failure,) = OVERLAPS.failures(msgspec.json.encode({"overlaps": items}))
    assert failure.path == f"overlaps[{at}].note"
