"""The settings of ``clearhold serve``: options of the command and variables of the environment."""

import os
import re
import sys
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, urlsplit

import msgspec

from clearhold.api.http.operation import RateClass
from clearhold.api.http.origins import Origins
from clearhold.api.http.rate_limits import DEFAULT_LIMITS, RATE_LIMITS, limits_of
from clearhold.api.telemetry.program_collector import MOST_PROGRAMS
from clearhold.store.data_dir import StartupError

ADMIN_TOKEN: Final = "CLEARHOLD_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
MASTER_KEY_FILE: Final = "CLEARHOLD_MASTER_KEY_FILE"
REDIS_URL: Final = "CLEARHOLD_REDIS_URL"
SCORERS: Final = "CLEARHOLD_SCORERS"
BASE_URL: Final = "CLEARHOLD_BASE_URL"
METRICS_PORT: Final = "CLEARHOLD_METRICS_PORT"
METRICS_HOST: Final = "CLEARHOLD_METRICS_HOST"
PROGRAM_METRICS: Final = "CLEARHOLD_PROGRAM_METRICS"
BANK_URL: Final = "CLEARHOLD_BANK_URL"
BANK_RATE: Final = "CLEARHOLD_BANK_RATE"
CONNECTOR_ORIGINS: Final = "CLEARHOLD_CONNECTOR_ORIGINS"
LAKE_SECONDS: Final = "CLEARHOLD_LAKE_SECONDS"
SCAN_INDEX_URL: Final = "CLEARHOLD_SCAN_INDEX_URL"
ALLOW_LOCAL: Final = "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS"
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]{1,5})?", re.ASCII)
MIN_ADMIN_TOKEN_LENGTH: Final = 16
MAX_PORT: Final = 65_535
LOOPBACK: Final = "127.0.0.1"
DEFAULT_BANK_RATE: Final = 20
MAX_BANK_RATE: Final = 1_000
MOST_SCORERS: Final = 64
DEFAULT_LAKE_SECONDS: Final = 20
MOST_LAKE_SECONDS: Final = 86_400
_WHY_NOT: Final = {BANK_URL: ": keys are set for tenants"}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """``admin_token`` and ``master_key_file`` None: the data directory's own. ``redis_url`` None: the embedded Redis.
    ``metrics_port`` None: the usual one, if it can be had. ``bank_url`` None: nothing is fetched from the bank.
    ``scan_index_url`` None: no agents are imported.
    """

    data: Path
    host: str
    port: int
    admin_token: str | None = None
    master_key_file: Path | None = None
    redis_url: str | None = None
    base_url: str | None = None
    metrics_port: int | None = None
    metrics_host: str = LOOPBACK
    program_metrics: int = 0  # programs whose indicators are among the metrics, at most
    bank_url: str | None = None
    bank_rate: int = DEFAULT_BANK_RATE  # requests a second for each tenant
    scan_index_url: str | None = None
    scorers: int = 0
    accept_loss: bool = False
    lake_seconds: int = DEFAULT_LAKE_SECONDS  # between two rounds of copying; 0: no lake for analysts
    allow_local: bool = False  # endpoints, a bank and a scan index on this machine
    connector_origins: tuple[str, ...] = ()  # beside the service's own: whose pages may call the connector
    rate_limits: Mapping[RateClass, int] = msgspec.field(default_factory=lambda: DEFAULT_LIMITS)

    @classmethod
    def of(
        cls,
        *,
        data: Path,
        host: str,
        port: int,
        environment: Mapping[str, str],
        metrics_port: int | None = None,
        metrics_host: str | None = None,
        program_metrics: int | None = None,
        scorers: int | None = None,
        accept_loss: bool = False,
    ) -> Self:
        """An empty variable counts as one that is not set; an option goes before its variable."""
        token = environment.get(ADMIN_TOKEN) or None
        if token is not None and (len(token) < MIN_ADMIN_TOKEN_LENGTH or not token.isascii() or " " in token):
            raise StartupError(
                f"{ADMIN_TOKEN} must have at least {MIN_ADMIN_TOKEN_LENGTH} ASCII characters, no spaces."
            )
        return cls(
            data=data,
            host=host,
            port=port,
            admin_token=token,
            master_key_file=master_key_file_in(environment),
            redis_url=redis_url_in(environment),
            base_url=_base_url_in(environment),
            metrics_port=_port_in(environment) if metrics_port is None else metrics_port,
            metrics_host=metrics_host or environment.get(METRICS_HOST) or LOOPBACK,
            program_metrics=_program_metrics_in(environment) if program_metrics is None else program_metrics,
            bank_url=_outbound_url_in(environment, BANK_URL),
            bank_rate=_bank_rate_in(environment),
            scan_index_url=_outbound_url_in(environment, SCAN_INDEX_URL),
            scorers=_scorers_in(environment) if scorers is None else scorers,
            accept_loss=accept_loss,
            lake_seconds=lake_seconds_in(environment),
            allow_local=environment.get(ALLOW_LOCAL) == "1",
            connector_origins=_connector_origins_in(environment),
            rate_limits=limits_of(environment.get(RATE_LIMITS)),
        )

    def origins(self, base_url: str) -> Origins:
        """Whose pages may call the connector."""
        return Origins(base_url, listed=self.connector_origins)

    def public_urls(self, address: str) -> tuple[str, str | None]:
        """The address for documents, and the issuer of proofs, given the address that is listened on.

        A loopback address issues under itself, for trying out: whoever reaches it directly reaches it so. Any other may
        have another name elsewhere, so that there is an issuer only where one was set.
        """
        on_loopback = address if _is_loopback(urlsplit(address)) else None
        return self.base_url or address, self.base_url or on_loopback


def master_key_file_in(environment: Mapping[str, str]) -> Path | None:
    """Where the master key lies when it does not lie in the data directory."""
    text = environment.get(MASTER_KEY_FILE) or None
    return None if text is None else Path(text)


def redis_url_in(environment: Mapping[str, str]) -> str | None:
    """The external Redis; the sentence does not quote the URL, which may hold a password."""
    text = environment.get(REDIS_URL) or None
    if text is not None and not text.startswith(("redis://", "rediss://", "unix://")):
        raise StartupError(f"{REDIS_URL} must begin with redis://, rediss:// or unix://, as redis://localhost:6379.")
    return text


def _base_url_in(environment: Mapping[str, str]) -> str | None:
    """The address under which callers reach the service, which documents, links and checkpoints name."""
    text = environment.get(BASE_URL) or None
    if text is None:
        return None
    sentence = f"{BASE_URL} must be the service's address for callers, such as https://risk.bank.example."
    try:
        url = urlsplit(text)
    except ValueError:
        raise StartupError(sentence) from None
    if url.scheme not in {"https", "http"} or not url.hostname or "?" in text or "#" in text or "@" in url.netloc:
        raise StartupError(sentence)
    return text.rstrip("/")


def _connector_origins_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """``vscode-file://vscode-app,https://assistant.bank.example``: as browsers and desktop programs send them."""
    listed = tuple(
        part for part in (environment.get(CONNECTOR_ORIGINS) or "").lower().replace(" ", "").split(",") if part
    )
    if not all(_ORIGIN.fullmatch(each) for each in listed):
        raise StartupError(
            f"{CONNECTOR_ORIGINS} must be origins separated by commas, as https://assistant.bank.example."
        )
    return listed


def _scorers_in(environment: Mapping[str, str]) -> int:
    """By default one a core beyond the first; none where processes cannot share what scorers share with the service."""
    usual = min(MOST_SCORERS, len(os.sched_getaffinity(0)) - 1) if sys.platform == "linux" else 0
    meaning = f"a number of processes, 0-{MOST_SCORERS}; 0 scores in this one"
    return _number_in(environment, SCORERS, usual, meaning, MOST_SCORERS)


def _program_metrics_in(environment: Mapping[str, str]) -> int:
    meaning = f"a number of programs, 0-{MOST_PROGRAMS}; 0 shows none"
    return _number_in(environment, PROGRAM_METRICS, 0, meaning, MOST_PROGRAMS)


def _port_in(environment: Mapping[str, str]) -> int | None:
    if not environment.get(METRICS_PORT):
        return None
    return _number_in(environment, METRICS_PORT, 0, f"a port, 0-{MAX_PORT}; 0 takes a free one", MAX_PORT)


def _bank_rate_in(environment: Mapping[str, str]) -> int:
    meaning = f"requests a second for each tenant, 1-{MAX_BANK_RATE}"
    return _number_in(environment, BANK_RATE, DEFAULT_BANK_RATE, meaning, MAX_BANK_RATE, least=1)


def lake_seconds_in(environment: Mapping[str, str]) -> int:
    meaning = f"a number of seconds, 0-{MOST_LAKE_SECONDS}; 0 copies nothing"
    return _number_in(environment, LAKE_SECONDS, DEFAULT_LAKE_SECONDS, meaning, MOST_LAKE_SECONDS)


def _number_in(
    environment: Mapping[str, str], name: str, usual: int, meaning: str, most: int, *, least: int = 0
) -> int:
    """A whole number from ``least`` to ``most``; ``usual`` where the variable is not set or empty."""
    text = environment.get(name) or str(usual)
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)) or not least <= int(text) <= most:
        raise StartupError(f"{name} must be {meaning}.")
    return int(text)


def _outbound_url_in(environment: Mapping[str, str], name: str) -> str | None:
    """The root of an API that is called, without a slash at its end. The sentences do not quote it: it may hold a
    password.
    """
    text = environment.get(name) or None
    if text is None:
        return None
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise StartupError(f"{name} must be an URL.") from None
    is_plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
    if not is_plain or url.scheme not in {"https", "http"} or not url.hostname or port == 0:
        raise StartupError(f"{name} must be an URL with https:// and a host.")
    if "@" in url.netloc or "?" in text or "#" in text:
        raise StartupError(f"{name} must have no user name, password, query or fragment{_WHY_NOT.get(name, '')}.")
    if url.scheme == "http" and not (environment.get(ALLOW_LOCAL) == "1" and _is_loopback(url)):
        raise StartupError(f"{name} must begin with https://; http:// is for this machine, with {ALLOW_LOCAL}=1.")
    return text.rstrip("/")


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
