"""A question that cannot be answered fails its asker, and neither the scoring nor the rows that wait meanwhile."""

import mmap
import socket

import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.shard.questions import CountParties
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer.endpoint import ScorerEndpoint
from clearhold.flows.scorer.wire import FrameKind, Frames, decoded_answer, encoded_question, envelope_of, frame


@pytest.mark.parametrize("answer", [lambda *_: object(), lambda *_: 1 / 0], ids=["no form in bytes", "an error"])
def test_given_a_question_that_cannot_be_answered_when_an_entry_is_next_then_its_asker_hears_so_and_scoring_goes_on(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountParties, "answer", answer)
    rows, questions, flag = socket.socketpair(), socket.socketpair(), mmap.mmap(-1, 1)
    endpoint = ScorerEndpoint(rows[1], questions[1], flag, Shards(1))
    questions[0].sendall(frame(FrameKind.QUESTION, encoded_question(7, "prg_1", CountParties())))
    flag[0] = 1

    endpoint.between_entries()

    ((kind, body),) = Frames().feed(questions[0].recv(1 << 16))
    envelope = envelope_of(body)
    assert (kind, envelope.number) == (FrameKind.ANSWER, 7)
    with pytest.raises(UnavailableError):
        decoded_answer(envelope, CountParties())
    for each in (*rows, *questions):
        each.close()
