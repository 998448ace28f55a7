"""A scorecard's points by signal, and champion against challenger."""

from typing import Any

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import count, moment
from clearhold.features.core.measured import Measured
from clearhold.features.core.scorecards import CardSignal, Scorecard, ShadowComparison


def points_of(card: Scorecard) -> dict[str, Any]:
    """By signal and family, so that two cards differ where their points do."""
    return {
        "floor": card.floor,
        "programFloor": card.program_floor,
        "caps": {each.family: each.points for each in card.caps},
        "signals": {each.id: _stretches(each) for each in card.signals},
    }


def _stretches(signal: CardSignal) -> str:
    """``from 1: 15, from 5: 40; at most 10 where the usual is known``."""
    bins = ", ".join(
        f"from {each.at_least:,}{'' if each.below is None else f' below {each.below:,}'}: {each.points}"
        for each in signal.bins
    )
    return bins if signal.most_known is None else f"{bins}; at most {signal.most_known} where the usual is known"


def signal_table(card: Scorecard) -> h.Element:
    return wide_table(
        "Points by signal",
        ("Signal", "Points by its measure"),
        (
            h.tr[h.th(scope="row")[h.code[each.id]], h.td(data_label="Points")[_stretches(each)]]
            for each in card.signals
        ),
        style="endpoints",
    )


def comparison_view(compared: ShadowComparison) -> h.Element:
    """Both cards on the transfers that both scored since the shadow last began."""
    test = compared.mc_nemar.p_value
    heads = ("", "Precision", "Recall")
    return h.section("#comparison")[
        h.h2["Champion against challenger"],
        h.p[
            f"{count(compared.transfers, 'transfer')} that both scored since ",
            moment(compared.since),
            f"; {compared.labelled_bad:,} bad and {compared.labelled_ok:,} ok labels are final. McNemar's test: ",
            "not measured" if test is None else f"p = {test:.4f}",
            ". Stability index: ",
            "not measured" if compared.psi is None else f"{compared.psi:.3f}",
            ".",
        ],
        h.table(".endpoints", aria_label="Champion against challenger")[
            h.thead[h.tr[(h.th(scope="col")[each or h.span(".hidden")["Card"]] for each in heads)]],
            h.tbody[(_figures(name, compared) for name in ("champion", "challenger"))],
        ],
        _moves(compared),
    ]


def _figures(name: str, compared: ShadowComparison) -> h.Element:
    figures = compared.champion if name == "champion" else compared.challenger
    return h.tr[
        h.th(scope="row")[name],
        h.td(data_label="Precision")[_share(figures.precision)],
        h.td(data_label="Recall")[_share(figures.recall)],
    ]


def _share(measured: Measured) -> str:
    if measured.value is None:
        return "not measured"
    between = "" if measured.low is None or measured.high is None else f" ({measured.low:.1%} to {measured.high:.1%})"
    return f"{measured.value:.1%}{between}, n = {measured.n:,}"


def _moves(compared: ShadowComparison) -> h.Node:
    moved = [each for each in compared.moves if each.champion_band != each.band]
    if not moved:
        return h.p["No transfer is in another band."]
    words = (f"{count(each.transfers, 'transfer')} from {each.champion_band} to {each.band}" for each in moved)
    return h.ul(".plain")[(h.li[each] for each in words)]
