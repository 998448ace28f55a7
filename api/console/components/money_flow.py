"""Where the money went: who paid in on the left, who was paid on the right, in the order of time; and a table.

Unit    lengths in the frame of the drawing; cents are integers in the currency of their transfer
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import htpy as h
import msgspec

from clearhold.api.console.components.wide import wide, wide_table
from clearhold.api.console.components.words import (
    NAME_LETTERS,
    NO_VALUE,
    band_mark,
    count,
    cut,
    marked,
    moment,
    outsider,
)
from clearhold.api.transfers.service import TransferSummary
from clearhold.features.bank.statuses import UNMOVED_STATUSES
from clearhold.features.core.money import money_in, money_leaves

MOST_NODES: Final = 40
_WIDTH, _ROW, _TOP = 760, 34, 16
_LEFT, _MIDDLE_LEFT, _MIDDLE_RIGHT, _RIGHT = 240, 305, 455, 520
_THICKEST, _THINNEST = 12.0, 1.5
_MOST_LETTERS: Final = 26
_OWN_LETTERS: Final = 19
_path: Final = h.Element("path")
_label: Final = h.Element("text")
_run: Final = h.Element("tspan")
_rect: Final = h.Element("rect")
_desc: Final = h.Element("desc")
_group: Final = h.Element("g")


class FlowEdge(msgspec.Struct, frozen=True, kw_only=True):
    """The transfers with one party in one direction. ``name`` is the party as outsiders named it."""

    name: str
    country: str | None
    leaves: bool
    cents: int
    currency: str
    transfers: int
    first_at: str
    is_path: bool
    state: str


def state_of(transfer: TransferSummary, held_ids: Collection[str]) -> str:
    """Where the money of a transfer is, in one word or two."""
    if transfer.returned_at is not None:
        return "returned"
    if transfer.status in UNMOVED_STATUSES:
        return "never moved"
    return "held" if transfer.id in held_ids else transfer.status.lower().replace("_", " ")


def leaves(transfer: TransferSummary) -> bool:
    return money_leaves(transfer.rail, transfer.direction, transfer.type)


def edges_of(
    transfers: Iterable[TransferSummary], names: Mapping[str, str], path: Collection[str], held_ids: Collection[str]
) -> list[FlowEdge]:
    """One edge for each party, direction and currency, the first in time first."""
    parts: dict[tuple[str, bool, str], list[TransferSummary]] = {}
    for each in transfers:
        party = each.counterparty_id or ""
        parts.setdefault((party, leaves(each), each.currency), []).append(each)
    edges = [
        FlowEdge(
            name=marked(cut(names.get(party) or party, NAME_LETTERS)) or "other side not named",
            country=group[0].counterparty_country,
            leaves=is_out,
            cents=sum(int(each.amount_cents) for each in group),
            currency=currency,
            transfers=len(group),
            first_at=min(each.bank_created_at for each in group),
            is_path=any(each.id in path for each in group),
            state=", ".join(dict.fromkeys(state_of(each, held_ids) for each in group)),
        )
        for (party, is_out, currency), group in parts.items()
    ]
    return sorted(edges, key=lambda each: each.first_at)


def money_flow(
    center: str,
    transfers: Sequence[TransferSummary],
    names: Mapping[str, str],
    *,
    path: Collection[str],
    held_ids: Collection[str],
    below: h.Node = None,
) -> h.Element:
    edges = edges_of(transfers, names, path, held_ids)
    drawn = edges[:MOST_NODES]
    return h.section("#money.money", tabindex="-1")[
        h.h2["Where the money went"],
        wide("Money in and out", _drawing(center, drawn)) if drawn else h.p["No transfer is named."],
        h.p(".small")[f"{len(edges) - len(drawn)} further parties are in the table."]
        if len(edges) > len(drawn)
        else None,
        _table(transfers, names, path, held_ids) if transfers else None,
        below,
    ]


def _drawing(center: str, edges: Sequence[FlowEdge]) -> h.Element:
    """Edges as thick as the money; a round trip or layering in the accent."""
    paid_in, paid_out = [e for e in edges if not e.leaves], [e for e in edges if e.leaves]
    rows = max(len(paid_in), len(paid_out))
    height = _TOP + rows * _ROW + 8
    most = max(each.cents for each in edges) or 1
    middle = (_TOP + rows * _ROW) / 2
    return h.svg(".flow", viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_labelledby="flow-title flow-words")[
        h.title(id="flow-title")["Money in and out"],
        _desc(id="flow-words")[_in_words(edges)],
        _rect(
            class_="center",
            x=str(_MIDDLE_LEFT),
            y=f"{middle - 16:.1f}",
            width=str(_MIDDLE_RIGHT - _MIDDLE_LEFT),
            height="32",
            rx="5",
        ),
        _label(
            class_="node own", x=str((_MIDDLE_LEFT + _MIDDLE_RIGHT) / 2), y=f"{middle + 4:.1f}", text_anchor="middle"
        )[cut(marked(center), _OWN_LETTERS)],
        (
            _edge(each, place, rows, len(side), middle, most)
            for side in (paid_in, paid_out)
            for place, each in enumerate(side)
        ),
    ]


def _edge(edge: FlowEdge, place: int, rows: int, of_side: int, middle: float, most: int) -> h.Element:
    y = _TOP + (place + (rows - of_side) / 2) * _ROW + _ROW / 2 - 6
    thick = max(_THINNEST, _THICKEST * edge.cents / most)
    at, near = (_RIGHT, _MIDDLE_RIGHT) if edge.leaves else (_LEFT, _MIDDLE_LEFT)
    bend = (at + near) / 2
    x, anchor = (at + 8, "start") if edge.leaves else (at - 8, "end")
    words = " · ".join(filter(None, (money_in(edge.currency, edge.cents), edge.country, edge.state)))
    return _group(class_="edge path" if edge.is_path else "edge")[
        h.title[_words_of(edge)],
        _path(d=f"M{near} {middle:.1f} C{bend} {middle:.1f} {bend} {y:.1f} {at} {y:.1f}", stroke_width=f"{thick:.1f}"),
        _path(class_="tip", d=_tip(edge, y, middle)),
        _label(class_="node", x=str(x), y=f"{y - 1:.1f}", text_anchor=anchor)[
            _run(class_="party")[cut(edge.name, _MOST_LETTERS)]
        ],
        _label(class_="node small", x=str(x), y=f"{y + 12:.1f}", text_anchor=anchor)[words],
    ]


def _tip(edge: FlowEdge, y: float, middle: float) -> str:
    """The arrow's head, at the party that is paid."""
    x, top = (_RIGHT, y) if edge.leaves else (_MIDDLE_LEFT - 2, middle)
    return f"M{x - 7} {top - 4:.1f} L{x + 2} {top:.1f} L{x - 7} {top + 4:.1f} Z"


def _words_of(edge: FlowEdge) -> str:
    way = "paid to" if edge.leaves else "received from"
    path = ", on the path" if edge.is_path else ""
    amount = money_in(edge.currency, edge.cents)
    return f"{amount} {way} {edge.name} in {count(edge.transfers, 'transfer')}, {edge.state}{path}"


def _in_words(edges: Iterable[FlowEdge]) -> str:
    return f"{'; '.join(map(_words_of, edges))}."


def _table(
    transfers: Sequence[TransferSummary], names: Mapping[str, str], path: Collection[str], held_ids: Collection[str]
) -> h.Element:
    head = ("When", "Way", "Party", "Country", "Amount", "Rail", "Where it is", "Score", "Transfer")
    return h.details(".sheet")[
        h.summary[f"As a table: {count(len(transfers), 'transfer')}"],
        wide_table("Transfers", head, (_row(each, names, path, held_ids) for each in transfers)),
    ]


def _row(
    transfer: TransferSummary, names: Mapping[str, str], path: Collection[str], held_ids: Collection[str]
) -> h.Element:
    party = transfer.counterparty_id or ""
    return h.tr(class_="path" if transfer.id in path else None)[
        h.td[moment(transfer.bank_created_at)],
        h.td["out" if leaves(transfer) else "in", " · on the path" if transfer.id in path else None],
        h.td[outsider(names.get(party) or party, "not named")],
        h.td[transfer.counterparty_country or NO_VALUE],
        h.td(".number")[money_in(transfer.currency, int(transfer.amount_cents))],
        h.td[transfer.rail],
        h.td[state_of(transfer, held_ids), f" {transfer.return_code}" if transfer.return_code else None],
        h.td[band_mark(transfer.score_band, transfer.score)],
        h.td[h.code[transfer.id]],
    ]
