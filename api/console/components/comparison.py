"""A draft and a narrative side by side, sentence by sentence: kept, changed, dropped, added."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final, NamedTuple

import htpy as h

from clearhold.api.console.components.wide import unseen, wide_table
from clearhold.api.console.components.words import count, marked, outsider

_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")


class SentenceFate(StrEnum):
    KEPT = "kept"
    CHANGED = "changed"
    DROPPED = "dropped"
    ADDED = "added"


class SentencePair(NamedTuple):
    """A sentence of the draft beside that of the narrative; one of them is missing where it was dropped or added."""

    fate: SentenceFate
    draft: str | None
    narrative: str | None


def sentences_of(text: str) -> list[str]:
    return [each.strip() for each in _END.split(text) if each.strip()]


def compared(draft: str, narrative: str) -> list[SentencePair]:
    before, after = sentences_of(draft), sentences_of(narrative)
    pairs: list[SentencePair] = []
    for tag, low, high, left, right in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        olds, news = before[low:high], after[left:right]
        if tag == "equal":
            pairs += [SentencePair(SentenceFate.KEPT, *each) for each in zip(olds, news, strict=True)]
            continue
        shared = min(len(olds), len(news))
        pairs += [SentencePair(SentenceFate.CHANGED, *each) for each in zip(olds[:shared], news[:shared], strict=True)]
        pairs += [SentencePair(SentenceFate.DROPPED, each, None) for each in olds[shared:]]
        pairs += [SentencePair(SentenceFate.ADDED, None, each) for each in news[shared:]]
    return pairs


def comparison(draft: str, narrative: str) -> h.Element:
    pairs = compared(draft, narrative)
    return h.section("#comparison.comparison", tabindex="-1")[
        h.h3["Draft and narrative"],
        h.p(".small")[_total(pairs)],
        wide_table(
            "Draft and narrative",
            (unseen("Sentence"), "Draft", "Yours"),
            (
                h.tr(class_=each.fate.value)[
                    h.th(scope="row")[each.fate.value],
                    h.td[outsider(each.draft, most=None) if each.draft is not None else None],
                    h.td[_changed(each)],
                ]
                for each in pairs
            ),
        ),
    ]


def _total(pairs: Iterable[SentencePair]) -> str:
    fates = [each.fate for each in pairs]
    parts = [f"{fates.count(fate)} {fate.value}" for fate in SentenceFate if fate in fates]
    return f"{count(len(fates), 'sentence')}: {', '.join(parts)}." if parts else "Both are empty."


def _changed(pair: SentencePair) -> h.Node:
    """The words of the narrative; a word that the draft does not have at this place is marked."""
    if pair.narrative is None or pair.draft is None or pair.fate is SentenceFate.KEPT:
        return None if pair.narrative is None else outsider(pair.narrative, most=None)
    before, after = pair.draft.split(" "), pair.narrative.split(" ")
    parts: list[h.Node] = []
    for tag, _, _, left, right in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        words = marked(" ".join(after[left:right]))
        if words:
            parts += [words if tag == "equal" else h.mark[words], " "]
    return h.bdi[parts[:-1]]
