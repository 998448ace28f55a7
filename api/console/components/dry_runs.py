"""What a policy would have routed otherwise: totals in a sentence, then from where to where, and by detector."""

from collections.abc import Mapping, Sequence

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment, outsider
from clearhold.api.policies.dry_run import AlertPlacement, PolicyDryRun, RoutedOtherwise
from clearhold.features.core.vocabulary import words


def dry_run_view(answer: PolicyDryRun, programs: Mapping[str, str]) -> h.Node:
    """``programs`` are the names by id."""
    return [
        h.p("#dry-run-totals")[_totals(answer)],
        _table(
            "From where to where",
            ("Routed", "Under this policy", "Alerts"),
            [(place_words(each.from_), place_words(each.to), f"{each.alerts:,}") for each in answer.changes],
        ),
        _table(
            "By detector",
            ("Detector", "Considered", "Otherwise"),
            [(words(each.detector), f"{each.alerts:,}", f"{each.otherwise:,}") for each in answer.by_detector],
            folded=True,
        ),
        _table(
            "By program",
            ("Program", "Considered", "Otherwise"),
            [
                (outsider(programs.get(each.program_id), each.program_id), f"{each.alerts:,}", f"{each.otherwise:,}")
                for each in answer.by_program
            ],
            folded=True,
        ),
        _left_out(answer),
        _examples(answer.examples),
        h.p(".small")[
            "Each alert is routed again by its stored evidence, first under the version that routed it, which has to ",
            "give the stored answer. Alerts stay as they opened: which findings would have joined another alert is ",
            "not played again.",
        ],
    ]


def _totals(answer: PolicyDryRun) -> h.Node:
    not_considered = sum(each.alerts for each in answer.not_considered)
    bound = (
        f" There are more in these days; only the newest {answer.limit:,} were read." if answer.limit_reached else ""
    )
    return [
        h.strong[f"{count(answer.otherwise, 'alert')} would have gone otherwise"],
        f", {answer.same:,} the same, of {count(answer.alerts, 'alert')} in {count(answer.days, 'day')}. ",
        f"{not_considered:,} not considered." if not_considered else "All were considered.",
        bound,
    ]


def place_words(place: AlertPlacement) -> str:
    """``to a person, standard clock, held``."""
    if place.route == "automated":
        return "closed without a person"
    return f"to a person, {place.sla_tier.value} clock{', held' if place.auto_hold else ''}"


def _table(name: str, heads: tuple[str, ...], rows: Sequence[tuple[h.Node, ...]], *, folded: bool = False) -> h.Node:
    if not rows:
        return None
    table = wide_table(
        name,
        heads,
        (
            h.tr[
                h.th(scope="row")[first],
                (h.td(data_label=head)[cell] for head, cell in zip(heads[1:], others, strict=True)),
            ]
            for first, *others in rows
        ),
        style="endpoints",
    )
    return h.details[h.summary[name], table] if folded else [h.h3[name], table]


def _left_out(answer: PolicyDryRun) -> h.Node:
    if not answer.not_considered:
        return None
    return h.ul(".plain")[
        (h.li[f"{count(each.alerts, 'alert')} not considered: {each.sentence}"] for each in answer.not_considered)
    ]


def _examples(examples: Sequence[RoutedOtherwise]) -> h.Node:
    if not examples:
        return None
    return h.details[
        h.summary[f"The newest {count(len(examples), 'of them', 'of them')}"],
        h.ul(".plain")[
            (
                h.li[
                    h.a(href=f"/console/alerts/{each.alert_id}")[words(each.detector)],
                    " opened ",
                    moment(each.opened_at),
                    f": {place_words(each.from_)} ({words(each.from_reason)}), would be {place_words(each.to)} ",
                    f"({words(each.to_reason)})",
                ]
                for each in examples
            )
        ],
    ]
