"""The work of ``clearhold join``: a data directory for a further node of a log, from a sealed backup of its owner.

registered as a member, so that nothing more is trimmed ─▶ backup ─▶ directory ─▶ database, from the log

Errors  ``FAILURES``; the folder is then empty, and the node no member
"""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import httpx
from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rich.console import Console

from clearhold.api.cli.upkeep import FAILURES as UPKEEP_FAILURES
from clearhold.api.settings import setting
from clearhold.flows.commit.linking import NO_LINKS, followed_link_log
from clearhold.flows.rebuild import Rebuilt, WaitingDeliveries, rebuild
from clearhold.flows.webhooks.outbox import WebhookCounts, WebhookOutbox
from clearhold.store.backup import OPEN_DELIVERIES, PASSING, unpacked
from clearhold.store.clock import SystemClock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.data_dir import DataDir, LogIdentity, read_layout
from clearhold.store.errors import StartupError
from clearhold.store.keys import SecretBox
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.nodes.joined import mark_joined
from clearhold.store.nodes.members import JOINING, Member, covered_of, leave, report_member
from clearhold.store.nodes.sealed_files import unseal_files
from clearhold.store.nodes.shared_keys import KeysInLog, opened_keys
from clearhold.store.redis_log.connect import check_external, connect_sync
from clearhold.store.redis_log.links import LINKS_BASE
from clearhold.store.redis_log.owner import node_of
from clearhold.store.redis_log.reader import LogReader, identity_in

FAILURES: Final = (*UPKEEP_FAILURES, RedisError)
TIMEOUT: Final = httpx.Timeout(60, read=3_600)  # the owner takes the backup before it sends the first byte

_NO_FUNCTIONS: Final = "Function not found"
_MOST_ERROR_BYTES: Final = 4_096


class JoinedNode(NamedTuple):
    """The node of the new directory, and how its database was made."""

    node: str
    rebuilt: Rebuilt


def joined_directory(url: str, data: Path, master_key: Path | None) -> JoinedNode:
    """Make the directory ``data`` of a further node of the log in CLEARHOLD_REDIS_URL, from its owner at ``url``."""
    redis_url, token = setting("redis_url", os.environ), setting("admin_token", os.environ)
    key_path = master_key or setting("master_key_file", os.environ)
    if redis_url is None:
        raise StartupError("CLEARHOLD_REDIS_URL is not set: only a log in a named Redis has further nodes.")
    if token is None:
        raise StartupError("CLEARHOLD_ADMIN_TOKEN is not set: the owner gives its backup to that token alone.")
    if key_path is None:
        raise StartupError("The master key is never sent: name your copy of it with --master-key.")
    if data.exists() and any(data.iterdir()):
        raise StartupError(f"{data} is not empty. A node joins with a new or an empty folder.")
    with closing(connect_sync(redis_url)) as client:
        check_external(client)
        identity = identity_in(client)
        if identity is None:
            raise StartupError("The Redis at CLEARHOLD_REDIS_URL holds no log. Start its owner first.")
        if not client.exists(LINKS_BASE):
            raise StartupError(NO_LINKS)
        with _joining(client, data, identity) as node:
            rebuilt = _built(client, redis_url, identity, data, url, token, key_path, is_inside=master_key is not None)
        return JoinedNode(node, rebuilt)


@contextmanager
def _joining(client: Redis, data: Path, identity: LogIdentity) -> Iterator[str]:
    """The node is a member before its backup is taken, and needs the whole log; after an error it is no member."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    node = node_of(data).id
    address = f"{socket.gethostname()} (joining)"
    covered = covered_of({}, identity.shards)
    member = Member(address=address, role=JOINING, version=version("clearhold"), covered=covered)
    try:
        report_member(client, node, member)
        yield node
    except BaseException as error:
        leave(client, node)
        shutil.rmtree(data)
        data.mkdir(mode=0o700)
        if isinstance(error, ResponseError) and _NO_FUNCTIONS in str(error):
            raise StartupError("The log in CLEARHOLD_REDIS_URL has no owner yet. Start its service first.") from error
        raise


def _built(
    client: Redis,
    redis_url: str,
    identity: LogIdentity,
    data: Path,
    url: str,
    token: str,
    key_path: Path,
    *,
    is_inside: bool,
) -> Rebuilt:
    screen = Console(stderr=True)
    received = data.with_name(f"{data.name}.{PASSING}")
    shutil.rmtree(received, ignore_errors=True)
    try:
        with screen.status("receiving the backup of the owner"):
            _receive(url, token, received, key_path.read_bytes())
        if read_layout(received).log_id != identity.log_id:
            raise StartupError(f"The service at {url} has another log than the Redis at CLEARHOLD_REDIS_URL.")
        own_key = key_path if is_inside else None
        with unpacked(received, data, master_key=own_key, is_elsewhere=not is_inside, of_same_log=True):
            waiting = received / OPEN_DELIVERIES
            rebuilt = _rebuilt(client, redis_url, data, None if is_inside else key_path, token, waiting, screen)
            mark_joined(data)
    finally:
        shutil.rmtree(received, ignore_errors=True)
    return rebuilt


def _receive(url: str, token: str, folder: Path, master_key: bytes) -> None:
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "clearhold join"}
    folder.mkdir(mode=0o700)
    try:
        with httpx.stream("GET", f"{url.rstrip('/')}/api/admin/backup", headers=headers, timeout=TIMEOUT) as answer:
            if answer.status_code != httpx.codes.OK:
                answer.read()
                text = answer.text[:_MOST_ERROR_BYTES].strip()
                raise StartupError(f"The service at {url} gives no backup: {answer.status_code} {text}")
            unseal_files(answer.iter_bytes(), folder, master_key)
    except httpx.HTTPError as error:
        raise StartupError(f"The service at {url} does not answer ({error}). Does it run?") from error


def _rebuilt(
    client: Redis,
    redis_url: str,
    data: Path,
    master_key: Path | None,
    token: str,
    waiting: Path,
    screen: Console,
) -> Rebuilt:
    with ExitStack() as opened:
        data_dir = opened.enter_context(DataDir.open(data, master_key=master_key, is_restoring=True))
        data_dir.admin_token(lambda: token)  # the bank's administrators have one token for all nodes
        seals = data_dir.entry_seals()
        reader = LogReader(client, range(data_dir.shards), seals=seals)
        segments = LogSegments(data_dir.lake_dir, seals=seals)
        box, in_log = SecretBox(data_dir.master_key()), KeysInLog(client)
        keys = opened_keys(data_dir.signing_keys_path, box=box, clock=SystemClock(), in_log=in_log)
        tenancy = Tenancy(box=box, shards=data_dir.shards)
        tenancy.load(reader.control())
        outbox = WebhookOutbox(tenancy, clock=SystemClock(), counts=WebhookCounts())
        link_log = followed_link_log(redis_url, opened, replicas=setting("redis_replicas", os.environ) or 0)
        with screen.status("making the database") as status:
            return rebuild(
                data_dir,
                reader,
                segments,
                keys,
                clock=SystemClock(),
                on_progress=lambda shard, entries: status.update(f"shard {shard}: {entries:,} entries applied"),
                link_log=link_log,
                waiting=WaitingDeliveries(waiting, outbox.deliveries_for),
            )
