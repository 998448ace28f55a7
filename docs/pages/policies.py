"""The seeded policies as a page, ``docs/policies.md``, with the reason of each figure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.core.money import money
from clearhold.features.core.vocabulary import Band
from clearhold.features.policy.bodies import Ladder
from clearhold.features.policy.dry_run import WHY_NOT
from clearhold.features.policy.routing import RouteReason
from clearhold.features.policy.seeds import (
    CLOCK_V1,
    CLOCK_VERSION,
    FLOORS,
    KRI_V1,
    KRI_VERSION,
    LADDER_V1,
    LADDER_VERSION,
    POLICY_V1,
    POLICY_VERSION,
    RETENTION_VERSION,
    THRESHOLDS_V1,
    THRESHOLDS_VERSION,
    Floor,
)

_WHY: Final[Mapping[str, str]] = {
    "version": "The prefix says what the body is.",
    "autoClosableDetectors": "Medium and low ones about a single amount or a busy day, of which most are ordinary.",
    "autoCloseBands": "Only where no other signal speaks against the transfer.",
    "minProgramN": "Transfers in the program's baseline (`program.n90d`). Below, its median and p95 are not stable.",
    "alwaysReviewed": "Hard by nature, or a legal matter: never closed without a person, so none of them is closable.",
    "twoApproverActions": "An action that stops a customer or reaches the program needs a second person.",
    "holdBandAutoHold": "An alert whose transfer is in the hold band opens as held, not as open; its appeal too.",
    "minNarrativeChars": "The least length of a person's narrative, without white space around it: that of the alert's "
    "severity, and on a hard alert at least that of `hard`. Left out, as here.",
    "hardNeedsSecondPerson": "Whether closing or releasing a hard alert waits for another person's approval. Left out, "
    "it does not.",
}
_CLOCK_WHY: Final[Mapping[str, str]] = {
    "autoHours": "For an alert that the policy closed: how long the close counts as fresh.",
    "standardHours": "A person's next working day; also for a hard signal, whatever its severity.",
    "complexHours": "High severity without a hard signal: documents must be requested.",
    "appealHours": "As long as the first decision may take.",
}
_ROUTES: Final[Mapping[RouteReason, str]] = {
    RouteReason.RULE: "a rule that the bank wrote opened it",
    RouteReason.HARD_SIGNAL: "a hard signal",
    RouteReason.ALWAYS_REVIEWED: "the detector is on `alwaysReviewed`",
    RouteReason.NOT_AUTO_CLOSABLE: "the detector is not on `autoClosableDetectors`",
    RouteReason.UNSCORED: "the transfer has no score, or the alert is about the program",
    RouteReason.BAND: "the band is not one of `autoCloseBands`",
    RouteReason.THIN_HISTORY: "the program's baseline has fewer than `minProgramN` transfers",
    RouteReason.DEGRADED: "an input was missing or stale",
    RouteReason.POLICY_ALLOWS: "none of the above: closed by the policy, with its own disposition",
    RouteReason.APPEAL: "an appeal",
    RouteReason.REOPENED: "the policy had closed it, and a person opened it again",
}
_HEAD: Final = """# Policies

Policies are versioned data: which alerts the platform may close without a person, how long an alert may wait, how much
an actor may move, the thresholds and country lists that transfers are compared with, and how long the lake for analysts
keeps its tables. Every tenant starts with the six below; [daily rates](#fx) begin with the bank's first version. All
figures are proposals, to be tuned on labels. Made from `features/policy`; a test keeps the two equal.

A version is written with `POST /api/policies` and never edited; versions of a kind are numbered from 1.
`POST /api/policies/{id}/activate` requests its activation, in every program of the tenant or in the one program that it
was written for. It comes into force when another person approves. A program's own version takes precedence over the
tenant's. An activation changes nothing in the past: an alert and its disposition name the policy of their time, and the
disposition cites the digest of its body (RFC 8785, SHA-256); a transfer is scored with the thresholds and the ladder in
force at its own time, and `scoreInputs` names them. A new program begins with the tenant's policies in force.
"""
_ROUTING: Final = """### Routing

The first of these that applies is the alert's `routeReason`; all but `policy_allows` send it to a person. A program's
tier of autonomy may withdraw detectors from `autoClosableDetectors`, or add eligible ones; the program then has its own
version of the policy, such as `policy-v1.autonomy-v2` (`GET /api/autonomy`).

"""
_DRY_RUN: Final = """### Dry run

`POST /api/policies/dry-run` takes a draft as `POST /api/policies` does, or the `version` of a written policy without a
body, and answers which alerts of the last `days` (1 to 90, 30 by default) would have gone to another route, tier or
hold: from where to where, by detector, by program, and up to 20 of them by id. Nothing is written.

An alert is taken as it opened, from the body that its dispositions cite, and is routed again twice: under the version
that routed it, and under the draft, both with the program's autonomy of then. Where the first does not give the stored
answer, nothing is said of the second. `notConsidered` counts such alerts by `reason`:

"""
_DRY_RUN_ENDS: Final = """
Alerts stay as they opened: under another policy a finding may have joined an alert that was closed without a
person, or opened a new one. A tenant-wide draft is run over the bank's programs, and for a test key over the
simulated ones. At most 20,000 alerts are read, the newest first; `limitReached` says whether there were more.
"""
_RETENTION: Final = """\
The number of days for which the [lake for analysts](lake.md) keeps each table, after the UTC day on which the log
took a row in. A table with null, or not named, is kept permanently; the default names no table. The policy applies to
the copy for analysts only: record, database and log are kept permanently. Files have rows of all programs, so the
policy applies to the whole tenant; where tenants share a lake, a day is deleted when the policies of all of them allow
it. A version that keeps a table longer does not bring back deleted days.

```json
{
  "version": "retention-v2",
  "body": {"tables": [{"table": "events", "days": 90}, {"table": "dispositions", "days": null}]}
}
```
"""
_RATES: Final = """\
## fx

Daily rates to the US dollar, for amounts in another currency for which the bank states no US dollars. A transfer counts
at the rate of the UTC day of its time, else at the newest of the seven days before, of the version in force when it
comes; the transfer and the pre-flight name it as `usdRate`. Without such a rate the amount is not known in US dollars
(`amount_not_in_usd`). The arithmetic is exact, with the minor unit of the currency; half a cent is rounded to the even
cent. A later version changes nothing that was counted: a transfer keeps its rate until its amount or its currency
changes, or the bank states US dollars. No tenant starts with rates, so the first version is `fx-v1`. A version replaces
the one before as a whole, and has at most 2,000 rates: the days that still matter, of every currency.

```json
{
  "version": "fx-v1",
  "body": {"rates": [
    {"currency": "EUR", "day": "2026-03-02", "rate": "1.0871"},
    {"currency": "JPY", "day": "2026-03-02", "rate": "0.0065"}
  ]}
}
```
"""
_DRAFTS: Final = """### Drafts

A draft recommends `hold` in the hold band; `escalate` for a hard signal or high severity; `close` for low severity or
the clear band; else `escalate`. A template has no confidence.
"""


def markdown() -> str:
    """The page."""
    routes = _listed({reason.value: meaning for reason, meaning in _ROUTES.items()})
    rescreened = msgspec.to_builtins(LADDER_V1.rescreen_days)
    return (
        f"{_HEAD}\n## {POLICY_VERSION}\n\n{_table(msgspec.to_builtins(POLICY_V1), _WHY)}\n{_ROUTING}{routes}"
        f"\n{_DRY_RUN}{_listed({reason.value: f'{why[0].lower()}{why[1:-1]}' for reason, why in WHY_NOT.items()})}"
        f"{_DRY_RUN_ENDS}\n{_DRAFTS}"
        f"\n## {CLOCK_VERSION}\n\n{_table(msgspec.to_builtins(CLOCK_V1), _CLOCK_WHY)}"
        f"\n## {LADDER_VERSION}\n\nAn actor in the hold band moves nothing.\n\n{_ladder()}"
        f"\nDays until the next screening: {', '.join(f'{band} {days}' for band, days in rescreened.items())}.\n"
        f"\n## {THRESHOLDS_VERSION}\n\n{_thresholds()}"
        f"\n## {KRI_VERSION}\n\n{_kris()}"
        f"\n## {RETENTION_VERSION}\n\n{_retention()}"
        f"\n{_RATES}"
    )


def _thresholds() -> str:
    lines = ", ".join(money(int(cents)) for cents in THRESHOLDS_V1.structuring_thresholds_cents)
    lists = "".join(
        f"| {name} | {each.as_of} | {', '.join(each.countries)} | {each.source} |\n"
        for name, each in (
            ("callForAction", THRESHOLDS_V1.call_for_action),
            ("comprehensivelySanctioned", THRESHOLDS_V1.comprehensively_sanctioned),
            ("increasedMonitoring", THRESHOLDS_V1.increased_monitoring),
        )
    )
    return (
        f"Reporting thresholds, against structuring: {lines} (31 CFR 1010.311, 1010.410, 1020.410).\n"
        "A new threshold also counts the amounts of the seven days before its activation.\n\n"
        f"| list | as of | countries | source |\n|---|---|---|---|\n{lists}"
    )


def _kris() -> str:
    return (
        "The lines of watch and breach of each key risk indicator, with their sources in [kris](kris.md). Those of an\n"
        "aging are parts of the decision clock in force: `standardHours` for review, `complexHours` for hold.\n\n"
        "| field | value | why |\n|---|---|---|\n"
        f"| fleetOverallReturnRate | {KRI_V1.fleet_overall_return_rate:g} | A young program's exposure is measured "
        "with at least this rate: its own first debits have not come back yet. |\n"
        f"| fleetUnauthorizedReturnRate | {KRI_V1.fleet_unauthorized_return_rate:g} | The same for the unauthorized "
        "rate. |\n"
        f"| minObservations | {KRI_V1.min_observations} | A rate of fewer is shown and not compared: one returned "
        "debit is not a breach. |\n"
    )


def _retention() -> str:
    by_floor: dict[Floor, list[str]] = {}
    for table, floor in FLOORS.items():
        by_floor.setdefault(floor, []).append(f"`{table}`")
    rows = "".join(
        f"| {', '.join(tables)} | {'null' if floor.days is None else f'{floor.days:,}'} | {floor.why} |\n"
        for floor, tables in by_floor.items()
    )
    return f"{_RETENTION}\n| tables | at least | why |\n|---|---|---|\n{rows}"


def _table(body: Mapping[str, object], why: Mapping[str, str]) -> str:
    rows = "".join(f"| {name} | {_cell(value)} | {why[name]} |\n" for name, value in body.items())
    return f"| field | value | why |\n|---|---|---|\n{rows}"


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"`{each}`" for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _listed(meanings: Mapping[str, str]) -> str:
    return "".join(f"* `{word}`: {meaning}\n" for word, meaning in meanings.items())


def _ladder() -> str:
    head = "| actor | band | one transfer | a day | a month |\n|---|---|---|---|---|\n"
    return head + _rungs("entity", LADDER_V1.entity) + _rungs("counterparty", LADDER_V1.counterparty)


def _rungs(actor: str, ladder: Ladder) -> str:
    rungs = ((band, getattr(ladder, band.value)) for band in Band)
    return "".join(
        f"| {actor} | {band.value} | {_cap(caps.per_transaction_cents)} | {_cap(caps.daily_cents)} "
        f"| {_cap(caps.monthly_cents)} |\n"
        for band, caps in rungs
    )


def _cap(cents: str | None) -> str:
    return "no cap" if cents is None else money(int(cents))
