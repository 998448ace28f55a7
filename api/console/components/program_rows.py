"""Programs as rows: score and its last 30 days, indicators, waiting alerts, and limits that are nearly used up."""

from typing import Final

import htpy as h

from clearhold.api.console.components.figures import sparkline, states, use_bar
from clearhold.api.console.components.limits import cap_words, kind_words
from clearhold.api.console.components.words import band_mark, outsider
from clearhold.api.overview.routes import CapNearlyUsed, Overview, ProgramOverview

_MOST_CAPS: Final = 2


def program_table(overview: Overview) -> h.Node:
    """A row for each program, the highest score first; its name leads to its page."""
    if not overview.programs:
        return h.p(".empty")[
            "There are no programs yet. An administrator creates them: ",
            h.code["POST /api/admin/programs"],
            ".",
        ]
    heads = ("Program", "Score", "30 days", "Indicators", "Waiting", "Late", "Events a minute", "Limits near their end")
    figures = {"Waiting", "Late", "Events a minute"}
    return h.div(".wide", tabindex="0", role="region", aria_label="Programs")[
        h.table(".programs")[
            h.thead[h.tr[(h.th(scope="col", class_="number" if each in figures else None)[each] for each in heads)]],
            h.tbody[(_program(each) for each in overview.programs)],
        ]
    ]


def _program(program: ProgramOverview) -> h.Element:
    measured = [each for each in program.history if each is not None]
    words = (
        f"Scores of 30 days: {min(measured)} to {max(measured)}, last {measured[-1]}" if measured else "No scores yet"
    )
    queue = f"/console/queue?programId={program.program_id}"
    return h.tr[
        h.th(scope="row")[
            h.a(href=f"/console/programs/{program.program_id}")[outsider(program.name)],
            h.span(".simulated")["simulated"] if program.simulated is True else None,
        ],
        h.td[band_mark(program.band, program.score), h.span(".small")[f" n = {program.n}"]],
        h.td[sparkline(program.history, words)],
        h.td[states(program.kris)],
        h.td(".number")[h.a(href=queue)[f"{program.waiting:,}"] if program.waiting else "0"],
        h.td(".number")[h.a(".late", href=f"{queue}&overdue=true")[f"{program.overdue:,}"] if program.overdue else "0"],
        h.td(".number")[f"{program.events_per_minute:,g}"],
        h.td[_caps(program.caps)],
    ]


def _caps(caps: tuple[CapNearlyUsed, ...] | None) -> h.Node:
    if caps is None:
        return "not known right now"
    if not caps:
        return "none"
    return h.ul(".caps")[
        (h.li[use_bar(each.share, _cap_words(each)), h.span[_cap_words(each)]] for each in caps[:_MOST_CAPS]),
        h.li[f"and {len(caps) - _MOST_CAPS} more"] if len(caps) > _MOST_CAPS else None,
    ]


def _cap_words(cap: CapNearlyUsed) -> str:
    observed, most = (cap_words(cap.kind, each) for each in (cap.observed, cap.cap))
    return f"{kind_words(cap.kind)}: {observed} of {most}, {cap.share:.0%}"
