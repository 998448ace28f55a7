"""The opened stores of a process. Nothing is opened or started here."""

import duckdb
import msgspec
import redis.asyncio

from clearhold.features.shard.questions import Owner
from clearhold.store.clock import Clock
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.credentials import KeyUsage
from clearhold.store.control.registry import Registry
from clearhold.store.ids import IdFactory
from clearhold.store.keys.secrets import SecretBox
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.record.checkpoints import CheckpointLog, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import RedisMemory
from clearhold.store.redis_log.offsets import LogProgress
from clearhold.store.redis_log.reader import LogReader


class RecordStores(msgspec.Struct, frozen=True, kw_only=True):
    """The stores of the record beside the chains themselves."""

    signing_keys: SigningKeys
    checkpoint_log: CheckpointLog
    checkpoints: RecordCheckpoints
    verifications: LastVerifications


class Stores(msgspec.Struct, frozen=True, kw_only=True):
    """``owner`` answers queries on program state, ``hot`` is Redis on the event loop, ``process`` the id of
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

    @property
    def credentials(self) -> CredentialRegistry:
        return CredentialRegistry(self.registry, box=self.box, clock=self.clock, new_id=self.new_id)
