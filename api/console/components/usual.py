"""Usual amounts: ninety days of amounts as a strip over time, with median and 95th percentile, these ones marked.

Unit    cents of US dollars by the transfer's own amount; places in the frame of the drawing
"""

from collections.abc import Collection, Mapping, Sequence
from math import log10
from typing import Any, Final

import htpy as h

from clearhold.api.console.components.wide import wide
from clearhold.api.console.components.words import count
from clearhold.api.transfers.service import TransferSummary
from clearhold.features.core.instants import DAY_US, written_instant
from clearhold.features.core.money import money

DAYS: Final = 90
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BASE = 760, 150, 92, 12, 12, 122
_circle: Final = h.Element("circle")
_line: Final = h.Element("line")
_label: Final = h.Element("text")
_desc: Final = h.Element("desc")
_LINES: Final = (
    ("median of the entity", "entity.medianCents90d"),
    ("90th percentile of the entity", "entity.p90Cents90d"),
    ("median of the program", "program.medianCents"),
    ("95th percentile of the program", "program.p95Cents"),
)


def usual(
    around: Sequence[TransferSummary], marked: Collection[str], features: Mapping[str, Any], *, now: int
) -> h.Node:
    """``features`` are those of the alert's transfer, ``marked`` the transfers of the stack."""
    since = now - DAYS * DAY_US
    recent = [each for each in around if each.currency == "USD" and written_instant(each.bank_created_at) >= since]
    if not recent:
        return None
    lines = [
        (words, int(value))
        for words, name in _LINES
        if isinstance(value := features.get(name), int) and not isinstance(value, bool) and value > 0
    ]
    return h.section("#usual.usual", tabindex="-1")[
        h.h2["Usual"],
        wide("Amounts", _strip(recent, marked, lines, since, now)),
        h.ul(".legend")[(h.li[f"{words}: {money(value)}"] for words, value in lines)],
        h.dl(".facts")[_counts(features)],
    ]


def _strip(
    recent: Sequence[TransferSummary],
    marked: Collection[str],
    lines: Sequence[tuple[str, int]],
    since: int,
    now: int,
) -> h.Element:
    amounts = [max(1, int(each.amount_cents)) for each in recent] + [value for _, value in lines]
    low, high = log10(min(amounts)), log10(max(amounts))

    def down(cents: int) -> str:
        return f"{_BASE - (_BASE - _TOP) * (log10(max(1, cents)) - low) / ((high - low) or 1):.1f}"

    def across(at: str) -> str:
        return f"{_LEFT + (_WIDTH - _LEFT - _RIGHT) * (written_instant(at) - since) / (now - since):.1f}"

    own = [each for each in recent if each.id in marked]
    words = (
        f"{count(len(recent), 'transfer')} of the last {DAYS} days between {money(min(amounts))} and "
        f"{money(max(amounts))}, {len(own)} of them in this stack. "
        + " ".join(f"The {name} is {money(value)}." for name, value in lines)
    )
    return h.svg(".strip", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_labelledby="usual-title usual-words")[
        h.title(id="usual-title")[f"Amounts of the last {DAYS} days"],
        _desc(id="usual-words")[words],
        (
            _label(x=str(_LEFT - 8), y=down(each), class_="axis", text_anchor="end")[money(each)]
            for each in _ends(amounts)
        ),
        (
            _line(class_=f"mark m{place}", x1=str(_LEFT), x2=str(_WIDTH - _RIGHT), y1=down(value), y2=down(value))[
                h.title[f"{name}: {money(value)}"]
            ]
            for place, (name, value) in enumerate(lines)
        ),
        (
            _circle(
                class_="own" if each.id in marked else "other",
                cx=across(each.bank_created_at),
                cy=down(int(each.amount_cents)),
                r="5" if each.id in marked else "3",
            )[h.title[f"{each.bank_created_at[:16].replace('T', ' ')}: {money(int(each.amount_cents))}"]]
            for each in sorted(recent, key=lambda each: each.id in marked)
        ),
        _label(x=str(_LEFT), y=str(_HEIGHT - 8), class_="axis")[f"{DAYS} days ago"],
        _label(x=str(_WIDTH - _RIGHT), y=str(_HEIGHT - 8), class_="axis", text_anchor="end")["now"],
    ]


def _ends(amounts: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((min(amounts), max(amounts))))


_COUNTS: Final = (
    ("Transfers in 24 hours", "velocity24hCount"),
    ("In 30 days", "entity.count30d"),
    ("Busiest day of 35", "entity.busiestDay35dCount"),
    ("Transfers before", "entity.priorTransfers"),
    ("Payees new in 24 hours", "entity.newCounterparties24h"),
    ("Transfers with this party before", "counterparty.n"),
)


def _counts(features: Mapping[str, Any]) -> list[h.Element]:
    return [
        h.div[h.dt[words], h.dd["not measured" if features.get(name) is None else f"{features[name]:,}"]]
        for words, name in _COUNTS
    ]
