"""One event of a caller's choice, and the sandbox's automatic verification of a created entity.

Source  the bank's public pages on its sandbox: entities are verified at once, but for two names
"""

from collections.abc import Mapping
from typing import Any, Final

from clearhold.features.core.instants import format_instant
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.feed import ComposedEvents, compose_events
from clearhold.features.sandbox.lives import STEP_US
from clearhold.features.sandbox.scenario import tag_of

CREATED: Final = "identity.created"
STATUS_OF_NAME: Final = {"Review": "MANUAL_REVIEW", "Denied": "DENIED"}
"""By the last name of a person, or the name of a business."""
VERIFIED: Final = "VERIFIED"

_UNDECIDED: Final = frozenset({"UNVERIFIED", "PENDING"})


def compose_event(program_id: str, event_type: str, data: Mapping[str, Any], *, run: str, at: int) -> ComposedEvents:
    """The event with its data unchanged; one that creates an entity is followed by its verification."""
    events = [(at, event_type, dict(data))]
    if event_type == CREATED and _is_undecided(data):
        status = STATUS_OF_NAME.get(_name_of(data), VERIFIED)
        verified = {**data, "verification_status": status, "updated_at": format_instant(at)}
        verified["review_reasons"] = list(objects.REVIEW_REASONS.get(status, ()))
        events = [
            (at - STEP_US, event_type, {"updated_at": format_instant(at - STEP_US)} | dict(data)),
            (at, f"identity.verification.{status.lower()}", verified),
        ]
    return compose_events(tag_of(program_id, "event", run), events, None)


def _is_undecided(data: Mapping[str, Any]) -> bool:
    """Whether the verification is still to come."""
    status = data.get("verification_status")
    return isinstance(data.get("id"), str) and (status is None or status in _UNDECIDED)


def _name_of(data: Mapping[str, Any]) -> str:
    person, business = data.get("person_details"), data.get("business_details")
    if isinstance(person, Mapping) and isinstance(name := person.get("last_name"), str):
        return name
    if isinstance(business, Mapping) and isinstance(name := business.get("business_name"), str):
        return name
    return ""
