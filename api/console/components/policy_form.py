"""The form of a policy's next version: a field for each part, with its faults beside it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.nested import spaced
from clearhold.api.console.components.policy_fields import (
    ACTION_TYPES,
    ACTORS,
    BANDS,
    BODY,
    CAPS,
    CLOSABLE_BANDS,
    DETECTOR_CHOICES,
    DETECTORS,
    HOURS,
    LISTS,
    SEVERITIES,
    SHARES,
    FormField,
    PolicyFieldKind,
    fields_of,
)
from clearhold.api.console.components.settings import tick
from clearhold.api.console.components.wide import wide_table
from clearhold.api.policies.service import PolicyPrefix
from clearhold.features.core.vocabulary import words as in_words
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.bodies import ClockPolicy, KriBody, PolicyBody

_BY_LINES: Final = {PolicyFieldKind.AMOUNTS: "4", PolicyFieldKind.COUNTRIES: "3", PolicyFieldKind.RATES: "12"}
_MODES: Final = {PolicyFieldKind.NUMBER: "decimal", PolicyFieldKind.WHOLE: "numeric", PolicyFieldKind.MONEY: "decimal"}
_CAP_WORDS: Final = {"perTransactionCents": "One transfer", "dailyCents": "A day", "monthlyCents": "A month"}
_LIST_WORDS: Final = {
    "callForAction": "Call for action",
    "comprehensivelySanctioned": "Comprehensively sanctioned",
    "increasedMonitoring": "Increased monitoring",
}
Texts = Mapping[str, str]


class PolicyForm(msgspec.Struct, frozen=True, kw_only=True):
    """``texts`` are the fields as typed, ``faults`` sentences by the name of a field."""

    kind: PolicyPrefix
    former: Mapping[str, Any]
    texts: Texts
    faults: Mapping[str, str]

    def parts(self) -> Iterator[h.Node]:
        """The inputs, in the groups of the kind."""
        fields = {each.name.removeprefix(f"{BODY}."): each for each in fields_of(self.kind, self.former)}
        match self.kind:
            case PolicyPrefix.POLICY:
                yield from self._routing(fields)
            case PolicyPrefix.CLOCK:
                yield h.div(".table-days")[(self._field(fields[each], spaced(each), _meaning(each)) for each in HOURS)]
            case PolicyPrefix.LADDER:
                yield from self._ladder(fields)
            case PolicyPrefix.THRESHOLDS:
                yield from self._thresholds(fields)
            case PolicyPrefix.KRI:
                yield from self._kris(fields)
            case _:
                yield self._field(fields["rates"], "Rates", PolicyFieldKind.RATES.value)

    def other_faults(self) -> list[str]:
        """The faults that no field shows."""
        fields = {each.name for each in fields_of(self.kind, self.former)}
        return [f"{name} {sentence}" for name, sentence in self.faults.items() if name not in fields]

    def _routing(self, fields: Mapping[str, FormField]) -> Iterator[h.Node]:
        yield h.fieldset(".ticks")[
            h.legend["Bands in which an alert may be closed without a person"],
            (self._tick(f"band.{each}", each) for each in CLOSABLE_BANDS),
        ]
        yield self._field(fields["minProgramN"], "Least history of the program", _meaning("minProgramN"))
        yield h.fieldset[
            h.legend["Detectors"],
            self._grid(
                "Where the alerts of each detector go",
                ("Detector", *(f"{words[0].upper()}{words[1:]}" for words in DETECTOR_CHOICES.values())),
                [
                    (
                        (in_words(name), h.div(".small")[DETECTOR_OF[name].opens_when]),
                        *(
                            self._radio(f"detector.{name}", choice, f"{in_words(name)}: {DETECTOR_CHOICES[choice]}")
                            for choice in DETECTOR_CHOICES
                        ),
                    )
                    for name in DETECTORS
                ],
            ),
        ]
        yield h.fieldset(".ticks")[
            h.legend["In the hold band"],
            self._tick("body.holdBandAutoHold", "An alert opens as held, before anyone decides"),
        ]
        yield h.fieldset(".ticks.scopes")[
            h.legend["Actions that need a second person"],
            (self._tick(f"action.{each}", in_words(each)) for each in ACTION_TYPES),
        ]
        yield h.fieldset[
            h.legend["Least letters of a person's narrative, by severity"],
            h.div(".table-days")[
                (self._field(fields[f"minNarrativeChars.{each}"], each, "empty: not stated") for each in SEVERITIES)
            ],
        ]
        yield h.fieldset(".ticks")[
            h.legend["Hard alerts"],
            self._tick("body.hardNeedsSecondPerson", "Closing or releasing one waits for a second person"),
        ]

    def _ladder(self, fields: Mapping[str, FormField]) -> Iterator[h.Node]:
        for actor in ACTORS:
            yield h.fieldset[
                h.legend[f"Caps of one {actor}, in US dollars; an empty field is no cap"],
                self._grid(
                    f"Caps of one {actor}",
                    ("Band", *_CAP_WORDS.values()),
                    [
                        (
                            band,
                            *(
                                self._cell(fields[f"{actor}.{band}.{cap}"], f"{actor}, {band}, {_CAP_WORDS[cap]}")
                                for cap in CAPS
                            ),
                        )
                        for band in BANDS
                    ],
                ),
            ]
        yield h.fieldset[
            h.legend["Days until an actor is screened again, by band"],
            h.div(".table-days")[(self._field(fields[f"rescreenDays.{band}"], band) for band in BANDS)],
        ]

    def _thresholds(self, fields: Mapping[str, FormField]) -> Iterator[h.Node]:
        yield self._field(fields["structuringThresholdsCents"], "Reporting thresholds", PolicyFieldKind.AMOUNTS.value)
        for name in LISTS:
            yield h.fieldset[
                h.legend[_LIST_WORDS[name]],
                self._field(fields[f"{name}.countries"], "Countries", PolicyFieldKind.COUNTRIES.value),
                self._field(fields[f"{name}.asOf"], "As of", PolicyFieldKind.DAY.value),
                self._field(fields[f"{name}.source"], "Source"),
            ]

    def _kris(self, fields: Mapping[str, FormField]) -> Iterator[h.Node]:
        yield self._grid(
            "Lines of each indicator",
            ("Indicator", "Watch", "Breach"),
            [
                (
                    in_words(each["kri"]),
                    *(
                        self._cell(fields[f"lines[{place}].{line}"], f"{in_words(each['kri'])}, {line}")
                        for line in ("watch", "breach")
                    ),
                )
                for place, each in enumerate(self.former["lines"])
            ],
        )
        yield h.div(".table-days")[
            (self._field(fields[each], spaced(each)) for each in SHARES),
            self._field(fields["minObservations"], spaced("minObservations"), _meaning("minObservations")),
        ]

    def _field(self, field: FormField, words: str, hint: str = "") -> h.Element:
        return h.div(".field")[
            h.label[f"{words[0].upper()}{words[1:]}", self._input(field)],
            self._fault(field),
            h.p(".small")[hint] if hint else None,
        ]

    def _cell(self, field: FormField, words: str) -> h.Node:
        return [self._input(field, words), self._fault(field)]

    def _input(self, field: FormField, words: str | None = None) -> h.Node:
        """``words`` name it where no label does. Without an id: htmx styles those with one as they settle."""
        typed = self.texts.get(field.name, "")
        marks = {"name": field.name, "aria-label": words}
        if field.name in self.faults:
            marks |= {"aria-invalid": "true", "aria-describedby": f"{field.name}-fault"}
        if field.kind in _BY_LINES:
            return h.textarea(marks, rows=_BY_LINES[field.kind], spellcheck="false")[typed]
        return h.input(marks, value=typed, inputmode=_MODES.get(field.kind), autocomplete="off")

    def _fault(self, field: FormField) -> h.Node:
        fault = self.faults.get(field.name)
        return None if fault is None else h.p(".refusal", id=f"{field.name}-fault")[fault]

    def _tick(self, name: str, words: str) -> h.Element:
        return tick("checkbox", name, "yes", words, checked=name in self.texts)

    def _radio(self, name: str, value: str, words: str) -> h.Node:
        return h.label(".pick")[
            h.span(".hidden")[words],
            h.input(type="radio", name=name, value=value, checked=self.texts.get(name) == value),
        ]

    def _grid(self, name: str, heads: tuple[str, ...], rows: Sequence[tuple[h.Node, ...]]) -> h.Element:
        return wide_table(
            name,
            heads,
            (h.tr[h.th(scope="row")[first], (h.td[each] for each in others)] for first, *others in rows),
            style="fields",
        )


@cache
def _meaning(name: str) -> str:
    """What the interface says of a field, without its full stop."""
    for body in (PolicyBody, ClockPolicy, KriBody):
        for each in msgspec.structs.fields(body):
            if each.encode_name == name:
                described = msgspec.json.schema(body)["$defs"][body.__name__]["properties"][name]
                return str(described["description"]).rstrip(".")
    raise LookupError(name)
