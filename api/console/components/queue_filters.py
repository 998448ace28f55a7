"""The filters of the queue, in its address: as chips that can be taken off, and as a form that needs no script.

The names are those of ``GET /api/stacks``, and ``program`` has slugs in place of ``programId``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

import htpy as h

from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import WAITING, Band, Route, Severity, SlaTier, StackKind, SubjectType
from clearhold.features.detectors.table import DETECTORS
from clearhold.store.duck.waiting_stacks import StackSort

PATH: Final = "/console/queue"
PROGRAM: Final = "program"
ASSIGNEE: Final = "assignee"
SORT: Final = "sort"
VIEW: Final = "view"
TABLE: Final = "table"
_KEPT: Final = (SORT, VIEW)


class Choice(NamedTuple):
    """A filter of several values, with its name in the address and in words."""

    name: str
    label: str
    values: tuple[str, ...]


CHOICES: Final = (
    Choice("band", "Band", tuple(Band)),
    Choice("severity", "Severity", tuple(Severity)),
    Choice("status", "Status", tuple(WAITING)),
    Choice("slaTier", "Tier", tuple(SlaTier)),
    Choice("route", "Route", tuple(Route)),
    Choice("kind", "Stacked by", tuple(StackKind)),
    Choice("subjectType", "Subject", tuple(SubjectType)),
    Choice("detector", "Detector", tuple(sorted({each.id for each in DETECTORS}))),
)
_FEW: Final = 4
"""This number of values are boxes to tick; more are a list."""

_LABELS: Final[Mapping[str, str]] = {each.name: each.label for each in CHOICES} | {
    PROGRAM: "Program",
    ASSIGNEE: "Assigned to",
    "subjectId": "Subject",
    "transferId": "Transfer",
    "accountId": "Account",
    "from": "Opened from",
    "to": "Opened before",
}
_FLAGS: Final[Mapping[tuple[str, str], str]] = {
    ("overdue", "true"): "late",
    ("overdue", "false"): "not late",
    ("fromHistory", "true"): "from history",
    ("fromHistory", "false"): "not from history",
}
ORDERS: Final[Mapping[StackSort, str]] = {
    StackSort.DUE_AT: "due first",
    StackSort.WORST: "worst first: hard, then hold",
    StackSort.SCORE: "highest score",
    StackSort.HELD_CENTS: "most money held",
    StackSort.SIZE: "most alerts",
}


class QueueAddress(NamedTuple):
    """What the address of a queue says, with values of one name split at commas."""

    fields: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, query: Mapping[str, str], also: Sequence[str] = ()) -> "QueueAddress":
        """Of a query, without the paging and the empty fields of the form."""
        names = (*_KEPT, *_LABELS, *{name for name, _ in _FLAGS}, *also)
        split = {name: tuple(each for each in query[name].split(",") if each) for name in names if name in query}
        return cls({name: tuple(dict.fromkeys(values)) for name, values in split.items() if values})

    @property
    def order(self) -> str:
        return self.fields.get(SORT, (StackSort.DUE_AT.value,))[0]

    @property
    def is_table(self) -> bool:
        return self.fields.get(VIEW) == (TABLE,)

    @property
    def is_filtered(self) -> bool:
        return any(name not in _KEPT for name in self.fields)

    def href(self, **changed: str | None) -> str:
        """The address with other values; None takes a name out."""
        fields = {name: ",".join(values) for name, values in self.fields.items()} | changed
        sent = {name: value for name, value in fields.items() if value is not None}
        return f"{PATH}?{urlencode(sent, safe=',')}" if sent else PATH

    def has(self, name: str, value: str) -> bool:
        return value in self.fields.get(name, ())


def chips(address: QueueAddress, programs: Sequence[Program]) -> h.Node:
    """A link for each value of a filter, which takes it off."""
    if not address.is_filtered:
        return None
    names = {each.slug: each.name for each in programs}
    return h.ul(".chips", aria_label="Filters")[
        (
            h.li[h.a(".chip", href=href, aria_label=f"Without {words}")[words, _cross()]]
            for words, href in _chips(address, names)
        ),
        h.li[h.a(".small", href=address.href(**dict.fromkeys(set(address.fields) - set(_KEPT))))["clear all"]],
    ]


def _cross() -> h.Element:
    return h.span(aria_hidden="true")["\N{MULTIPLICATION SIGN}"]


def _chips(address: QueueAddress, programs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, values in address.fields.items():
        if name in _KEPT:
            continue
        for value in values:
            flag = _FLAGS.get((name, value))
            rest = ",".join(each for each in values if each != value)
            words = programs.get(value, value) if name == PROGRAM else _words(value)
            yield flag or f"{_LABELS.get(name, name).lower()}: {words}", address.href(**{name: rest or None})


def filter_form(address: QueueAddress, programs: Sequence[Program], me: str) -> h.Element:
    """All filters, and those of ``me``, the person's own stacks; it sends a GET, and empty fields say nothing."""
    return h.details(".filters")[
        h.summary["Filter"],
        h.form(method="get", action=PATH)[
            (
                h.input(type="hidden", name=name, value=address.fields[name][0])
                for name in _KEPT
                if name in address.fields
            ),
            _select(PROGRAM, "Program", [(each.slug, each.name) for each in programs], address),
            (_choice(each, address) for each in CHOICES),
            _select("overdue", "Late", [("true", "late only"), ("false", "not late")], address),
            _select("fromHistory", "History", [("false", "not from history"), ("true", "from history only")], address),
            h.fieldset[
                h.legend["Assigned"],
                h.label(".tick")[
                    h.input(type="checkbox", name=ASSIGNEE, value=me, checked=address.has(ASSIGNEE, me)), "to me"
                ],
            ],
            h.div(".apply")[
                h.button(".main", type="submit")["Show"],
                h.a(".button", href=address.href(**dict.fromkeys(set(address.fields) - set(_KEPT))))["Clear"],
            ],
        ],
    ]


def _choice(choice: Choice, address: QueueAddress) -> h.Element:
    if len(choice.values) > _FEW:
        return _select(choice.name, choice.label, [(each, _words(each)) for each in choice.values], address)
    return h.fieldset[
        h.legend[choice.label],
        (
            h.label(".tick")[
                h.input(type="checkbox", name=choice.name, value=each, checked=address.has(choice.name, each)),
                _words(each),
            ]
            for each in choice.values
        ),
    ]


def _select(name: str, label: str, options: Sequence[tuple[str, str]], address: QueueAddress) -> h.Element:
    """One value of many. Several in the address stay as one option."""
    chosen = address.fields.get(name, ())
    several = [(",".join(chosen), f"{len(chosen)} chosen")] if len(chosen) > 1 else []
    selected = ",".join(chosen)
    return h.label(".field")[
        h.span[label],
        h.select(name=name)[
            h.option(value="")["any"],
            (h.option(value=value, selected=value == selected)[words] for value, words in (*several, *options)),
        ],
    ]


def order_menu(address: QueueAddress) -> h.Element:
    return h.details(".orders")[
        h.summary[ORDERS.get(StackSort(address.order), address.order), h.span(".hidden")[", order of the list"]],
        h.ul[
            (
                h.li[
                    h.a(
                        href=address.href(sort=None if order is StackSort.DUE_AT else order.value),
                        aria_current="true" if order == address.order else None,
                    )[words]
                ]
                for order, words in ORDERS.items()
            ),
            h.li[h.a(href="/console/commands", data_opens="commands")["commands ", h.kbd["Ctrl"], " ", h.kbd["K"]]],
            h.li[h.a(href="/console/keys", data_opens="keys-sheet")["all keys ", h.kbd["?"]]],
            h.li[
                h.a(href=address.href(view=None))["as a list"]
                if address.is_table
                else h.a(href=address.href(view=TABLE))["as a table"]
            ],
        ],
    ]


def _words(value: str) -> str:
    return value.replace("_", " ")
