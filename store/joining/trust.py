"""Checks of an existing record at the start: the keys that signed it, and the results of the newest decisions.

A checkpoint covers earlier links. Later decisions, and steps of actions, are still in the log's newest part, so a
deleted row or link of one is detected there.

Errors  ``StartupError``, one sentence that says what to do
"""

from collections.abc import Mapping
from typing import Final

import duckdb
import msgspec

from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.store.clock import Clock
from clearhold.store.data_dir import DataDir
from clearhold.store.errors import StartupError
from clearhold.store.keys.key_schedule import KeyPurpose
from clearhold.store.keys.secrets import SecretBox
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.record.checkpoint_log import CheckpointLog
from clearhold.store.record.notes import NoteError, opened_note
from clearhold.store.redis_log.reader import LogReader

PAGE_ENTRIES: Final = 5_000
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_HAS_LINKS: Final = "SELECT count(*) > 0 FROM record_chain"
_NEWEST_NOTES: Final = """
    SELECT tenant_id, chain, arg_max(note, created_at) FROM record_checkpoints GROUP BY ALL ORDER BY ALL
"""
_WHOLE: Final = f"""
    SELECT id FROM decision_results r WHERE id = ? AND (result <> '{EntryResult.MADE}' OR {{has_rows}})
    UNION ALL SELECT 'quarantined' FROM quarantine WHERE shard = ? AND "offset" = ?
"""
_HAS_DISPOSITION: Final = """
    (disposition_id IN (SELECT id FROM record_chain) AND disposition_id IN (SELECT id FROM dispositions))
"""
_HAS_STEP: Final = """
    ((shard, "offset") IN (SELECT (shard, "offset") FROM record_chain WHERE chain = 'actions')
        AND (shard, "offset") IN (SELECT (shard, "offset") FROM actions))
"""
_WHOLE_BY_KIND: Final[Mapping[str, str]] = {
    EntryKind.DECISION: _WHOLE.format(has_rows=_HAS_DISPOSITION),
    **dict.fromkeys((EntryKind.ACTION, EntryKind.APPROVAL, EntryKind.OUTCOME), _WHOLE.format(has_rows=_HAS_STEP)),
}


class _WithId(msgspec.Struct):
    id: str


_ID: Final = msgspec.json.Decoder(_WithId)


def open_signing_keys(
    data_dir: DataDir, database: duckdb.DuckDBPyConnection, *, box: SecretBox, clock: Clock
) -> SigningKeys:
    """The keys that sign the record, minted only if there are no keys yet."""
    path = data_dir.signing_keys_path
    CheckpointLog(database, data_dir.record_dir).open()
    with database.cursor() as cursor:
        notes = cursor.execute(_NEWEST_NOTES).fetchall()
        (has_links,) = cursor.execute(_HAS_LINKS).fetchall()[0]
    if (notes or has_links) and not path.exists():
        raise StartupError(
            f"{path} is missing, and the record of {data_dir.path} was signed with its keys. Put your copy of it back."
        )
    public_keys = SigningKeys.open(path, box=box, clock=clock, purposes=()).public_keys(KeyPurpose.CHECKPOINT)
    for tenant_id, chain, note in notes:
        try:
            opened_note(note, public_keys)
        except NoteError as error:
            raise StartupError(
                f"{path} does not hold the key that signed the chain {chain} of tenant {tenant_id}. Put your copy of "
                "that file back."
            ) from error
    return SigningKeys.open(path, box=box, clock=clock, purposes=KeyPurpose)


def check_decisions(reader: LogReader, database: duckdb.DuckDBPyConnection, committed: Mapping[int, int]) -> None:
    """Each committed decision, and step of an action, that Redis still has must have its result, and a successful one
    its row and link.
    """
    for shard, upto in committed.items():
        after = 0
        while page := reader.range(shard, after, upto, count=PAGE_ENTRIES):
            for entry in page:
                if entry.kind in _WHOLE_BY_KIND and not _is_whole(database, entry):
                    noun = "a decision" if entry.kind == EntryKind.DECISION else "a step of an action"
                    raise StartupError(
                        f"The log holds {noun}, at {entry.offset} of shard {shard}, that database and record do not: "
                        "rows were deleted. Run clearhold rebuild --data DIR, which makes them again from the log."
                    )
            after = page[-1].offset


def _is_whole(database: duckdb.DuckDBPyConnection, entry: LogEntry) -> bool:
    try:
        decision_id = _ID.decode(entry.body).id
    except msgspec.MsgspecError:
        decision_id = ""  # then it was quarantined
    with database.cursor() as cursor:
        values = [decision_id, entry.shard, entry.offset]
        return bool(cursor.execute(_WHOLE_BY_KIND[entry.kind], values).fetchall())
