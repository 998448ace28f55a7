"""Ingest of bank events: verify the raw bytes, read the envelope, append, answer.

``data`` is not read here: anything unusual in it is stored, and the flow deals with it.

Errors  UnauthorizedError, one sentence for everything that does not prove the sender; InvalidRequestError for an
        envelope that cannot be used; UnavailableError when the log could not make the event durable
"""

import asyncio
import hmac
import re
from typing import Any, Final

import msgspec

from api.http.envelope import header_values
from api.ingest.duplicate_keys import has_duplicate_keys
from api.log.pending_entries import EventKey, PendingEntries
from features.core.errors import InvalidRequestError, UnauthorizedError
from features.core.instants import parse_instant
from features.core.log_entry import EntryKind
from features.shard.questions import Owner, SeenEvent
from store.clock import Clock
from store.control.credentials import IngestTarget
from store.control.tenancy import Tenancy
from store.redis_log.appender import LogAppender

UNVERIFIED: Final = "The event's signature could not be verified."
MAX_ID_LENGTH: Final = 255

_SIGNATURE: Final = re.compile(rb"[0-9A-Fa-f]{64}")
_NO_SECRETS: Final = (b"a key of no program", b"and another: a program has two at most")
_LABEL: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,255}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


class BankEnvelope(msgspec.Struct, frozen=True, gc=False):
    """The part of a bank event that taking it in needs; ``data`` stays bytes."""

    id: str
    type: str
    created_at: str
    data: msgspec.Raw = msgspec.Raw()


_ENVELOPES: Final = msgspec.json.Decoder(BankEnvelope)


class IngestService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self, *, tenancy: Tenancy, log: LogAppender, owner: Owner, pending: PendingEntries, clock: Clock
    ) -> None:
        self._tenancy, self._log, self._owner, self._pending, self._clock = tenancy, log, owner, pending, clock
        self._appending: dict[EventKey, asyncio.Future[bool]] = {}

    async def take(self, program_id: str, scope: Any, raw: bytes) -> bool:
        """Make one event durable; True when it already was, and nothing was appended."""
        target = self._verified(program_id, scope, raw)
        key = (target.program_id, read_envelope(raw).id)
        while (other := self._appending.get(key)) is not None:
            if await asyncio.shield(other):
                return True
        return await self._taken(target, key, raw)

    def _verified(self, program_id: str, scope: Any, raw: bytes) -> IngestTarget:
        """The program, once the sender has proved to know its secret.

        A refusal takes the same time for an unknown program as for a known one with one secret or two.
        """
        target = self._tenancy.ingest_targets.find(program_id)
        now = self._clock.now()
        secrets = [] if target is None else [each.value.encode() for each in target.secrets if each.is_valid(now)]
        sent = header_values(scope, b"bank-signature")
        well_formed = len(sent) == 1 and _SIGNATURE.fullmatch(sent[0]) is not None
        signature = bytes.fromhex(sent[0].decode("ascii")) if well_formed else b""
        proved = [hmac.compare_digest(hmac.digest(secret, raw, "sha256"), signature) for secret in secrets]
        if target is None or not any(proved):
            for secret in _NO_SECRETS[len(proved) :]:
                hmac.digest(secret, raw, "sha256")
            raise UnauthorizedError(UNVERIFIED)
        endpoint = target.webhook_endpoint_id
        if endpoint is not None and header_values(scope, b"webhook-endpoint-id") != [endpoint.encode()]:
            raise UnauthorizedError(UNVERIFIED)
        return target

    async def _taken(self, target: IngestTarget, key: EventKey, raw: bytes) -> bool:
        """Append for all requests that wait for this event, unless it is known; if it fails, the next of them tries."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._appending[key] = done
        stored = False
        try:
            stored = self._pending.holds(key) or (await self._owner.query(key[0], SeenEvent(key[1]))).value
            if stored:
                return True
            now = self._clock.now()
            offset = await self._log.append(target.shard, EntryKind.BANK, target.program_id, now, raw)
            self._pending.add(target.shard, offset, now, key)
            stored = True
            return False
        finally:
            del self._appending[key]
            done.set_result(stored)


def read_envelope(raw: bytes) -> BankEnvelope:
    """The envelope of a verified body, when it can be used."""
    try:
        raw.decode()
        envelope = _ENVELOPES.decode(raw)
        is_ambiguous = has_duplicate_keys(raw, envelope.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidRequestError(
            "Validation failed: body must be a JSON object with strings id, type and created_at, well formed throughout"
        ) from None
    if is_ambiguous:
        raise InvalidRequestError("Validation failed: body must name id, type, created_at and data once each")
    for name in ("id", "type"):
        if not _LABEL.fullmatch(getattr(envelope, name)):
            raise InvalidRequestError(
                f"Validation failed: {name} must have 1-{MAX_ID_LENGTH} characters and no control characters"
            )
    at = parse_instant(envelope.created_at) if _MOMENT.fullmatch(envelope.created_at) else None
    if at is None or at < 0:
        raise InvalidRequestError(
            "Validation failed: created_at must be an RFC 3339 date-time with an offset, from 1970 on"
        )
    return envelope
