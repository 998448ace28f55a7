"""What a commit holds, in Redis: a stream of events a program, the newest scores, and a channel for wake-ups.

``out:{programId}``             a stream. The id of an entry is ``ms-(seq << 20 | index)``: the log offset ``ms-seq`` of
                                the committed row, and its place among the events of that log entry. Fields: kind, event
``latest:{type}:{programId}:{id}``, ``latest:program:{programId}``  hashes of the newest score of each actor, program
``live:{programId}``            a channel; a message is the id of the newest entry

For the service alone: ``out:cursor`` has the offset up to which each shard is written, ``out:programs`` the time of
each stream's last write, and ``out:latest`` that of each hash.

Repeats   Entries and cursor are written in one script, which Redis executes as a whole. Ids only grow, so that Redis
          refuses an entry that is there. The cursor is behind the last log entry of which all events are written
Bounds    each stream by its number of entries and by their age; the hashes by age, and together by number
Unit      instants in microseconds; scores of the service's own sets in milliseconds
Errors    ``RedisError`` of the client; then nothing of that write is there, or all of it
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import redis

from clearhold.features.core.instants import HOUR_US, MILLISECOND_US, SECOND_US
from clearhold.features.live.payloads import LiveActorScore, LiveEvent, body_of
from clearhold.store.redis_log.reader import SEQ_BITS, SEQ_LIMIT

CURSOR: Final = "out:cursor"
PROGRAMS: Final = "out:programs"
LATEST: Final = "out:latest"
MOST_LATEST: Final = 100_000
"""Hashes of newest scores in all programs; beyond this the ones that were written first go."""

_PROGRAM: Final = "program"


def stream_key(program_id: str) -> str:
    return f"out:{program_id}"


def channel_of(program_id: str) -> str:
    return f"live:{program_id}"


def latest_key(subject_type: str, program_id: str, subject_id: str) -> str:
    place = f"latest:{subject_type}:{program_id}"
    return place if subject_type == _PROGRAM else f"{place}:{subject_id}"


def entry_id(offset: int, index: int) -> str:
    return f"{offset >> SEQ_BITS}-{(offset & (SEQ_LIMIT - 1)) << SEQ_BITS | index}"


def place_of(stream_id: str) -> tuple[int, int]:
    """The log offset and the index of an entry."""
    ms, _, seq = stream_id.partition("-")
    return int(ms) << SEQ_BITS | int(seq) >> SEQ_BITS, int(seq) & (SEQ_LIMIT - 1)


class LiveBounds(NamedTuple):
    """``most_entries`` of each stream; ``kept_us`` is the age at which entries and hashes end."""

    most_entries: int = 100_000
    kept_us: int = 72 * HOUR_US


# Arguments in order: most entries, oldest id, now in ms, seconds to keep, most hashes, three counts (streams, hashes,
# shards), then for each stream its program, the number of its events and their id, kind and body; for each hash its
# instant and six values; for each shard its number and offset. A script may be repeated: XADD refuses an id that is not
# above the last one, which is an error of that call alone.
_WRITE: Final = """
local place = 0
local function take() place = place + 1 return ARGV[place] end
local most, oldest, now, kept, most_hashes = take(), take(), tonumber(take()), take(), tonumber(take())
local streams, hashes, shards = tonumber(take()), tonumber(take()), tonumber(take())
local added = 0
for i = 1, streams do
  local program, events, newest = take(), tonumber(take()), nil
  local key = 'out:' .. program
  for _ = 1, events do
    local id, kind, event = take(), take(), take()
    local reply = redis.pcall('XADD', key, id, 'kind', kind, 'event', event)
    if not reply.err then newest = id added = added + 1
    elseif not string.find(reply.err, 'equal or smaller', 1, true) then return reply end
  end
  redis.call('XTRIM', key, 'MAXLEN', '~', most)
  redis.call('XTRIM', key, 'MINID', '~', oldest)
  redis.call('EXPIRE', key, kept)
  redis.call('ZADD', 'out:programs', now, program)
  if newest then redis.call('PUBLISH', 'live:' .. program, newest) end
end
local written = {}
for i = 1, hashes do
  local key = KEYS[i]
  written[2 * i - 1], written[2 * i] = now, key
  redis.call('HSET', key, 'score', take(), 'band', take(), 'n', take(), 'confidence', take(), 'version', take(),
    'at', take())
  redis.call('EXPIRE', key, kept)
end
if hashes > 0 then
  redis.call('ZADD', 'out:latest', unpack(written))
  redis.call('ZREMRANGEBYSCORE', 'out:latest', '-inf', '(' .. (now - kept * 1000))
  local over = redis.call('ZCARD', 'out:latest') - most_hashes
  if over > 0 then
    local gone = redis.call('ZPOPMIN', 'out:latest', over)
    for i = 1, #gone, 2 do redis.call('DEL', gone[i]) end
  end
end
for _ = 1, shards do redis.call('HSET', 'out:cursor', take(), take()) end
return added
"""


class LiveStreams:
    """Writes and trims; for one thread."""

    def __init__(self, client: redis.Redis, bounds: LiveBounds) -> None:
        self._client, self.bounds = client, bounds

    def cursors(self) -> dict[int, int]:
        """The offset up to which each shard is written; a shard that never was is absent."""
        stored = cast("dict[bytes, bytes]", self._client.hgetall(CURSOR))
        return {int(shard): int(offset) for shard, offset in stored.items()}

    def write(self, events: Sequence[LiveEvent], cursors: Mapping[int, int], now: int) -> int:
        """Write some hundred events at most, in order, and cursors of shards; returns the number of new entries."""
        entries: dict[str, list[str | bytes]] = {}
        newest: dict[str, LiveActorScore] = {}
        for event in events:
            of_program = entries.setdefault(event.program_id, [])
            of_program += (entry_id(event.offset, event.index), event.kind, body_of(event))
            if isinstance(event.data, LiveActorScore):
                newest[latest_key(event.data.subject_type, event.program_id, event.data.subject_id)] = event.data
        arguments: list[Any] = [
            self.bounds.most_entries,
            self._oldest(now),
            now // MILLISECOND_US,
            self.bounds.kept_us // SECOND_US,
            MOST_LATEST,
            *(len(entries), len(newest), len(cursors)),
        ]
        for program_id, of_program in entries.items():
            arguments += (program_id, len(of_program) // 3, *of_program)
        for score in newest.values():
            arguments += _fields_of(score)
        for place in cursors.items():
            arguments += place
        return int(cast("Any", self._client.eval(_WRITE, len(newest), *newest, *arguments)))

    def end_old(self, now: int) -> None:
        """Trim entries beyond their age from all streams, also from those without new entries."""
        oldest, before = self._oldest(now), (now - self.bounds.kept_us) // MILLISECOND_US
        with self._client.pipeline(transaction=False) as commands:
            for program_id in self._programs():
                commands.xtrim(stream_key(program_id), minid=oldest, approximate=False)
            commands.zremrangebyscore(PROGRAMS, "-inf", before)
            commands.zremrangebyscore(LATEST, "-inf", before)
            commands.execute()

    def halve(self) -> int:
        """Give back about half of the memory in use here; returns the number of entries and hashes that went."""
        programs = self._programs()
        with self._client.pipeline(transaction=False) as commands:
            for program_id in programs:
                commands.xlen(stream_key(program_id))
            commands.zcard(LATEST)
            *lengths, hashes = commands.execute()
            for program_id, length in zip(programs, lengths, strict=True):
                commands.xtrim(stream_key(program_id), maxlen=length // 2, approximate=False)
            commands.zpopmin(LATEST, (hashes + 1) // 2)
            *trimmed, popped = commands.execute()
            for key, _ in popped:
                commands.delete(key)
            commands.execute()
        return int(sum(trimmed)) + len(popped)

    def memory_share(self) -> float:
        """The memory that Redis uses, as a share of its limit; 0 without a limit."""
        memory = self._client.info("memory")
        limit = int(memory["maxmemory"])
        return int(memory["used_memory"]) / limit if limit else 0.0

    def _programs(self) -> list[str]:
        return [program.decode() for program in cast("list[bytes]", self._client.zrange(PROGRAMS, 0, -1))]

    def _oldest(self, now: int) -> str:
        return f"{max(0, now - self.bounds.kept_us) // MILLISECOND_US}-0"


def _fields_of(score: LiveActorScore) -> Iterable[str | int | float]:
    """In the order of the script; an empty text is null."""
    confidence = "" if score.confidence is None else score.confidence
    return ("" if score.score is None else score.score, score.band, score.n, confidence, score.version, score.scored_at)
