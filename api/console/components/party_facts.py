"""A party or an account as the bank states it, its score over time, and its newest transfers."""

from collections.abc import Iterable, Sequence
from typing import Final

import htpy as h

from clearhold.api.accounts.routes import Account
from clearhold.api.console.components.figures import LEVELS, Axes, line_of, sparkline
from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, band_mark, band_name, count, moment, money, outsider, span
from clearhold.api.parties.routes import Counterparty, Entity
from clearhold.api.reports.schemas import ActorReport, BandTransition
from clearhold.api.transfers.service import TransferSummary
from clearhold.features.core.instants import written_instant
from clearhold.features.core.vocabulary import Band

Stated = Entity | Counterparty | Account
_TRANSITIONS: Final = 8
_SCORES: Final = 100
_LINE_FROM: Final = 2
_DATE: Final = len("2026-03-02")


def band_change(change: BandTransition) -> h.Element:
    """When a score changed its band, from which to which, with its number of observations."""
    marks = (band_name(change.from_), " to ", band_mark(change.to, change.score))
    return h.li[moment(change.at), " ", marks, f", n = {change.n:,}"]


def facts(stated: Stated, now: int) -> h.Element:
    """What the bank says of it, each with its age where that counts."""
    return h.section("#facts")[
        h.h2["As the bank states it"],
        h.dl(".particulars")[((h.dt[name], h.dd[value]) for name, value in _facts(stated, now))],
    ]


def _facts(stated: Stated, now: int) -> Iterable[tuple[str, h.Node]]:
    match stated:
        case Entity():
            yield "Kind", ", ".join(filter(None, (stated.type.value.lower(), stated.legal_type)))
            yield "Verification", stated.verification_status.value.replace("_", " ").lower()
            screened = stated.last_screened_at
            yield (
                "Screened",
                "never" if screened is None else [moment(screened), f", {_age(screened, now)} ago"],
            )
            yield "High risk", "marked by the bank" if stated.is_high_risk else "not marked"
            yield "Politically exposed", stated.pep_status.value.replace("_", " ").lower()
            yield "Country", stated.country_code or NO_VALUE
            yield "Under review for", outsider(", ".join(stated.review_reasons) or "nothing", most=None)
            yield "Expected rails", ", ".join(stated.expected_payment_rails) or "not stated"
            yield "Since", [moment(stated.created_at), f", {_age(stated.created_at, now)} ago"]
        case Counterparty():
            yield "Bank", stated.routing_number or NO_VALUE
            yield "Account", f"ending {stated.account_last4}" if stated.account_last4 else NO_VALUE
            yield "Accounts before", count(len(stated.earlier_accounts), "other") if stated.earlier_accounts else "none"
            yield "Country", stated.country_code or NO_VALUE
            yield "First seen", [moment(stated.first_seen_at), f", {_age(stated.first_seen_at, now)} ago"]
        case Account():
            yield "Owner", outsider(stated.owner_name, "not known")
            yield "Owner's score", NO_VALUE if stated.band is None else band_mark(stated.band, stated.score)
            yield "Transfers", f"{stated.transfer_count:,}"
            yield "Last transfer", moment(stated.last_transfer_at)


def _age(at: str, now: int) -> str:
    return span(max(0, now - written_instant(at)))


def scores(report: ActorReport) -> h.Element:
    """The score over the period as a line and in words, and the changes of its band."""
    values = [each.score for each in report.history]
    known = [each for each in values if each is not None]
    words = (
        f"{count(len(values), 'score')} in the period: {min(known)} to {max(known)}, last {known[-1]}"
        if known
        else "No score in the period"
    )
    return h.section("#scores")[
        h.h2["Score"],
        h.p[_score_line(report, words), h.span(".small")[words]],
        _score_table(report) if known else None,
        h.ul(".plain")[(band_change(each) for each in reversed(report.transitions[-_TRANSITIONS:]))]
        if report.transitions
        else None,
    ]


def _score_line(report: ActorReport, words: str) -> h.Element:
    """Over the levels of the bands where there are two scores or more."""
    values = [each.score for each in report.history]
    if sum(each is not None for each in values) < _LINE_FROM:
        return sparkline(values, words)
    days = [each.at[:_DATE] for each in report.history]
    return line_of(values, None, words, ends=(0.0, 100.0), axes=Axes(LEVELS, days[0], days[-1]))


def _score_table(report: ActorReport) -> h.Element:
    newest = report.history[::-1][:_SCORES]
    rest = len(report.history) - len(newest)
    return h.details("#score-points")[
        h.summary["Scores, as a table"],
        wide_table(
            "Scores",
            ("At", "Score", "n"),
            (
                h.tr[
                    h.th(scope="row")[moment(each.at)],
                    h.td[band_mark(each.band, each.score)],
                    h.td[f"{each.n:,}"],
                ]
                for each in newest
            ),
            style="days",
        ),
        h.p(".small")[f"{rest:,} earlier ones are left out."] if rest else None,
    ]


def transfers(newest: Sequence[TransferSummary], every: str) -> h.Element:
    """``every`` is the address of all of them."""
    return h.section("#transfers")[
        h.h2[f"Newest transfers ({len(newest)})" if newest else "Transfers"],
        (transfer_table(newest, "Newest transfers"), h.p[h.a(href=every)["All its transfers, with a filter"]])
        if newest
        else h.p["The bank has sent no transfer of it."],
    ]


def transfer_table(listed: Sequence[TransferSummary], label: str) -> h.Element:
    heads = ("Created", "Transfer", "Status", "Score")
    return wide_table(label, heads, (_transfer(each) for each in listed), style="endpoints")


def _transfer(each: TransferSummary) -> h.Element:
    way = f"{money(each.amount_cents, each.currency)} {each.direction} by {each.rail.replace('_', ' ')}"
    return h.tr[
        h.td(data_label="Created")[moment(each.bank_created_at)],
        h.td(".words", data_label="Transfer")[
            h.a(href=f"/console/things/transfer/{each.id}?programId={each.program_id}")[way]
        ],
        h.td(data_label="Status")[each.status.replace("_", " ").lower()],
        h.td(data_label="Score")[band_mark(each.score_band or Band.UNSCORED, each.score)],
    ]
