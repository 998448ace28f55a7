"""An event decoded in one pass says the same as its envelope and its object decoded apart."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from clearhold.features.bank.events import EVENT_DECODER, BankObject, TypedEvent, decode_event, decode_object
from tests.features.bank.test_odd_data import odd_objects

ENVELOPE = {"id": "evnt_1", "type": "ach.outgoing_transfer.settled", "created_at": "2026-01-01T00:00:00Z"}


def in_one_pass(body: bytes) -> object:
    try:
        event = decode_event(body)
        data = event.data if isinstance(event, TypedEvent) else decode_object(event.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return type(error)
    return event.id, event.type, event.created_at, data


def apart(body: bytes) -> object:
    try:
        event = EVENT_DECODER.decode(body)
        data = decode_object(event.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return type(error)
    return event.id, event.type, event.created_at, data


@settings(deadline=None)
@given(odd=odd_objects())
def test_given_an_odd_object_when_its_event_is_decoded_then_it_is_read_field_by_field(odd: tuple[str, Any]) -> None:
    kind, data = odd
    body = json.dumps({**ENVELOPE, "type": kind, "data": data}).encode()

    assert in_one_pass(body) == apart(body)


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"e","type":"t","created_at":"c"}',
        '{"id":"e","type":"t","created_at":"c","data":null}',
        '{"id":"e","type":"t","created_at":"c","data":[1]}',
        '{"id":5,"type":"t","created_at":"c","data":{}}',
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a\\u0000b","amount":5}}',
        '{"id":"e","type":"t\\u0000","created_at":"c","data":{"id":"a","amount":5}}',
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a","amount":5,"amount":"x"}}',
        '{"id":"e","type":"t","created_at":"c","data":7,"data":{"id":"a","amount":5}}',
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a"},"data":{"amount":5}}',
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a","amount":5},"data":7}',
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a","wire":' + "[" * 2_000 + "]" * 2_000 + "}}",
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a","unknown":' + "[" * 990 + "]" * 990 + "}}",
        '{"id":"e","type":"t","created_at":"c","data":{"id":"a"}} x',
        "{",
        "",
    ],
)
def test_given_an_odd_body_when_it_is_decoded_then_the_result_or_the_error_is_the_same(text: str) -> None:
    body = text.encode()

    assert in_one_pass(body) == apart(body)


@pytest.mark.parametrize("field", ["id", "unknown"])
def test_given_bytes_that_are_no_text_when_they_are_decoded_then_the_result_is_the_same(
    field: str,
) -> None:
    body = b'{"id":"e","type":"t","created_at":"c","data":{"%b":"\xff"}}' % field.encode()

    assert in_one_pass(body) == apart(body)


def test_given_an_object_as_it_should_be_when_its_event_is_decoded_then_it_is_typed() -> None:
    event = decode_event(json.dumps({**ENVELOPE, "data": {"id": "acht_1", "amount": 5}}).encode())

    assert isinstance(event, TypedEvent)
    assert event.data == BankObject(id="acht_1", amount=5)
