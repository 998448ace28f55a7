"""Scorecards, and reports on them, as the interface takes and shows them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

import jsonschema_rs
import msgspec

from clearhold.api.http.fields import Prose
from clearhold.api.http.validation import Failure, failures_of
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import format_instant
from clearhold.features.core.scorecards import Scorecard
from clearhold.features.core.vocabulary import about
from clearhold.features.scorers.cards import faults_of
from clearhold.features.scorers.trs_v1.scorer import SCORER
from clearhold.store.control.entries import ScorecardReportEntry

MAX_CARD_BYTES: Final = 16 * 1024
"""The memory limit of a card, which every program of the tenant gets."""
ONLY_TRANSFERS: Final = "must be trs: only the cards of transfers can be changed"
TOO_LONG: Final = f"must be shorter: a card is at most {MAX_CARD_BYTES} bytes"


class NewScorecard(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` null is every program of the tenant."""

    program_id: Annotated[UUID | None, about("The card's one program; left out or null: the whole tenant.")] = None
    card: Scorecard


class NewScorecardReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A report of ``clearhold calibrate``; it must name its card, its time and its number of labels."""

    report: Annotated[dict[str, Any], msgspec.Meta(title="CalibrationReport")]


class _Judged(msgspec.Struct, frozen=True):
    """The labelled transfers behind a report; both kinds are needed for a comparison."""

    bad: Annotated[int, msgspec.Meta(ge=1)]
    ok: Annotated[int, msgspec.Meta(ge=1)]


class _Data(msgspec.Struct, frozen=True):
    later: _Judged


class _RequiredOfReport(msgspec.Struct, frozen=True, rename="camel"):
    """The part of ``calibrate/report.py`` that an approval needs."""

    card_sha256: str
    generated_at: str
    data: _Data
    rankings: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(min_length=1)]
    findings: tuple[dict[str, Any], ...]


_REPORT_SCHEMA: Final = msgspec.json.schema(_RequiredOfReport)
_REPORTS: Final = jsonschema_rs.validator_for(_REPORT_SCHEMA)


class ScorecardActivation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is for trs-v1 and tenant only; other cards have a fixed program since their proposal."""

    program_id: Annotated[
        UUID | None, about("The program that goes back to trs-v1 or to the tenant's card; else left out.")
    ] = None
    note: Annotated[Prose | None, about("Why; it stands on the record.")] = None


class ScorecardReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A report as received; lists of cards leave out ``report``."""

    report_sha256: Annotated[str, about("Digest of the report.")]
    card_sha256: str
    made_at: Annotated[str, about("When the report was made, by its own word; its age counts from here.")]
    received_at: Annotated[str, about("When it was sent in.")]
    sent_by: Annotated[str, about("Who sent it in.")]
    report: Annotated[dict[str, Any], msgspec.Meta(title="CalibrationReport")] | msgspec.UnsetType = msgspec.UNSET


class ScorecardVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A card with its state; lists leave out ``card``."""

    version: Annotated[str, about("scorecard-v and a number, counted by tenant; trs-v1 is the default card.")]
    score_version: Annotated[str, about("What scores of this card have in their scoreVersion.")]
    program_id: Annotated[str | None, about("The one program that the card is for; null: the whole tenant.")]
    name: Annotated[str, about("The author's name for it.")]
    card_sha256: str
    active: Annotated[bool, about("Whether it scores transfers now.")]
    was_active: Annotated[bool, about("Whether it scores transfers or did before; going back to it needs no report.")]
    in_shadow: Annotated[bool, about("Whether it runs beside the card in force.")]
    created_at: Annotated[str | None, about("When it was proposed; null for the default card.")]
    reports: Annotated[tuple[ScorecardReport, ...], about("The newest reports on it, without their content.")]
    card: Scorecard | msgspec.UnsetType = msgspec.UNSET


def card_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of a card that fits its schema, as submitted."""
    try:
        card = msgspec.convert(plain.get("card"), Scorecard)
    except msgspec.ValidationError:  # listed by the schema
        return
    if card.scorer != SCORER.name:
        yield Failure("card.scorer", ONLY_TRANSFERS, FieldCode.NOT_ONE_OF)
        return
    faults = tuple(faults_of(card))
    for fault in faults:
        yield Failure(f"card.{fault.path}" if fault.path else "card", fault.sentence, fault.code)
    if not faults and len(msgspec.json.encode(card)) > MAX_CARD_BYTES:
        yield Failure("card", TOO_LONG, FieldCode.TOO_LONG)


def report_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of the parts that an activation needs."""
    report = plain.get("report")
    if isinstance(report, dict):
        errors = _REPORTS.iter_errors(report)
        for failure in failures_of(errors, schema=_REPORT_SCHEMA, noun="property"):
            yield failure._replace(path=f"report.{failure.path}" if failure.path else "report")


def to_report(stored: ScorecardReportEntry, *, whole: bool = True) -> ScorecardReport:
    return ScorecardReport(
        report_sha256=stored.report_sha256,
        card_sha256=stored.card_sha256,
        made_at=format_instant(stored.made_at),
        received_at=format_instant(stored.at),
        sent_by=stored.by,
        report=msgspec.json.decode(stored.report) if whole else msgspec.UNSET,
    )
