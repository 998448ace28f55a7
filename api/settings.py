"""What ``clearhold serve`` is told: the command's options and the environment's variables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import msgspec

from store.startup import StartupError

ADMIN_TOKEN: Final = "CLEARHOLD_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
REDIS_URL: Final = "CLEARHOLD_REDIS_URL"
BASE_URL: Final = "CLEARHOLD_BASE_URL"
MIN_ADMIN_TOKEN_LENGTH: Final = 16


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """``admin_token`` None: the data directory's own. ``redis_url`` None: the embedded Redis."""

    data: Path
    host: str
    port: int
    admin_token: str | None = None
    redis_url: str | None = None
    base_url: str | None = None

    @classmethod
    def of(cls, *, data: Path, host: str, port: int, environment: Mapping[str, str]) -> Self:
        """An empty variable counts as one that is not set."""
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
        )
