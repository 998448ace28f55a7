"""Questions and answers as bytes.

Errors  ``msgspec.MsgspecError`` for other bytes
"""

from typing import Final, NamedTuple, TypeVar

import msgspec

from clearhold.features.core.errors import UnavailableError
from clearhold.features.shard.questions import ANSWER_TYPES, Answer, AnyQuestion, Question

AnswerT = TypeVar("AnswerT")

FAILED: Final = "The question could not be answered."
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_QUESTIONS: Final = msgspec.msgpack.Decoder(tuple[int, str, AnyQuestion])


class Envelope(NamedTuple):
    """An encoded answer; ``number`` names its question."""

    number: int
    took_us: int
    value: msgspec.Raw
    failed: bool


_ENVELOPES: Final = msgspec.msgpack.Decoder(Envelope)
_ANSWERS: Final = {kind: msgspec.msgpack.Decoder(answer) for kind, answer in ANSWER_TYPES.items()}


def encoded_question(number: int, program_id: str, question: Question[object]) -> bytes:
    return _ENCODE((number, program_id, question))


def decoded_question(body: bytes) -> tuple[int, str, AnyQuestion]:
    """The question's number, which its answer repeats, the program and the question."""
    return _QUESTIONS.decode(body)


def encoded_answer(number: int, took_us: int, value: object, *, failed: bool = False) -> bytes:
    return _ENCODE((number, took_us, value, failed))


def envelope_of(body: bytes) -> Envelope:
    return _ENVELOPES.decode(body)


def decoded_answer(envelope: Envelope, question: Question[AnswerT]) -> Answer[AnswerT]:
    """The answer to this question; UnavailableError when its owner failed to answer it."""
    if envelope.failed:
        raise UnavailableError(FAILED)
    answer: AnswerT = _ANSWERS[type(question)].decode(envelope.value)
    return Answer(answer, envelope.took_us)
