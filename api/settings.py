"""The settings of ``clearhold serve``: options of the command and variables of the environment."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import SplitResult, urlsplit

import msgspec

from clearhold.api.http.head import Origins
from clearhold.api.http.limits import DEFAULT_LIMITS, RATE_LIMITS, limits_of
from clearhold.api.http.openid import SCOPES, OpenIdConfig
from clearhold.api.http.operation import RateClass
from clearhold.api.http.proxy_identity import ConsoleIdentity
from clearhold.api.telemetry.metrics import MOST_PROGRAMS
from clearhold.store.errors import StartupError
from clearhold.store.redis_log.finders import is_cluster, knows_primary, primary_address

MIN_ADMIN_TOKEN_LENGTH: Final = 16
LOOPBACK: Final = "127.0.0.1"
MOST_SCORERS: Final = 64
MOST_REPLICAS: Final = 8
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]{1,5})?", re.ASCII)
_ALLOW_LOCAL: Final = "CLEARHOLD_ALLOW_LOCAL_WEBHOOKS"
_NEEDS_TLS: Final = f"must begin with https://; http:// is for this machine, with {_ALLOW_LOCAL}=1"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """``admin_token`` and ``master_key_file`` None: the data directory's own. ``redis_url`` None: the embedded Redis.
    ``metrics_port`` None: the default port, if it is free. ``bank_url`` None: nothing is fetched from the bank.
    ``scan_index_url`` None: no agents are imported.
    """

    data: Path
    host: str
    port: int
    admin_token: str | None = None
    master_key_file: Path | None = None
    redis_url: str | None = None
    redis_replicas: int = 0  # of a named Redis, which must confirm each write of the log
    base_url: str | None = None
    metrics_port: int | None = None
    metrics_host: str = LOOPBACK
    program_metrics: int = 0  # programs whose indicators are among the metrics, at most
    bank_url: str | None = None
    bank_rate: int = 20  # requests a second for each tenant
    scan_index_url: str | None = None
    scorers: int = 0
    accept_loss: bool = False
    take_over: bool = False  # the log in a named Redis, from a live owner
    proxy: bool = False  # a standby passes requests on to the owner
    node_url: str | None = None  # this node's address for the other nodes of its log; None: the public one
    lake_seconds: int = 20  # between two rounds of copying; 0: no lake for analysts
    live: bool = True  # events of committed rows are written to Redis
    live_entries: int = 100_000  # of each program's stream
    live_hours: int = 72
    allow_local: bool = False  # endpoints, a bank and a scan index on this machine
    connector_origins: tuple[str, ...] = ()  # beside the service's own: whose pages may call the connector
    console_identity_header: str | None = None  # in which the bank's proxy names a person
    console_identity_peer: str | None = None  # the proxy's address
    console_identity_tenant: str | None = None  # the slug of the persons' bank
    console_oidc_issuer: str | None = None  # the bank's OpenID provider
    console_oidc_client_id: str | None = None
    console_oidc_client_secret_file: Path | None = None
    console_oidc_tenant: str | None = None  # the slug of the persons' bank
    console_oidc_operate_group: str | None = None  # whose members read and write
    console_oidc_read_group: str | None = None  # whose members read
    console_oidc_groups_claim: str = "groups"
    console_oidc_name_claim: str = "email"  # the name for the record
    console_oidc_scopes: str = SCOPES
    console_oidc_ca_file: Path | None = None  # the certificates of the bank's own authority
    console_token_sign_in: bool = True  # the operator token begins sessions of the console
    rate_limits: Mapping[RateClass, int] = msgspec.field(default_factory=lambda: DEFAULT_LIMITS)

    @classmethod
    def of(cls, *, data: Path, host: str, port: int, environment: Mapping[str, str], **options: Any) -> Self:
        """An empty variable counts as unset; an option overrides its variable."""
        given = {name: value for name, value in options.items() if value not in {None, ""}}
        for name in given.keys() & _VARIABLES.keys():
            _, read_text = _VARIABLES[name]  # refuses as it does for the variable
            given[name] = read_text(f"--{name.replace('_', '-')}", str(given[name]))
        read = {name: setting(name, environment) for name in _VARIABLES if name not in given}
        given |= {name: value for name, value in read.items() if value is not None}
        settings = cls(data=data, host=host, port=port, **{"scorers": _usual_scorers()} | given)
        if settings.redis_replicas and settings.redis_url is None:
            raise _refused("CLEARHOLD_REDIS_REPLICAS", "needs CLEARHOLD_REDIS_URL: the embedded Redis has no replicas")
        identity = settings.console_identity
        if len({identity.header is None, identity.peer is None, identity.tenant is None}) > 1:
            raise _refused(
                _IDENTITY_HEADER, "needs CLEARHOLD_CONSOLE_IDENTITY_PEER and CLEARHOLD_CONSOLE_IDENTITY_TENANT"
            )
        settings._require_whole_openid()
        urls = ((_BANK_URL, settings.bank_url), (_SCAN_INDEX_URL, settings.scan_index_url))
        for variable, url in (*urls, (_OIDC_ISSUER, settings.console_oidc_issuer)):
            if not settings.allow_local and url is not None and url.startswith("http:"):
                raise _refused(variable, _NEEDS_TLS)
        return settings

    @property
    def console_identity(self) -> ConsoleIdentity:
        return ConsoleIdentity(
            header=self.console_identity_header,
            peer=self.console_identity_peer,
            tenant=self.console_identity_tenant,
            token_sign_in=self.console_token_sign_in,
        )

    @property
    def console_openid(self) -> OpenIdConfig | None:
        """None where no provider is set."""
        secret_file, tenant = self.console_oidc_client_secret_file, self.console_oidc_tenant
        issuer, client_id = self.console_oidc_issuer, self.console_oidc_client_id
        if issuer is None or client_id is None or secret_file is None or tenant is None:
            return None
        return OpenIdConfig(
            issuer=issuer,
            client_id=client_id,
            secret_file=secret_file,
            tenant=tenant,
            operate_group=self.console_oidc_operate_group,
            read_group=self.console_oidc_read_group,
            groups_claim=self.console_oidc_groups_claim,
            name_claim=self.console_oidc_name_claim,
            scopes=self.console_oidc_scopes,
            ca_file=self.console_oidc_ca_file,
        )

    def _require_whole_openid(self) -> None:
        groups = self.console_oidc_operate_group or self.console_oidc_read_group
        needed = (
            self.console_oidc_client_id,
            self.console_oidc_client_secret_file,
            self.console_oidc_tenant,
            groups,
        )
        if len({each is None for each in (self.console_oidc_issuer, *needed)}) > 1:
            raise _refused(
                _OIDC_ISSUER, "needs _CLIENT_ID, _CLIENT_SECRET_FILE, _TENANT, and _OPERATE_GROUP or _READ_GROUP"
            )

    def origins(self, base_url: str) -> Origins:
        """The origins whose pages may call the connector."""
        return Origins(base_url, listed=self.connector_origins)

    def public_urls(self, address: str) -> tuple[str, str | None]:
        """The address for documents and the issuer of proofs, for a listening address.

        A loopback address is its own issuer, for local trials. Any other address may have a different public name, so
        it has an issuer only if one is set.
        """
        on_loopback = address if _is_loopback(urlsplit(address)) else None
        return self.base_url or address, self.base_url or on_loopback


def setting(name: str, environment: Mapping[str, str]) -> Any:
    """The value of one setting's variable; None when unset or empty.

    An error does not quote the value, which may hold a password.
    """
    variable, read = _VARIABLES[name]
    text = environment.get(variable)
    return read(variable, text) if text else None


def _refused(variable: str, sentence: str) -> StartupError:
    return StartupError(f"{variable} {sentence}.")


def _admin_token(variable: str, text: str) -> str:
    if len(text) < MIN_ADMIN_TOKEN_LENGTH or not text.isascii() or " " in text:
        raise _refused(variable, f"must have at least {MIN_ADMIN_TOKEN_LENGTH} ASCII characters, no spaces")
    return text


def _text(_: str, text: str) -> str:
    return text


def _redis_url(variable: str, text: str) -> str:
    if knows_primary(text):
        try:
            primary_address(text)
        except ValueError:
            form = "nodes, as redis+cluster://HOST:6379,HOST:6379"
            if not is_cluster(text):
                form = "Sentinels, as redis+sentinel://HOST:26379,HOST:26379/NAME"
            raise _refused(variable, f"must name the {form}") from None
        return text
    if not text.startswith(("redis://", "rediss://", "unix://")):
        raise _refused(
            variable,
            "must begin with redis://, rediss:// or unix://, redis+sentinel:// or redis+cluster://, as "
            "redis://localhost:6379",
        )
    return text


def _base_url(variable: str, text: str) -> str:
    """The service's public address, for documents, links and checkpoints."""
    refusal = _refused(variable, "must be the service's address for callers, such as https://risk.bank.example")
    try:
        url = urlsplit(text)
    except ValueError:
        raise refusal from None
    if url.scheme not in {"https", "http"} or not url.hostname or "?" in text or "#" in text or "@" in url.netloc:
        raise refusal
    return text.rstrip("/")


def _origins(variable: str, text: str) -> tuple[str, ...]:
    """``vscode-file://vscode-app,https://assistant.bank.example``, as browsers and desktop programs send them."""
    listed = tuple(part for part in text.lower().replace(" ", "").split(",") if part)
    if not all(_ORIGIN.fullmatch(each) for each in listed):
        raise _refused(variable, "must be origins separated by commas, as https://assistant.bank.example")
    return listed


def _number(least: int, most: int, meaning: str) -> Callable[[str, str], int]:
    """A whole number within bounds, which replace ``{}`` in ``meaning``."""

    def read(variable: str, text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not is_number or not least <= int(text) <= most:
            raise _refused(variable, f"must be {meaning.format(f'{least}-{most}')}")
        return int(text)

    return read


def _on_or_off(variable: str, text: str) -> bool:
    if text not in {"on", "off"}:
        raise _refused(variable, "must be on or off")
    return text == "on"


def _outbound_url(no_more: str = "") -> Callable[[str, str], str]:
    """The root URL of an outbound API, without a slash at its end."""

    def read(variable: str, text: str) -> str:
        try:
            url = urlsplit(text)
            port = url.port
        except ValueError:
            raise _refused(variable, "must be an URL") from None
        is_plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
        if not is_plain or url.scheme not in {"https", "http"} or not url.hostname or port == 0:
            raise _refused(variable, "must be an URL with https:// and a host")
        if "@" in url.netloc or "?" in text or "#" in text:
            raise _refused(variable, f"must have no user name, password, query or fragment{no_more}")
        if url.scheme == "http" and not _is_loopback(url):
            raise _refused(variable, _NEEDS_TLS)
        return text.rstrip("/")

    return read


def _issuer(variable: str, text: str) -> str:
    """The provider's name for itself, with a slash at its end where it has one: it is compared letter by letter."""
    _outbound_url()(variable, text)
    return text


def _openid_scopes(variable: str, text: str) -> str:
    if "openid" not in text.split():
        raise _refused(variable, "must be scopes with spaces between them, and openid among them")
    return text


def _header_name(variable: str, text: str) -> str:
    if not _HEADER_NAME.fullmatch(text) or text.lower() in {"authorization", "cookie", "host", "origin"}:
        raise _refused(variable, "must be the name of a header, as X-Forwarded-User")
    return text


def _address(variable: str, text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise _refused(variable, "must be the address of the proxy, as 10.0.0.7") from None


_IDENTITY_HEADER: Final = "CLEARHOLD_CONSOLE_IDENTITY_HEADER"
_OIDC_ISSUER: Final = "CLEARHOLD_CONSOLE_OIDC_ISSUER"
_HEADER_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)
_BANK_URL: Final = "CLEARHOLD_BANK_URL"
_SCAN_INDEX_URL: Final = "CLEARHOLD_SCAN_INDEX_URL"
_VARIABLES: Final[Mapping[str, tuple[str, Callable[[str, str], Any]]]] = {
    "admin_token": ("CLEARHOLD_ADMIN_TOKEN", _admin_token),
    "master_key_file": ("CLEARHOLD_MASTER_KEY_FILE", lambda _, text: Path(text)),
    "redis_url": ("CLEARHOLD_REDIS_URL", _redis_url),
    "redis_replicas": (
        "CLEARHOLD_REDIS_REPLICAS",
        _number(0, MOST_REPLICAS, "a number of replicas, {}; 0 waits for none"),
    ),
    "base_url": ("CLEARHOLD_BASE_URL", _base_url),
    "node_url": ("CLEARHOLD_NODE_URL", _base_url),
    "metrics_port": ("CLEARHOLD_METRICS_PORT", _number(0, 65_535, "a port, {}; 0 takes a free one")),
    "metrics_host": ("CLEARHOLD_METRICS_HOST", _text),
    "program_metrics": (
        "CLEARHOLD_PROGRAM_METRICS",
        _number(0, MOST_PROGRAMS, "a number of programs, {}; 0 shows none"),
    ),
    "bank_url": (_BANK_URL, _outbound_url(": keys are set for tenants")),
    "bank_rate": ("CLEARHOLD_BANK_RATE", _number(1, 1_000, "requests a second for each tenant, {}")),
    "scan_index_url": (_SCAN_INDEX_URL, _outbound_url()),
    "scorers": ("CLEARHOLD_SCORERS", _number(0, MOST_SCORERS, "a number of processes, {}; 0 scores in this one")),
    "lake_seconds": ("CLEARHOLD_LAKE_SECONDS", _number(0, 86_400, "a number of seconds, {}; 0 copies nothing")),
    "live": ("CLEARHOLD_LIVE", _on_or_off),
    "live_entries": ("CLEARHOLD_LIVE_ENTRIES", _number(1, 10_000_000, "a number of entries of each program, {}")),
    "live_hours": ("CLEARHOLD_LIVE_HOURS", _number(1, 8_760, "a number of hours, {}")),
    "allow_local": (_ALLOW_LOCAL, lambda _, text: text == "1"),
    "connector_origins": ("CLEARHOLD_CONNECTOR_ORIGINS", _origins),
    "console_identity_header": (_IDENTITY_HEADER, _header_name),
    "console_identity_peer": ("CLEARHOLD_CONSOLE_IDENTITY_PEER", _address),
    "console_identity_tenant": ("CLEARHOLD_CONSOLE_IDENTITY_TENANT", _text),
    "console_oidc_issuer": (_OIDC_ISSUER, _issuer),
    "console_oidc_client_id": ("CLEARHOLD_CONSOLE_OIDC_CLIENT_ID", _text),
    "console_oidc_client_secret_file": ("CLEARHOLD_CONSOLE_OIDC_CLIENT_SECRET_FILE", lambda _, text: Path(text)),
    "console_oidc_tenant": ("CLEARHOLD_CONSOLE_OIDC_TENANT", _text),
    "console_oidc_operate_group": ("CLEARHOLD_CONSOLE_OIDC_OPERATE_GROUP", _text),
    "console_oidc_read_group": ("CLEARHOLD_CONSOLE_OIDC_READ_GROUP", _text),
    "console_oidc_groups_claim": ("CLEARHOLD_CONSOLE_OIDC_GROUPS_CLAIM", _text),
    "console_oidc_name_claim": ("CLEARHOLD_CONSOLE_OIDC_NAME_CLAIM", _text),
    "console_oidc_scopes": ("CLEARHOLD_CONSOLE_OIDC_SCOPES", _openid_scopes),
    "console_oidc_ca_file": ("CLEARHOLD_CONSOLE_OIDC_CA_FILE", lambda _, text: Path(text)),
    "console_token_sign_in": ("CLEARHOLD_CONSOLE_TOKEN_SIGN_IN", _on_or_off),
    "rate_limits": (RATE_LIMITS, lambda _, text: limits_of(text)),
}
"""Each setting with its variable, and its parser; an unset variable means the default."""


def _usual_scorers() -> int:
    """One a core beyond the first; none where processes cannot share what scorers share with the service."""
    return min(MOST_SCORERS, len(os.sched_getaffinity(0)) - 1) if sys.platform == "linux" else 0


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
