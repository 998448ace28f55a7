"""An alert that waits for a person's decision, as it is kept in memory."""

import msgspec

from clearhold.features.core.vocabulary import WAITING


class WaitingAlertColumns(msgspec.Struct, frozen=True, gc=False):
    """The columns of an alert that lists filter and sort by, and of which stacks have their figures."""

    tenant_id: str
    program_id: str
    id: str
    offset: int
    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    score_at_alert: int | None
    band_at_alert: str | None
    hard_signal: bool
    status: str
    route: str
    sla_tier: str
    opened_at: int
    due_at: int | None
    updated_at: int
    from_history: bool
    queue_rank: int
    stack_id: str | None
    stack_kind: str | None
    stack_key: str | None


class WaitingAlert(WaitingAlertColumns, frozen=True, gc=False):
    """With its assignee, empty while it is unassigned."""

    assignee: str = ""

    @property
    def waits(self) -> bool:
        return self.status in WAITING

    @property
    def is_new(self) -> bool:
        """Whether this is the alert as it opened."""
        return self.updated_at == self.opened_at
