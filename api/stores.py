"""The stores of a process, opened, as everything above them reaches them. Nothing is opened or started here."""

import duckdb
import msgspec
import redis.asyncio

from features.shard.questions import Owner
from store.clock import Clock
from store.control.key_usage import KeyUsage
from store.control.registry import Registry
from store.ids import IdFactory
from store.keys.secrets import SecretBox
from store.keys.signing_keys import SigningKeys
from store.lake.control_copy import ControlCopy
from store.lake.log_segments import LogSegments
from store.record.checkpoint_log import CheckpointLog
from store.record.checkpoints import RecordCheckpoints
from store.record.verification import LastVerifications
from store.redis_log.appender import LogAppender
from store.redis_log.memory import RedisMemory
from store.redis_log.progress import LogProgress
from store.redis_log.reader import LogReader


class RecordStores(msgspec.Struct, frozen=True, kw_only=True):
    """The stores of the record beside the chains themselves."""

    signing_keys: SigningKeys
    checkpoint_log: CheckpointLog
    checkpoints: RecordCheckpoints
    verifications: LastVerifications


class Stores(msgspec.Struct, frozen=True, kw_only=True):
    """``owner`` answers for the state of programs, ``hot`` is Redis as the event loop reaches it, ``process`` an id of
    this run.
    """

    clock: Clock
    new_id: IdFactory
    owner: Owner
    progress: LogProgress
    box: SecretBox
    process: str
    hot: redis.asyncio.Redis
    memory: RedisMemory
    key_usage: KeyUsage
    registry: Registry
    appender: LogAppender
    reader: LogReader
    segments: LogSegments
    control_copy: ControlCopy
    database: duckdb.DuckDBPyConnection
    record: RecordStores
