"""The settings of ``clearhold serve``: options of the command and variables of the environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import msgspec

from api.http.operation import RateClass
from api.http.rate_limits import DEFAULT_LIMITS, RATE_LIMITS, limits_of
from store.data_dir import StartupError

ADMIN_TOKEN: Final = "CLEARHOLD_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
REDIS_URL: Final = "CLEARHOLD_REDIS_URL"
BASE_URL: Final = "CLEARHOLD_BASE_URL"
METRICS_PORT: Final = "CLEARHOLD_METRICS_PORT"
MIN_ADMIN_TOKEN_LENGTH: Final = 16
MAX_PORT: Final = 65_535


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """``admin_token`` None: the data directory's own. ``redis_url`` None: the embedded Redis.
    ``metrics_port`` None: the usual one, if it can be had.
    """

    data: Path
    host: str
    port: int
    admin_token: str | None = None
    redis_url: str | None = None
    base_url: str | None = None
    metrics_port: int | None = None
    rate_limits: Mapping[RateClass, int] = msgspec.field(default_factory=lambda: DEFAULT_LIMITS)

    @classmethod
    def of(
        cls, *, data: Path, host: str, port: int, environment: Mapping[str, str], metrics_port: int | None = None
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
            redis_url=environment.get(REDIS_URL) or None,
            base_url=environment.get(BASE_URL) or None,
            metrics_port=_port_in(environment) if metrics_port is None else metrics_port,
            rate_limits=limits_of(environment.get(RATE_LIMITS)),
        )


def _port_in(environment: Mapping[str, str]) -> int | None:
    text = environment.get(METRICS_PORT) or None
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > len(str(MAX_PORT)) or int(text) > MAX_PORT:
        raise StartupError(f"{METRICS_PORT} must be a port, 0-{MAX_PORT}; 0 takes a free one.")
    return int(text)
