"""The decisions and the actions on an alert."""

from anyio import to_thread

from clearhold.api.actions.schemas import Action, to_action
from clearhold.api.dispositions.schemas import Disposition, to_disposition
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.principal import Principal
from clearhold.store.duck.actions import Actions
from clearhold.store.duck.dispositions import Dispositions


class AlertHistory:
    def __init__(self, *, programs: ProgramService, dispositions: Dispositions, actions: Actions) -> None:
        self._programs, self._dispositions, self._actions = programs, dispositions, actions

    async def dispositions(self, principal: Principal, alert_id: str) -> tuple[Disposition, ...]:
        """The decisions on one alert, oldest first."""
        stored = await to_thread.run_sync(self._dispositions.of_alert, principal, alert_id)
        return tuple(self._programs.marked(to_disposition(each), each.row.program_id) for each in stored)

    async def actions(self, principal: Principal, alert_id: str) -> tuple[Action, ...]:
        """The actions on one alert, as they stand, oldest first."""
        stored = await to_thread.run_sync(self._actions.of_alert, principal, alert_id)
        return tuple(self._programs.marked(to_action(each), each.row.program_id) for each in stored)
