"""A person who can write to Redis decides nothing: a forged entry has no effect, and every report names it."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import pytest
from redis import Redis

from clearhold.api.cli.upkeep import inspected
from clearhold.features.core.log_entry import FORGED, EntryKind, LogEntry, shard_of
from clearhold.features.core.principal import KeyMode
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import ShardState
from clearhold.store.control.entries import ApiKeyEntry, ControlKind
from clearhold.store.data_dir import DataDir
from clearhold.store.keys import token_digest
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogReader, control_key, offset_of, shard_key, stream_id_of
from clearhold.store.seals import EntrySeals, number_of
from tests.api.cli.test_check import checked
from tests.flows.test_lost_log import rebuilt
from tests.support.alerting import ALERTING, outgoing
from tests.support.entries_of_kinds import bodies_of_kinds
from tests.support.lake import SHARDS, move_into_segments
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.used_bank import ALONE, Bank
from tests.support.waiting import eventually

SEALED = [kind for kind in EntryKind if kind is not EntryKind.BANK]
SECRET = "live_" + "A" * 43
FORGER = "the.cfo@bank.example"


class Used(NamedTuple):
    """A stopped bank with an open and a closed alert, and a body of each kind that would change it."""

    bank: Bank
    seals: EntrySeals
    bodies: Mapping[EntryKind, bytes]
    entries: list[LogEntry]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    bank = Bank(tmp_path_factory.mktemp("forged") / "data")
    tenant, program = bank.program["tenantId"], bank.program["id"]
    with RunningService(bank.data, *ALONE) as service:  # an alert that is open, for others to decide
        post_until_taken(service, bank.program, [outgoing("acht_open", **ALERTING)], within_s=60)
        wait_until_committed(service, bank.token, "acht_open")
        ids = [bank.get(service, f"/api/alerts?transferId={each}")["data"][0]["id"] for each in ("acht_open", "acht_0")]
    with redis_of(bank) as client, DataDir.open(bank.data) as data_dir:
        seals, shard = data_dir.entry_seals(), shard_of(program, SHARDS)
        entries = LogReader(client, [shard], seals=seals).range(shard, 0, 2**62, count=10_000)
    bodies = bodies_of_kinds(
        tenant_id=tenant,
        program_id=program,
        open_alert=ids[0],
        closed_alert=ids[1],
        transfer_id="acht_open",
        operator=FORGER,
        at=entries[-1].appended_at,
    )
    return Used(bank, seals, bodies, entries)


@pytest.fixture
def bank(used: Used, tmp_path: Path) -> Bank:
    return used.bank.copied(tmp_path)


@contextmanager
def redis_of(bank: Bank) -> Iterator[Redis]:
    """The Redis of a stopped service."""
    server = EmbeddedRedis(bank.data)
    server.start()
    try:
        with closing(connect_sync(server.socket_path)) as client:
            yield client
    finally:
        server.stop()


Forged = dict[tuple[str, int], str]
"""The kind of each forged entry, by the name of its stream in the lake and its offset."""


def forge(client: Redis, used: Used) -> Forged:
    """Entries of every kind, unsealed; genuine ones repeated, and under another alert; control entries."""
    tenant, program = used.bank.program["tenantId"], used.bank.program["id"]
    shard, control = shard_of(program, SHARDS), control_key(tenant)
    key, at, forged = shard_key(shard), str(used.entries[-1].appended_at).encode(), Forged()

    def add(stream: str, key: str, fields: Any) -> None:
        stream_id: Any = client.xadd(key, fields)
        forged[stream, offset_of(stream_id)] = fields[b"k"].decode()

    for kind in SEALED:
        add(f"shard={shard:02d}", key, {b"k": kind.encode(), b"p": program.encode(), b"t": at, b"b": used.bodies[kind]})
    sealed: list[dict[bytes, bytes]] = [fields for _, fields in entries_in(client, key) if b"s" in fields]
    for fields in {fields[b"k"]: fields for fields in sealed}.values():
        add(f"shard={shard:02d}", key, fields)  # the newest of its kind once more, as it is
        add(f"shard={shard:02d}", key, fields | {b"b": fields[b"b"] + b" "})
    decision = next(fields for fields in sealed if fields[b"k"] == b"decision")
    alert, opened = (msgspec.json.decode(body)["alertId"] for body in (decision[b"b"], used.bodies[EntryKind.DECISION]))
    add(f"shard={shard:02d}", key, decision | {b"b": decision[b"b"].replace(alert.encode(), opened.encode())})

    backdoor = ApiKeyEntry(
        id="11111111-1111-4111-8111-111111111111",
        name="back door",
        mode=KeyMode.LIVE,
        prefix=SECRET[:12],
        program_id=None,
        scopes=(),
        created_at="2026-03-02T15:00:00.000Z",
        created_by="operator:ann",
        secret_sha256=token_digest(SECRET),
    )
    api_key = {b"k": ControlKind.API_KEY.encode(), b"b": msgspec.json.encode(backdoor)}
    written = next(fields for _, fields in entries_in(client, control) if fields[b"k"] == ControlKind.PROGRAM.encode())
    add(f"tenant={tenant}", control, {b"p": b"", b"t": at} | api_key)
    add(f"tenant={tenant}", control, written | api_key)
    add(f"tenant={tenant}", control, written | {b"b": written[b"b"].replace(b'"Pay"', b'"Mine"')})
    add(f"tenant={tenant}", control, written)  # once more, as it is
    return forged


def entries_in(client: Redis, key: str) -> Any:
    return client.xrange(key)


def of_shard(forged: Forged) -> list[tuple[int, str]]:
    return sorted((offset, kind) for (stream, offset), kind in forged.items() if stream.startswith("shard="))


def shown(bank: Bank, service: RunningService) -> Any:
    """What the forger would have changed."""
    paths = ("dispositions", "alerts", "transfers", "programs", "policies", "keys", "actions", "labels", "agents")
    service.ask("GET", "/api/alerts", {"Authorization": f"Bearer {SECRET}"}, expect=401)
    assert bank.get(service, "/api/record/verify")["ok"]
    return [bank.get(service, f"/api/{path}") for path in paths]


def readiness(service: RunningService) -> tuple[str, int | None]:
    report = service.ask("GET", "/readyz", {})
    assert report["status"] == "ready"
    return report["components"]["log"], report.get("forgedEntries")


def assert_only_quarantined(bank: Bank, forged: Forged) -> None:
    """No table but that of the quarantine has a row of a forged entry."""
    (shard,) = {int(stream[6:]) for stream, _ in forged if stream.startswith("shard=")}
    offsets = [offset for offset, _ in of_shard(forged)]
    with closing(duckdb.connect(str(bank.data / "clearhold.duckdb"), read_only=True)) as database:
        tables = database.execute(
            "SELECT table_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name) "
            "WHERE column_name IN ('shard', 'offset') GROUP BY ALL HAVING count(DISTINCT column_name) = 2"
        ).fetchall()
        having = [
            name
            for (name,) in tables
            if database.execute(
                f'SELECT 1 FROM {name} WHERE shard = ? AND list_contains(?, "offset") LIMIT 1',  # noqa: S608 - a name of ours
                [shard, offsets],
            ).fetchall()
        ]
        quarantined = database.execute('SELECT "offset", kind, error FROM quarantine ORDER BY 1').fetchall()
    assert len(tables) > 10
    assert set(having) <= {"quarantine", "log_offsets"}
    assert quarantined == [(*each, FORGED) for each in of_shard(forged)]


def assert_named_by_check(bank: Bank, forged: Forged) -> None:
    named = {
        f"{stream}: the entry at {stream_id_of(offset)} ({kind}) was not applied. {FORGED}"
        for (stream, offset), kind in forged.items()
    }
    assert set(inspected(bank.data).problems) == named
    run = checked(bank.data)
    assert run.returncode == 1
    assert any(f"FAIL: {each}" in run.stderr for each in named)


def test_given_the_kinds_of_entries_then_each_that_has_a_seal_is_forged_here(used: Used) -> None:
    assert set(used.bodies) == set(SEALED)


@pytest.mark.parametrize("kind", SEALED)
def test_given_an_entry_of_each_kind_when_applied_then_it_has_an_effect_once_if_it_is_sealed_and_none_if_forged(
    used: Used, kind: EntryKind
) -> None:
    stream, program = shard_key(used.entries[0].shard), used.bank.program["id"]
    last, body = used.entries[-1], used.bodies[kind]
    number = max(number_of(entry) for entry in used.entries if entry.seal) + 1
    seal = used.seals.seal(stream, kind, program, last.appended_at, body, number=number)
    genuine = LogEntry(last.shard, last.offset + 1, kind, program, last.appended_at, body, seal)
    once_more = msgspec.structs.replace(genuine, offset=last.offset + 2)
    unsealed = msgspec.structs.replace(genuine, seal=b"")

    assert effect_of(used, [genuine])
    assert not effect_of(used, [unsealed])
    assert effect_of(used, [genuine, once_more]) == effect_of(used, [genuine, unsealed])


def effect_of(used: Used, entries: list[LogEntry]) -> tuple[Any, ...]:
    """How the entries change the program's state, and their rows, without those of the quarantine."""
    state, rows, stream = ShardState(used.entries[0].shard), list[Any](), shard_key(used.entries[0].shard)
    for entry in used.entries:
        state.apply(entry, rows.append)
    rows.clear()
    before = list(state.dump())[1:]
    for entry in entries:
        state.apply(used.seals.checked(stream, entry), rows.append)
    after = list(state.dump())[1:]
    effects = [row for row in rows if not isinstance(row, QuarantineRow)]
    return () if after == before and not effects else (after, effects)


@pytest.mark.parametrize("scorers", ["0", "1"])
def test_given_entries_forged_live_when_read_then_nothing_changes_and_they_are_named_also_after_a_restart_and_a_rebuild(
    used: Used, bank: Bank, scorers: str
) -> None:
    with RunningService(bank.data, "--scorers", scorers) as service:
        with closing(connect_sync(bank.data / "redis.sock")) as client:
            before = shown(bank, service)
            assert readiness(service) == ("up", None)
            forged = forge(client, used)
        eventually(lambda: (readiness(service)[1] or 0) >= len(of_shard(forged)))
        assert shown(bank, service) == before
        post_until_taken(service, bank.program, [outgoing("acht_later")], within_s=60)
        wait_until_committed(service, bank.token, "acht_later")
        before = shown(bank, service)
        lines = [line for line in service.log_lines if "forged_entry" in line]
        assert all(any(str(offset) in line for line in lines) for offset, _ in of_shard(forged)[: len(SEALED)])

    assert_only_quarantined(bank, forged)
    assert_named_by_check(bank, forged)
    move_into_segments(bank.data, Fraction(1))
    again = rebuilt(bank)
    assert again.returncode == 0, again.stderr
    assert_only_quarantined(bank, forged)
    assert_named_by_check(bank, forged)
    shutil.rmtree(bank.data / "checkpoints")
    with RunningService(bank.data, "--scorers", scorers) as service:
        assert shown(bank, service) == before
        assert readiness(service) == ("degraded", len(forged))


def test_given_entries_forged_before_a_start_when_started_then_nothing_changes_and_they_are_named(
    used: Used, bank: Bank
) -> None:
    with RunningService(bank.data, *ALONE) as service:
        before = shown(bank, service)
    with redis_of(bank) as client:
        forged = forge(client, used)

    with RunningService(bank.data, *ALONE) as service:
        assert shown(bank, service) == before
        assert readiness(service) == ("degraded", len(forged))
    assert_only_quarantined(bank, forged)
    assert_named_by_check(bank, forged)


def test_given_the_revocation_of_a_key_is_removed_when_started_then_it_is_back_and_named(bank: Bank) -> None:
    headers = bank.headers | {"Content-Type": "application/json"}
    tenant = bank.program["tenantId"]
    with RunningService(bank.data, *ALONE) as service:
        key = service.ask("POST", "/api/keys", headers, b'{"name":"k","mode":"live"}', expect=201)
        of_key = {"Authorization": f"Bearer {key['secret']}"}
        service.ask("GET", "/api/alerts", of_key)
        service.ask("DELETE", f"/api/keys/{key['id']}", headers)
        with closing(connect_sync(bank.data / "redis.sock")) as client:
            revocation, _ = entries_in(client, control_key(tenant))[-1]
            assert client.xdel(control_key(tenant), revocation) == 1
    run = checked(bank.data)

    with RunningService(bank.data, *ALONE) as service:
        service.ask("GET", "/api/alerts", of_key, expect=401)
        report = service.ask("GET", "/readyz", {})
        assert (report["components"]["log"], report["removedEntries"]) == ("degraded", 1)
        assert any("control_entries_removed" in line for line in service.log_lines)

    assert f"FAIL: tenant={tenant}: 1 of its entries, which the lake has, were removed from Redis." in run.stderr
    assert checked(bank.data).returncode == 0
