"""One attempt to deliver: the bytes to a checked address, and what the receiver's status says. Nothing else of its
answer is looked at or kept.

No redirects, no cookies, no proxy of the environment, no compression, one connection an attempt.

Unit    seconds
Errors  none: every failure is an outcome
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Final

import httpcore

from features.webhooks.delivery import Attempt, AttemptError, answered
from flows.webhooks.network import CONNECT_WITHIN_S, BlockedAddressError, UnresolvedError

ATTEMPT_WITHIN_S: Final = 15.0
READ_BYTES: Final = 4_096
"""As much of an answer's body is read, so that its sender can end it; it is thrown away."""

READ_WITHIN_S: Final = 1.0
_TIMEOUTS: Final = {"connect": CONNECT_WITHIN_S}


@cache
def _usual_authorities() -> ssl.SSLContext:
    return httpcore.default_ssl_context()


class Sender:
    """Belongs to one event loop. ``certificates`` None: the usual authorities."""

    def __init__(self, network: httpcore.AsyncNetworkBackend, *, certificates: ssl.SSLContext | None = None) -> None:
        self._network = network
        self._certificates = certificates or _usual_authorities()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        """POST the body; what came of it within the time that an attempt has."""
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                return await self._post(url, headers, body)
        except (TimeoutError, httpcore.TimeoutException):
            return Attempt(None, AttemptError.TIMEOUT)
        except UnresolvedError:
            return Attempt(None, AttemptError.DNS)
        except BlockedAddressError:
            return Attempt(None, AttemptError.BLOCKED_ADDRESS)
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            return Attempt(None, AttemptError.TLS if _is_of_tls(error) else AttemptError.CONNECTION)

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        target = httpcore.URL(url)
        connection = httpcore.AsyncHTTPConnection(
            target.origin, ssl_context=self._certificates, network_backend=self._network
        )
        async with (
            connection,
            connection.stream(
                "POST",
                target,
                headers=[*headers.items(), ("Connection", "close")],
                content=body,
                extensions={"timeout": _TIMEOUTS},
            ) as response,
        ):
            await _read_a_little(response)
            return answered(response.status)


async def _read_a_little(response: httpcore.Response) -> None:
    """The status has decided; whatever goes wrong with the rest of the answer changes nothing."""
    size = 0
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            async for part in response.aiter_stream():
                size += len(part)
                if size >= READ_BYTES:
                    return
    except (TimeoutError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        return


def _is_of_tls(error: BaseException | None) -> bool:
    """Whether the handshake failed, or the certificate is not the host's."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
