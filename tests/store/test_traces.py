"""Headers of W3C Trace Context: one of ours is one of theirs, and nothing else is taken for one."""

from typing import Final

import pytest

from clearhold.store.ids import new_trace_id, trace_id_of, traceparent_of

TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN: Final = "00f067aa0ba902b7"


@pytest.mark.parametrize("flags", ["00", "01", "ff"])
def test_given_a_header_of_version_00_then_its_trace_id_is_taken_whatever_the_flags(flags: str) -> None:
    assert trace_id_of(f"00-{TRACE}-{SPAN}-{flags}".encode()) == TRACE


@pytest.mark.parametrize(
    "sent",
    [
        "",
        TRACE,
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01\n",
        f" 00-{TRACE}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE[:-1]}é-{SPAN}-01",
    ],
)
def test_given_anything_else_then_there_is_no_trace(sent: str) -> None:
    assert trace_id_of(sent.encode()) is None


def test_given_a_trace_that_begins_here_then_others_can_read_what_is_sent_of_it() -> None:
    trace_id = new_trace_id()

    assert trace_id_of(traceparent_of(trace_id).encode()) == trace_id
    assert new_trace_id() != trace_id
    assert traceparent_of(trace_id) != traceparent_of(trace_id)
