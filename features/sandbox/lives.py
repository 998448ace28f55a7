"""The bank's events on a transfer from beginning to end, step by step."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.sandbox import objects
from clearhold.features.sandbox.parties import Ending, EventFamily, PlannedTransfer

STEP_US: Final = 1_000
"""The least time between two steps with different instants: the bank's times have milliseconds."""

_LATE_CODES: Final = frozenset({"R05", "R07", "R10", "R11"})  # Consumers have 60 days for these.
_LATE_US: Final = 9 * DAY_US
_RETURN_US: Final = 2 * DAY_US


class Step(NamedTuple):
    """An event of a life: its type after the family, the status, the field with the time, and the delay."""

    type: str
    status: str
    field: str
    lag_us: int = 0


def life_of(transfer: PlannedTransfer) -> tuple[Step, ...]:
    """The steps of a transfer: created first, then how it ends."""
    return _LIFE_OF[transfer.family](transfer)


def reports_of(
    planned: PlannedTransfer, transfer_id: str, instants: Iterable[int]
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The bank's events of the steps, each as time, type and data, for the steps with an instant."""
    times: dict[str, int] = {}
    for step, at in zip(life_of(planned), instants, strict=False):
        times = {"created_at": at, **times, step.field: at}
        data = objects.transfer(planned, transfer_id, status=step.status, times=times)
        yield at, f"{planned.family}.{step.type}", data


def _ach_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    way = "incoming_transfer" if transfer.incoming else "outgoing_transfer"
    begun = (
        Step(f"{way}.scheduled", "SCHEDULED", "created_at")
        if transfer.incoming
        else Step(f"{way}.initiated", "INITIATED", "initiated_at")
    )
    if transfer.ending is Ending.UNFUNDED:
        unfunded = Step(f"{way}.nsf", "SCHEDULED", "updated_at", 12 * HOUR_US)
        return begun, unfunded, Step(f"{way}.returned", "RETURNED", "returned_at", DAY_US)
    settled = Step(f"{way}.settled", "SETTLED", "settled_at", 18 * HOUR_US)
    if transfer.ending is Ending.RETURNED:
        lag_us = _LATE_US if transfer.code in _LATE_CODES else _RETURN_US
        return begun, settled, Step(f"{way}.returned", "RETURNED", "returned_at", lag_us)
    return begun, settled, Step(f"{way}.completed", "COMPLETED", "completed_at", 3 * DAY_US)


def _wire_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    if transfer.incoming:
        return (Step("incoming_transfer.completed", "COMPLETED", "completed_at"),)
    return (
        Step("outgoing_transfer.initiated", "INITIATED", "initiated_at"),
        Step("outgoing_transfer.completed", "COMPLETED", "completed_at", 600 * SECOND_US),
    )


def _realtime_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    if transfer.incoming:
        return (Step("incoming_transfer.completed", "completed", "completed_at"),)
    begun = Step("outgoing_transfer.initiated", "initiated", "initiated_at")
    if transfer.ending is Ending.REJECTED:
        return begun, Step("outgoing_transfer.rejected", "rejected", "rejected_at", 3 * SECOND_US)
    return begun, Step("outgoing_transfer.completed", "completed", "completed_at", 3 * SECOND_US)


def _check_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    if transfer.incoming:  # The names describe the debit: a deposited check is an outgoing debit, and money in.
        begun = Step("outgoing_debit.initiated", "initiated", "initiated_at")
        if transfer.ending is Ending.RETURNED:
            return begun, Step("outgoing_debit.returned", "returned", "returned_at", 4 * DAY_US)
        return begun, Step("outgoing_debit.settled", "settled", "settled_at", 2 * DAY_US)
    return (
        Step("incoming_debit.issued", "issued", "issued_at"),
        Step("incoming_debit.settled", "settled", "settled_at", 5 * DAY_US),
    )


def _swift_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    if transfer.incoming:
        return (
            Step("incoming_transfer.initiated", "INITIATED", "initiated_at"),
            Step("incoming_transfer.completed", "COMPLETED", "completed_at", 20 * HOUR_US),
        )
    return (
        Step("outgoing_transfer.initiated", "INITIATED", "initiated_at"),
        Step("outgoing_transfer.submitted", "SUBMITTED", "submitted_at", 30 * SECOND_US),
        Step("outgoing_transfer.completed", "COMPLETED", "completed_at", 20 * HOUR_US),
    )


def _card_life(transfer: PlannedTransfer) -> tuple[Step, ...]:
    if transfer.incoming:
        return (Step("transaction.refunded", "REFUNDED", "created_at"),)
    if transfer.ending is Ending.DECLINED:
        return (Step("authorization.declined", "DECLINED", "created_at"),)
    return (
        Step("authorization.approved", "PENDING", "created_at"),
        Step("transaction.settled", "SETTLED", "settled_at", 30 * HOUR_US),
    )


_LIFE_OF: Final[dict[EventFamily, Callable[[PlannedTransfer], tuple[Step, ...]]]] = {
    EventFamily.ACH: _ach_life,
    EventFamily.WIRE: _wire_life,
    EventFamily.SWIFT: _swift_life,
    EventFamily.REALTIME: _realtime_life,
    EventFamily.BOOK: lambda _transfer: (Step("transfer.completed", "COMPLETED", "created_at"),),
    EventFamily.CHECK: _check_life,
    EventFamily.CARD: _card_life,
}
