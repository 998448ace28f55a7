"""Assignments of alerts as the interface shows them, the requests, and examples."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Final, Self

import msgspec

from clearhold.api.dispositions.routes import ALERT_ID
from clearhold.api.http.fields import AssigneeName
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import OperatorIdentity, Simulated
from clearhold.features.core.vocabulary import about, minted

_ASSIGNEE: Final = about("The person that works on it; null: unassigned.")


class Assignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The assignment of an alert to a person. It keeps no other person from deciding."""

    id: Annotated[str, minted("assignment")]
    tenant_id: str
    program_id: str
    alert_id: Annotated[str, about("The alert.")]
    assignee: Annotated[str | None, _ASSIGNEE]
    assigned_by: Annotated[str, about("Who assigned it: the person of X-Operator, or a key.")]
    identity: OperatorIdentity | None
    created_at: str
    simulated: Simulated = msgspec.UNSET


class AssignmentOutcome(StrEnum):
    ASSIGNED = "assigned"
    REFUSED = "refused"


class RefusedAssignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    error: Annotated[str, about("The cause and the cure, for people.")]
    code: Annotated[ErrorCode, about("The cause, for programs.")]


class AssignmentResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result on one alert."""

    alert_id: Annotated[str, about("The alert.")]
    result: Annotated[AssignmentOutcome, about("Assigned, or refused.")]
    error: Annotated[RefusedAssignment | None, about("Why it was refused; else null.")] = None


class AssignedAlerts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results, one for each alert, and how many of each kind there are."""

    assignee: Annotated[str | None, _ASSIGNEE]
    assigned: Annotated[int, about("How many alerts were assigned.")]
    refused: Annotated[int, about("How many were not.")]
    results: Annotated[tuple[AssignmentResult, ...], about("One for each alert.")]

    @classmethod
    def of(cls, assignee: str | None, results: Iterable[AssignmentResult]) -> Self:
        of_all = tuple(results)
        counts = Counter(each.result for each in of_all)
        return cls(
            assignee=assignee,
            assigned=counts[AssignmentOutcome.ASSIGNED],
            refused=counts[AssignmentOutcome.REFUSED],
            results=of_all,
        )


class AssignmentRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    assignee: Annotated[AssigneeName | None, _ASSIGNEE]


ASSIGNMENT_REQUEST: Final = {"assignee": "ann"}
ASSIGNMENT: Final[dict[str, Any]] = {
    "id": "9b1c0c52-4a2e-5f0c-8a41-6c1f5f0f4d20",
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "alertId": ALERT_ID,
    "assignee": "ann",
    "assignedBy": "bob",
    "identity": "person",
    "createdAt": "2026-03-02T15:08:00.000Z",
}
