"""The members of a log in a named Redis: the services that own it or follow it, and the entries that each still needs.

member ─▶ hash ``log:members``: node ─▶ when it was seen, by Redis' clock, and its report

Redis is trimmed only behind what every member has in its own segments and snapshots: the server function that trims
compares both, so a member that joins in the same moment is safe too. A member that is silent for ``SILENT_S`` is
dropped, and learns at its next start from the offsets of the trims that it must join again.

Errors  the client's errors while Redis does not answer; ``StartupError`` for a member that lacks trimmed entries
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec
import redis
import structlog

from clearhold.features.core.instants import SECOND_US
from clearhold.store.errors import StartupError
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.reader import TRIMMED
from clearhold.store.redis_log.writes import MEMBERS, OWNER

SILENT_S: Final = 24 * 60 * 60
"""The silence after which a member no longer holds up the trims."""

OWNING: Final = "owner"
FORMER: Final = "former owner"
"""The role of an owner that ended without a last report."""

JOINING: Final = "joining"
"""The role of a node whose directory is being made."""

log = structlog.get_logger()


class Member(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node's report. ``covered`` has, for each shard, the offset up to which the node needs nothing from Redis, in 19
    digits: the server compares them as texts, because its numbers are inexact beyond 2**53. ``links`` is the same of
    the stream of links, ``behind_s`` the age of the oldest entry of the log that the node has not committed.
    """

    address: str
    role: str
    version: str
    covered: tuple[str, ...]
    links: int = 0
    behind_s: float | None = None


class SeenMember(NamedTuple):
    """A member, and the time of its newest report by the clock of Redis, in microseconds."""

    node: str
    seen_at: int
    report: Member


_MEMBER: Final = msgspec.json.Decoder(Member)


def covered_of(offsets: Mapping[int, int], shards: int) -> tuple[str, ...]:
    """The field ``covered`` for these offsets; a shard without one needs everything."""
    return tuple(f"{offsets.get(shard, 0):019d}" for shard in range(shards))


def report_member(client: redis.Redis, node: str, member: Member) -> None:
    """Write a node's report."""
    client.execute_command("FCALL", "clearhold_member", 1, MEMBERS, node, msgspec.json.encode(member))


def leave(client: redis.Redis, node: str) -> bool:
    """Drop a member that needs nothing more; True if it was one."""
    return bool(client.hdel(MEMBERS, node))


def members_of(client: redis.Redis) -> list[SeenMember]:
    """All members, by node; one of them at most has the role of the owner."""
    stored: dict[bytes, bytes] = client.execute_command("HGETALL", MEMBERS)
    owner: bytes | None = client.execute_command("HGET", OWNER, "node")
    members = []
    for node, value in sorted(stored.items()):
        seen_ms, _, body = value.partition(b" ")
        report = _MEMBER.decode(body)
        if report.role == OWNING and node != owner:
            report = msgspec.structs.replace(report, role=FORMER)
        members.append(SeenMember(node.decode(), int(seen_ms) * 1_000, report))
    return members


def now_of(client: redis.Redis) -> int:
    """The time by the clock of Redis, in microseconds."""
    seconds, micros = client.time()
    return int(seconds) * SECOND_US + int(micros)


def drop_silent(client: redis.Redis, ownership: LogOwnership, *, silent_s: float = SILENT_S) -> list[str]:
    """Drop the members that have been silent for ``silent_s`` seconds; returns their nodes. For the owner."""
    dropped, now = [], now_of(client)
    for node, seen_at, report in members_of(client):
        if now - seen_at < silent_s * SECOND_US or node == ownership.node.id:
            continue
        call = ("FCALL", "clearhold_drop_member", 2, OWNER, MEMBERS, ownership.epoch, node, seen_at // 1_000)
        if client.execute_command(*call):
            log.warning("member_dropped", node=node, address=report.address, silent_s=(now - seen_at) // SECOND_US)
            dropped.append(node)
    return dropped


def require_kept(client: redis.Redis, covered: Mapping[int, int], *, shards: int) -> None:
    """Refuse a member that lacks trimmed entries; it must have reported ``covered`` before."""
    trimmed = {int(shard): int(upto) for shard, upto in client.hgetall(TRIMMED).items()}
    lacking = [shard for shard in range(shards) if trimmed.get(shard, 0) > covered.get(shard, 0)]
    if lacking:
        named = ", ".join(f"{shard:02d}" for shard in lacking)
        raise StartupError(
            f"The log no longer has entries that this node lacks, in the shards {named}: it was silent for a day or "
            "more, and is no longer a member. Empty the directory and run clearhold join again."
        )


class Membership:
    """This node's place among the members of its log. For one thread at a time."""

    def __init__(self, client: redis.Redis, ownership: LogOwnership, *, shards: int, version: str) -> None:
        """``client`` belongs to it; ``version`` is that of this service."""
        self._client, self._ownership, self._shards, self._version = client, ownership, shards, version
        self.role: Callable[[], str] = lambda: OWNING

    def begin(self, covered: Mapping[int, int]) -> None:
        """Become a member before the log is read; StartupError when it was trimmed beyond ``covered``, one offset of
        each shard.
        """
        self.report(covered, behind_s=None)
        require_kept(self._client, covered, shards=self._shards)

    def report(self, covered: Mapping[int, int], *, behind_s: float | None, links: int = 0) -> None:
        """State what this node needs of the log, and how far it is behind."""
        member = Member(
            address=self._ownership.address,
            role=self.role(),
            version=self._version,
            covered=covered_of(covered, self._shards),
            links=links,
            behind_s=behind_s,
        )
        report_member(self._client, self._ownership.node.id, member)

    def bounds(self) -> list[int]:
        """For the owner: the offset of each shard up to which no member needs its entries. Members that are silent for
        too long are dropped.
        """
        drop_silent(self._client, self._ownership)
        covered = [member.report.covered for member in members_of(self._client)]
        return [min((int(each[shard]) for each in covered), default=0) for shard in range(self._shards)]

    def links_bound(self) -> int:
        """For the owner: the entry of the log of links up to which no member needs one."""
        return min((member.report.links for member in members_of(self._client)), default=0)
