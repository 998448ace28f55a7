"""The money around a subject: payers on the left, the center in the middle, payees on the right; and a table.

Unit    lengths in the frame of the drawing; cents are integers of US cents
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import htpy as h

from clearhold.api.console.components.timeline import thing_path
from clearhold.api.console.components.wide import wide, wide_table
from clearhold.api.console.components.words import NAME_LETTERS, band_mark, count, cut, marked, moment, money, outsider
from clearhold.api.graph.schemas import GraphEdge, GraphNode, NodeType, SubjectGraph

_WIDTH, _ROW, _TOP = 760, 38, 14
_LEFT, _MIDDLE_LEFT, _MIDDLE_RIGHT, _RIGHT = 215, 290, 470, 545
_THICKEST, _THINNEST, _BULGE = 12.0, 1.5, 46
_LETTERS, _OWN_LETTERS, _END_LETTERS = 22, 20, 8
_path: Final = h.Element("path")
_label: Final = h.Element("text")
_run: Final = h.Element("tspan")
_rect: Final = h.Element("rect")
_desc: Final = h.Element("desc")
_group: Final = h.Element("g")


class GraphPlace(NamedTuple):
    """Where a node is drawn: ``side`` is -1 on the left, 0 in the middle, 1 on the right."""

    side: int
    y: float


def money_graph(graph: SubjectGraph) -> h.Node:
    if not graph.edges:
        return h.p["No transfer is known around it in this time."]
    nodes = {each.key: each for each in graph.nodes}
    left_out = graph.truncated
    return (
        wide("The money around it", _drawing(graph, nodes)),
        h.p(".small")[
            f"{count(len(graph.edges), 'pair')} of parties, ",
            moment(graph.from_),
            " to ",
            moment(graph.to),
            "; transfers of the alert's path and evidence whatever their time is.",
            f" {count(left_out.edges, 'further pair')} with {money(left_out.cents)} in "
            f"{count(left_out.transfers, 'transfer')} left out."
            if left_out.edges
            else None,
            f" {count(graph.unnamed.transfers, 'transfer')} with {money(graph.unnamed.cents)} have no named other side."
            if graph.unnamed.transfers
            else None,
        ],
        _table(graph, nodes),
    )


def places_of(graph: SubjectGraph) -> dict[str, GraphPlace]:
    """The center in the middle; a party around it on the side of its larger sum with the center."""
    middle = [each.key for each in graph.nodes if each.hop == 0]
    balance = Counter[str]()
    for edge in graph.edges:
        balance[edge.from_] -= int(edge.cents) + 1
        balance[edge.to] += int(edge.cents) + 1
    around = [each.key for each in graph.nodes if each.hop != 0]
    columns = {
        -1: [each for each in around if balance[each] < 0],
        0: middle,
        1: [each for each in around if balance[each] >= 0],
    }
    rows = max(map(len, columns.values()))
    return {
        key: GraphPlace(side, _TOP + (at + (rows - len(keys)) / 2) * _ROW + _ROW / 2)
        for side, keys in columns.items()
        for at, key in enumerate(keys)
    }


def _drawing(graph: SubjectGraph, nodes: Mapping[str, GraphNode]) -> h.Element:
    places = places_of(graph)
    height = max(each.y for each in places.values()) + _ROW
    most = max(int(each.cents) for each in graph.edges) or 1
    moved: dict[str, list[GraphEdge]] = {}
    for each in graph.edges:
        for end in (each.from_, each.to):
            moved.setdefault(end, []).append(each)
    return h.svg(
        ".flow", viewBox=f"0 0 {_WIDTH} {height:.0f}", role="img", aria_labelledby="around-title around-words"
    )[
        h.title(id="around-title")["Money between the parties"],
        _desc(id="around-words")[f"{'; '.join(_words_of(each, nodes) for each in graph.edges)}."],
        (_edge(each, nodes, places, most) for each in graph.edges),
        (_node(nodes[key], place, moved.get(key, [])) for key, place in places.items()),
    ]


def _edge(edge: GraphEdge, nodes: Mapping[str, GraphNode], places: Mapping[str, GraphPlace], most: int) -> h.Element:
    thick = max(_THINNEST, _THICKEST * int(edge.cents) / most)
    start, end = places[edge.from_], places[edge.to]
    if start.side == end.side:
        x = _MIDDLE_RIGHT if start.side >= 0 and start.y < end.y else _MIDDLE_LEFT
        x = {-1: _LEFT, 0: x, 1: _RIGHT}[start.side]
        bend = x + (_BULGE if x in {_MIDDLE_RIGHT, _LEFT} else -_BULGE)
        curve = f"M{x} {start.y:.1f} C{bend} {start.y:.1f} {bend} {end.y:.1f} {x} {end.y:.1f}"
        tip = _tip(x, end.y, points_right=bend < x)
    else:
        x, to = _side_of(start, end), _side_of(end, start)
        bend = (x + to) // 2
        curve = f"M{x} {start.y:.1f} C{bend} {start.y:.1f} {bend} {end.y:.1f} {to} {end.y:.1f}"
        tip = _tip(to, end.y, points_right=to > x)
    return _group(class_="edge path" if edge.path else "edge")[
        h.title[_words_of(edge, nodes)], _path(d=curve, stroke_width=f"{thick:.1f}"), _path(class_="tip", d=tip)
    ]


def _side_of(place: GraphPlace, other: GraphPlace) -> int:
    """Where an edge meets a node, on the side of its other end."""
    if place.side == 0:
        return _MIDDLE_LEFT if other.side < 0 else _MIDDLE_RIGHT
    return _LEFT if place.side < 0 else _RIGHT


def _tip(x: float, y: float, *, points_right: bool) -> str:
    back = x - 8 if points_right else x + 8
    return f"M{back} {y - 4:.1f} L{x} {y:.1f} L{back} {y + 4:.1f} Z"


def _node(node: GraphNode, place: GraphPlace, edges: Sequence[GraphEdge]) -> h.Node:
    if place.side == 0:
        width = _MIDDLE_RIGHT - _MIDDLE_LEFT
        return (
            _rect(class_="center", x=str(_MIDDLE_LEFT), y=f"{place.y - 15:.1f}", width=str(width), height="30", rx="5"),
            _label(class_="node own", x=str(_MIDDLE_LEFT + width / 2), y=f"{place.y + 4:.1f}", text_anchor="middle")[
                _short(node, _OWN_LETTERS)
            ],
        )
    x, anchor = (_LEFT - 8, "end") if place.side < 0 else (_RIGHT + 8, "start")
    cents = sum(int(each.cents) for each in edges)
    words = " · ".join(filter(None, (money(cents), node.country_code, *_states(edges))))
    return (
        _label(class_="node", x=str(x), y=f"{place.y - 1:.1f}", text_anchor=anchor)[
            _run(class_="party")[_short(node, _LETTERS)]
        ],
        _label(class_="node small", x=str(x), y=f"{place.y + 12:.1f}", text_anchor=anchor)[words],
    )


def _short(node: GraphNode, most: int) -> str:
    """Its name; of an id the begin and the end, by which ids differ."""
    if node.type is NodeType.PROGRAM or node.name or len(node.id) <= most:
        return cut(_name_of(node), most)
    return f"{node.id[: most - _END_LETTERS - 1]}…{node.id[-_END_LETTERS:]}"


def _states(edges: Iterable[GraphEdge]) -> Iterable[str]:
    """Where a part of the money is that has not been paid."""
    all_edges = list(edges)
    if any(int(each.held_cents) for each in all_edges):
        yield "held"
    if any(int(each.returned_cents) for each in all_edges):
        yield "returned"


def _words_of(edge: GraphEdge, nodes: Mapping[str, GraphNode]) -> str:
    payer, payee = (_name_of(nodes[key]) for key in (edge.from_, edge.to))
    path = ", on the path" if edge.path else ""
    return f"{money(edge.cents)} from {payer} to {payee} in {count(edge.transfers, 'transfer')}{path}"


def _name_of(node: GraphNode) -> str:
    return "the program" if node.type is NodeType.PROGRAM else marked(cut(node.name or node.id, NAME_LETTERS))


def _table(graph: SubjectGraph, nodes: Mapping[str, GraphNode]) -> h.Element:
    heads = ("From", "To", "Transfers", "Sum", "Posted", "On the way", "Returned", "Held", "First", "Last", "Score")
    return h.details(".sheet")[
        h.summary[f"As a table: {count(len(graph.edges), 'pair')}"],
        wide_table("Money between the parties", heads, (_row(each, nodes, graph.program_id) for each in graph.edges)),
    ]


def _row(edge: GraphEdge, nodes: Mapping[str, GraphNode], program_id: str) -> h.Element:
    sums = (edge.cents, edge.posted_cents, edge.pending_cents, edge.returned_cents, edge.held_cents)
    return h.tr(class_="path" if edge.path else None)[
        h.td[_party(nodes[edge.from_], program_id)],
        h.td[_party(nodes[edge.to], program_id), " · on the path" if edge.path else None],
        h.td(".number")[str(edge.transfers)],
        (h.td(".number")[money(each)] for each in sums),
        h.td[moment(edge.first_at)],
        h.td[moment(edge.last_at)],
        h.td[band_mark(edge.band, edge.score)],
    ]


def _party(node: GraphNode, program_id: str) -> h.Node:
    if node.type is NodeType.PROGRAM:
        return "the program"
    return h.a(href=thing_path(node.type.value, node.id, program_id))[outsider(node.name or node.id)]
