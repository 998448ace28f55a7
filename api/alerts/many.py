"""One decision on several alerts: one entry of the log for each program, with a result for each alert.

The flow decides each alert as if its decision came alone. The results are those of the entry, so a request that is
repeated under its Idempotency-Key has the results of the first one, also where other alerts wait by now.

Errors  UnavailableError when an entry is not recorded in time: repeated under its key, the request goes on with the
        programs that are left. An alert that cannot be decided has its error in its place
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Final

import msgspec
import structlog

from clearhold.api.area import Resources
from clearhold.api.dispositions.routes import ALERT_ID, DISPOSITION
from clearhold.api.http.fields import AlertIds, Prose
from clearhold.api.http.reading import in_reader
from clearhold.api.log.commands import refusal_of, unknown_alert
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.commands import DecisionsEntry, DecisionWarning, OperatorKind
from clearhold.features.core.errors import ErrorCode, FieldError, RiskError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal, is_key_operator
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.features.core.vocabulary import AlertDecision, about
from clearhold.store.duck.alerts import Alerts, Dispositions, EntryResults

log = structlog.get_logger()


class AlertOutcome(StrEnum):
    """``requested``: it waits for a second person, as an action ``decide_alert``."""

    DECIDED = "decided"
    REQUESTED = "requested"
    REFUSED = "refused"


class RefusedDecision(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why one alert was not decided: the error that its decision alone would have had."""

    error: Annotated[str, about("The cause and the cure, for people.")]
    code: Annotated[ErrorCode, about("The cause, for programs.")]
    fields: Annotated[tuple[FieldError, ...], about("The parts of the request that break a rule.")] = ()


class AlertResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result on one alert. Its disposition has the decision and the narrative of the request."""

    alert_id: Annotated[str, about("The alert.")]
    result: Annotated[AlertOutcome, about("Decided, requested from a second person, or refused.")]
    disposition_id: Annotated[str | None, about("The disposition; null unless it was decided.")] = None
    prev_hash: Annotated[str | None, about("The hash of the link before it on the tenant's chain.")] = None
    hash: Annotated[str | None, about("The hash of its link; null unless it was decided.")] = None
    warnings: Annotated[
        tuple[DecisionWarning, ...], about("Executed actions that the decision contradicts; empty without any.")
    ] = ()
    action_id: Annotated[str | None, about("The action that waits for a second person; else null.")] = None
    error: Annotated[RefusedDecision | None, about("Why it was refused; else null.")] = None


class DecidedAlerts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results, one for each alert, and how many of each kind there are."""

    decision: Annotated[AlertDecision, about("The decision of the request.")]
    decided: Annotated[int, about("How many alerts were decided.")]
    requested: Annotated[int, about("How many wait for a second person.")]
    refused: Annotated[int, about("How many were not decided.")]
    results: Annotated[tuple[AlertResult, ...], about("One for each alert.")]


class AlertsDecisionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_ids: Annotated[AlertIds, about("The alerts, at most 200; those of several programs are an entry for each.")]
    decision: Annotated[AlertDecision, about("The decision on each of them.")]
    narrative: Annotated[Prose, about("Why, in words: it goes on the record with each of the alerts.")]


class ManyDecisions:
    """Shared by all routes that decide several alerts."""

    def __init__(self, resources: Resources) -> None:
        database = resources.stores.database
        self._commands, self._new_id = resources.command_log, resources.stores.new_id
        self._alerts, self._results = Alerts(database), EntryResults(database)
        self._dispositions = Dispositions(database)

    async def decide(
        self, principal: Principal, request: AlertsDecisionRequest, effect_id: str | None
    ) -> DecidedAlerts:
        """Decide these alerts; an unknown one is refused in its place."""
        alert_ids = [*dict.fromkeys(map(str, request.alert_ids))]
        by_program = await in_reader(self._alerts.by_program, principal, alert_ids)
        cause = effect_id or self._new_id()
        results: dict[str, AlertResult] = {}
        for program_id, inside in by_program.items():
            of_program = await self.decide_in(principal, program_id, inside, request.decision, request.narrative, cause)
            results |= {result.alert_id: result for result in of_program}
        return decided(request.decision, (results.get(each) or refused(each, unknown_alert()) for each in alert_ids))

    async def decide_in(
        self,
        principal: Principal,
        program_id: str,
        alert_ids: Sequence[str],
        decision: AlertDecision,
        narrative: str,
        cause: str,
    ) -> list[AlertResult]:
        """Decide alerts of one program, in one entry for each ``cause``; the results are those of the first one."""
        kind = OperatorKind.KEY if is_key_operator(principal.operator) else OperatorKind.PERSON
        entry = partial(
            DecisionsEntry,
            alert_ids=tuple(alert_ids),
            decision=decision,
            narrative=narrative,
            operator=principal.operator,
            identity=principal.identity,
            operator_kind=kind,
            principal_id=principal.id,
        )
        result = await self._commands.submit(
            principal, EntryKind.DECISIONS, program_id, entry, effect_id=derived_id(cause, program_id)
        )
        results = await in_reader(self._results_of, principal, result)
        log.info(
            "alerts_decided",
            entry_id=result.id,
            program_id=program_id,
            operator=principal.operator,
            **Counter(each.result.value for each in results),
        )
        return results

    def _results_of(self, principal: Principal, entry: EntryResultRow) -> list[AlertResult]:
        rows = self._results.of_entry(principal, entry)
        disposition_ids = [row.disposition_id for row in rows if row.disposition_id is not None]
        links = {each.row.id: each for each in self._dispositions.of_entry(principal, entry.offset, disposition_ids)}
        results = []
        for row in rows:
            refusal, link, alert_id = refusal_of(row), links.get(row.disposition_id or ""), row.alert_id or ""
            if refusal is not None:
                results.append(refused(alert_id, refusal))
            elif link is None:
                results.append(AlertResult(alert_id=alert_id, result=AlertOutcome.REQUESTED, action_id=row.id))
            else:
                warnings = link.row.warnings
                results.append(
                    AlertResult(
                        alert_id=alert_id,
                        result=AlertOutcome.DECIDED,
                        disposition_id=link.row.id,
                        prev_hash=link.prev_hash,
                        hash=link.hash,
                        warnings=() if warnings is None else _WARNINGS.decode(warnings),
                    )
                )
        return results


_WARNINGS: Final = msgspec.json.Decoder(tuple[DecisionWarning, ...])


def decided(decision: AlertDecision, results: Iterable[AlertResult]) -> DecidedAlerts:
    """The answer with these results."""
    of_all = tuple(results)
    counts = Counter(each.result for each in of_all)
    return DecidedAlerts(
        decision=decision,
        decided=counts[AlertOutcome.DECIDED],
        requested=counts[AlertOutcome.REQUESTED],
        refused=counts[AlertOutcome.REFUSED],
        results=of_all,
    )


def refused(alert_id: str, error: RiskError) -> AlertResult:
    reason = RefusedDecision(error=str(error), code=error.code, fields=error.fields)
    return AlertResult(alert_id=alert_id, result=AlertOutcome.REFUSED, error=reason)


DECISION_OF_SEVERAL: Final[dict[str, Any]] = {
    "alertIds": [ALERT_ID, "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"],
    "decision": "close",
    "narrative": DISPOSITION["narrative"],
}
DECIDED: Final[dict[str, Any]] = {
    "decision": "close",
    "decided": 1,
    "requested": 0,
    "refused": 1,
    "results": [
        {
            "alertId": ALERT_ID,
            "result": "decided",
            "dispositionId": DISPOSITION["id"],
            "prevHash": DISPOSITION["prevHash"],
            "hash": DISPOSITION["hash"],
            "warnings": [],
            "actionId": None,
            "error": None,
        },
        {
            "alertId": "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11",
            "result": "refused",
            "dispositionId": None,
            "prevHash": None,
            "hash": None,
            "warnings": [],
            "actionId": None,
            "error": {"error": str(unknown_alert()), "code": "alert_not_found", "fields": []},
        },
    ],
}
