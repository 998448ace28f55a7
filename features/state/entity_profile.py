"""What the bank states of an entity."""

from typing import Final

import msgspec


class EntityProfile(msgspec.Struct, frozen=True, gc=False):
    """The bank's newest statement of each field of an entity; a field that it never stated is None."""

    type: str | None = None
    name: str | None = None
    verification_status: str | None = None
    is_high_risk: bool | None = None
    pep_status: str | None = None
    requires_screening: bool | None = None
    review_reasons: tuple[str, ...] = ()
    last_screened_at: int | None = None
    country: str | None = None
    legal_type: str | None = None
    expected_rails: tuple[str, ...] = ()
    created_at: int | None = None


UNKNOWN_PROFILE: Final = EntityProfile()
