"""An answer of the bank's directory applied to the program, with the functions for the bank's events on parties.

An object counts as the bank's statement at its own ``updated_at``, else at the instant of the request: a newer event of
the bank stays in force. An object with another id than the requested one changes nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from clearhold.features.bank.events import ANY_DECODER
from clearhold.features.bank.parties import account_id_of, counterparty_id_of, entity_id_of
from clearhold.features.core.entries.directory import DirectoryEntry, DirectoryKind, DirectoryResult
from clearhold.features.core.log_entry import Emit, EntryPosition, LogEntry, event_time
from clearhold.features.core.rows.parties import DirectoryRow
from clearhold.features.parties.party_rows import apply_account_event, apply_counterparty_event, apply_entity_event
from clearhold.features.state.program import ProgramState

Data = dict[str, Any]

_OBJECT: Final = ""  # in place of an event's suffix, which has no effect here


def apply_directory_entry(program: ProgramState, entry: DirectoryEntry, logged: LogEntry, emit: Emit) -> None:
    """Apply the object if there is one, and record the fetch."""
    fetched_at = event_time(entry.fetched_at, appended_at=logged.appended_at)
    result = entry.result
    if result is DirectoryResult.FOUND:
        position = EntryPosition(logged.shard, logged.offset, fetched_at, logged.appended_at)
        result = _apply_object(program, entry, position, emit)
    emit(
        DirectoryRow(
            tenant_id=program.tenant_id,
            program_id=program.id,
            kind=entry.kind.value,
            id=entry.id,
            shard=logged.shard,
            offset=logged.offset,
            fetched_at=fetched_at,
            result=result.value,
            digest=entry.digest if result is entry.result else None,
        )
    )


def _apply_object(program: ProgramState, entry: DirectoryEntry, position: EntryPosition, emit: Emit) -> DirectoryResult:
    data = ANY_DECODER.decode(entry.data)
    apply, id_of = _OF_KIND[entry.kind]
    if not isinstance(data, dict) or data.get("id") != entry.id or id_of(data) != entry.id:
        return DirectoryResult.UNUSABLE
    apply(program, _OBJECT, data, entry.data, position, emit)
    return DirectoryResult.FOUND


_Apply = Callable[[ProgramState, str, Data, msgspec.Raw, EntryPosition, Emit], object]

_OF_KIND: Final[Mapping[DirectoryKind, tuple[_Apply, Callable[[Data], str | None]]]] = {
    DirectoryKind.ACCOUNT: (apply_account_event, account_id_of),
    DirectoryKind.ENTITY: (apply_entity_event, entity_id_of),
    DirectoryKind.COUNTERPARTY: (apply_counterparty_event, counterparty_id_of),
}
"""How an object is applied, and the id under which it would be stored: objects may state it in more than one field."""
