"""Limits on the versions of a kind, lowered so that a test reaches them."""

from typing import cast

import pytest
from msgspec.structs import replace

from clearhold.store.control.policies import VERSION_KINDS, VersionKind


def limit_versions(patch: pytest.MonkeyPatch, prefix: str, *, most: int) -> None:
    kinds = cast(dict[str, VersionKind], VERSION_KINDS)
    patch.setitem(kinds, prefix, replace(kinds[prefix], most=most))
