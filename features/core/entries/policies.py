"""A policy that comes into force in one program, as an entry of its log."""

from typing import Any

import msgspec


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version brought into force by an approved action; the same ``action_id`` applied again changes nothing.

    ``from_start`` is for the policies that a new program begins with, which count for all its history.
    """

    tenant_id: str
    version: str
    body: dict[str, Any]
    action_id: str
    of_program: bool  # activated for the program alone, not for the whole tenant
    from_start: bool = False
