"""A program with its history, scored and recorded, for whoever scores it again."""

import json
from pathlib import Path
from typing import Final

import msgspec
import pytest
import redis

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Program
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from tests.flows.backfill.backfill_room import PROGRAM, TENANT, BackfillRoom
from tests.flows.engine_room import EngineRoom, append
from tests.support.told_owners import owners_told

UNTIL: Final = 1_780_000_000_000_000
EVENTS: Final = 1_500


@pytest.fixture(scope="module")
def log_bodies() -> list[bytes]:
    """The program's declaration, then its events in the order of their own time."""
    declared = Program(id=PROGRAM, tenant_id=TENANT, slug="p", name="P", declared_rails=("ach",))
    bank = SimulatedBank(3)
    history = [each.body for each in bank.history(UNTIL) if each.program == "remittance"][:EVENTS]
    history.sort(key=lambda body: str(json.loads(body)["created_at"]))
    owners = owners_told(bank, "remittance", at=UNTIL - 120 * DAY_US)
    return [msgspec.json.encode(declared), *owners, *history]


@pytest.fixture
def room(tmp_path: Path, redis_server: EmbeddedRedis, log_redis: redis.Redis, log_bodies: list[bytes]) -> BackfillRoom:
    """A program with its history, scored and recorded."""
    room = EngineRoom(tmp_path, lambda: connect_sync(redis_server.socket_path))
    append(log_redis, PROGRAM, log_bodies[:1], EntryKind.PROGRAM)
    append(log_redis, PROGRAM, log_bodies[1:])
    with room.running():
        pass
    return BackfillRoom(room, redis_server.socket_path)
