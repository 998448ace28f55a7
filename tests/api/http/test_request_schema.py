"""Bodies that the JSON Schema takes are taken: for it, 14.0 is an integer, and the decoder has to agree."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.http.validation import Failure, refusal
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


def test_given_no_json_when_read_then_it_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="must be valid JSON"):
        OVERLAP.decode(b'{"hours": 14.0')
    with pytest.raises(InvalidRequestError, match="must be valid JSON"):
        OVERLAP.failures(b'{"hours": 14.0')


def test_given_a_name_twice_beside_a_whole_number_with_a_point_when_read_then_it_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="repeated"):
        OVERLAP.decode(b'{"hours": 14.0, "hours": 15.0}')
