"""A large page leaves its turn on the event loop to others."""

import asyncio

import htpy as h
import pytest
from markupsafe import Markup

from clearhold.api.console.slices import SLICE, pieces_of, written


def test_given_a_large_page_when_written_then_other_work_has_a_turn_after_each_slice() -> None:
    rows = 2_000
    page = h.table[(h.tr[h.td[str(number)]] for number in range(rows))]
    pieces = len(list(pieces_of(h.table[(h.tr[h.td[str(number)]] for number in range(rows))])))

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


class Own:
    """A node of the kind that says its own HTML."""

    def __html__(self) -> str:
        return "<i>own</i>"


@pytest.mark.parametrize(
    "node",
    [
        "a < b & 'c' \"d\"",
        Markup("<b>as it is</b>"),
        7,
        True,
        [h.p["a"], None, False, ("b", [h.br, "c"])],
        h.p,
        h.p("#b.a", title="<")[None],
        h.p[""],
        h.p[True],
        h.p[0],
        h.p[h.b["x"]],
        h.p[h.b[h.i["deep"], " & "], h.img(src="/a?b&c"), "end"],
        h.p[lambda: h.b["called"]],
        h.fragment["a", h.p["b"], h.fragment[h.p["c"]]],
        h.html(lang="en")[h.head[h.title["<t>"]], h.body["x"]],
        h.div[h.html["inner"]],
        h.comment("note"),
        h.p[Own(), Markup("&amp;")],
        h.p[{"key": 1}.keys()],
    ],
)
def test_given_any_kind_of_node_then_it_is_written_as_htpy_writes_it(node: h.Node) -> None:
    assert "".join(pieces_of(node)) == str(h.fragment[node])


def test_given_iterators_as_children_then_they_are_written_as_htpy_writes_them() -> None:
    def page() -> h.Node:
        return h.ul[(h.li[str(each)] for each in range(3)), h.li[map(str, range(3))]]

    assert "".join(pieces_of(page())) == str(page())


def test_given_a_generator_that_was_written_then_it_is_refused() -> None:
    page = h.ul[(h.li[str(each)] for each in range(3))]
    assert "".join(pieces_of(page)) == "<ul><li>0</li><li>1</li><li>2</li></ul>"
    with pytest.raises(RuntimeError, match="consumed"):
        "".join(pieces_of(page))
