"""Tables of tenants' configuration: they are small, kept in the control streams instead of the database, and written
whole when they have changed.

They have no secrets, tokens and keys; whole numbers of accounts, cards or people are masked in texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from clearhold.features.bank.masking import masked_prose, masked_text
from clearhold.features.core.instants import written_instant
from clearhold.features.policy.bodies import SCORECARD, prefix_of
from clearhold.store.analysts.tables import LakeColumn, LakeTable
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.tables import columns_of


class TenantRow(msgspec.Struct, frozen=True, gc=False):
    tenant_id: str
    slug: str
    name: str
    created_at: int


class PolicyVersionRow(msgspec.Struct, frozen=True, gc=False):
    """A version of a policy as written, in force or not."""

    tenant_id: str
    program_id: str | None
    id: str
    version: str
    active: bool
    created_at: int
    body: str


class ScorecardReportRow(msgspec.Struct, frozen=True, gc=False):
    """A calibration's report on one exact card."""

    tenant_id: str
    version: str
    card_sha256: str
    sha256: str
    made_at: int
    received_at: int
    recorded_by: str
    body: str


class RuleRow(msgspec.Struct, frozen=True, gc=False):
    """A rule as last written."""

    tenant_id: str
    program_id: str | None
    id: str
    name: str
    status: str
    action: str
    severity: str
    rule_sha256: str
    created_at: int
    counted_since_at: int | None
    body: str


class RuleBacktestRow(msgspec.Struct, frozen=True, gc=False):
    """A stored backtest of a rule."""

    tenant_id: str
    program_id: str | None
    rule_id: str
    rule_sha256: str
    tested_at: int
    days: int
    scanned: int
    sampled: bool
    matched: int
    matched_share: float | None
    would_hold: int
    would_alert: int
    overlap_with_alerts: int
    body: str


_TABLES: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("tenants", TenantRow),
    ("policy_versions", PolicyVersionRow),
    ("scorecard_reports", ScorecardReportRow),
    ("rules", RuleRow),
    ("rule_backtests", RuleBacktestRow),
)

ControlRows = Mapping[str, Sequence[msgspec.Struct]]
"""By the name of the table."""


def control_tables() -> tuple[LakeTable, ...]:
    return tuple(
        LakeTable(
            name=name,
            source="",
            row_type=row_type,
            columns=tuple(
                LakeColumn(each.name, each.sql_type, each.nullable, f'"{each.name}"') for each in columns_of(row_type)
            ),
        )
        for name, row_type in _TABLES
    )


def control_rows(tenancy: Tenancy) -> ControlRows:
    """All rows at present; another thread may extend the projections meanwhile."""
    rows: dict[str, list[msgspec.Struct]] = {name: [] for name, _ in _TABLES}
    for tenant in tenancy.tenants.list_all():
        name, created_at = masked_prose(tenant.name), written_instant(tenant.created_at)
        rows["tenants"].append(TenantRow(tenant.id, tenant.slug, name, created_at))
        rows["policy_versions"] += _policies(tenancy, tenant.id)
        rows["scorecard_reports"] += _reports(tenancy, tenant.id)
        for stored in tenancy.rules.of_tenant(tenant.id).all():
            rule = stored.rule
            rows["rules"].append(
                RuleRow(
                    tenant_id=tenant.id,
                    program_id=rule.program_id,
                    id=rule.id,
                    name=masked_prose(rule.name),
                    status=rule.status,
                    action=rule.action,
                    severity=rule.severity,
                    rule_sha256=stored.sha256,
                    created_at=stored.created_at,
                    counted_since_at=stored.counted_since,
                    body=_json(rule),
                )
            )
            for test in stored.backtests:
                at, overlap = written_instant(test.at), test.overlap_with_existing_alerts
                others = {"tenant_id": tenant.id, "tested_at": at, "overlap_with_alerts": overlap, "body": _json(test)}
                rows["rule_backtests"].append(msgspec.convert(msgspec.structs.asdict(test) | others, RuleBacktestRow))
    return rows


def _policies(tenancy: Tenancy, tenant_id: str) -> Iterable[PolicyVersionRow]:
    for each in tenancy.policies[tenant_id].all():
        yield PolicyVersionRow(
            tenant_id=tenant_id,
            program_id=each.program_id,
            id=each.id,
            version=each.version,
            active=each.active,
            created_at=written_instant(each.created_at),
            body=_json(each.body),
        )


def _reports(tenancy: Tenancy, tenant_id: str) -> Iterable[ScorecardReportRow]:
    cards = (each for each in tenancy.policies[tenant_id].all() if prefix_of(each.version) == SCORECARD)
    for card in cards:
        for report in tenancy.scorecards[tenant_id].reports(card.version):
            yield ScorecardReportRow(
                tenant_id=tenant_id,
                version=card.version,
                card_sha256=report.card_sha256,
                sha256=report.report_sha256,
                made_at=report.made_at,
                received_at=report.at,
                recorded_by=report.by,
                body=_json(report.report),
            )


def _json(value: Any) -> str:
    return masked_text(msgspec.json.encode(value))
