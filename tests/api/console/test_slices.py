"""A large page leaves its turn on the event loop to others."""

import asyncio

import htpy as h

from clearhold.api.console.slices import SLICE, written


def test_given_a_large_page_when_written_then_other_work_has_a_turn_after_each_slice() -> None:
    rows = 2_000
    page = h.table[(h.tr[h.td[str(number)]] for number in range(rows))]
    pieces = len(list(h.table[(h.tr[h.td[str(number)]] for number in range(rows))].iter_chunks()))

    async def both() -> tuple[bytes, int]:
        turns = 0
        writing = asyncio.ensure_future(written(page))
        while not writing.done():
            turns += 1
            await asyncio.sleep(0)
        return writing.result(), turns

    body, turns = asyncio.run(both())

    assert body.count(b"<tr>") == rows
    assert body.startswith(b"<table><tr><td>0</td>")
    assert turns >= pieces // SLICE


def test_given_a_page_when_written_then_it_is_the_same_as_in_one_piece() -> None:
    page = h.html[h.body[h.p["a < b"], None, [h.b["ä"], "&"]]]
    assert asyncio.run(written(page)) == str(page).encode()


def test_given_nothing_then_the_page_is_empty() -> None:
    assert asyncio.run(written(h.fragment[None])) == b""
