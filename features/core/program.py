"""A program: a business that banks on a tenant, with its declaration of expected activity."""

from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec

from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import ProgramSource, about, minted

SIGNATURE_HEADER: Final = "Bank-Signature"

Simulated = Literal[True] | msgspec.UnsetType
"""A field that is true on objects of a simulated program, and absent on all others."""


class Program(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The Program of the interface, as answered and as written to the log."""

    id: Annotated[str, minted("program")]
    tenant_id: str
    slug: str
    name: str
    webhook_endpoint_id: str | None = None
    signature_header: Annotated[
        str, about("The header in which the bank signs the program's events; the algorithm is the same for all.")
    ] = SIGNATURE_HEADER
    declared_monthly_volume_cents: str | None = None
    declared_rails: tuple[str, ...] = ()
    declared_countries: tuple[str, ...] = ("US",)
    program_reserve_account_id: str | None = None
    source: Annotated[ProgramSource, about("bank: real; simulated: to try out, always labelled.")] = ProgramSource.BANK
    created_at: str = format_instant(0)


@lru_cache(maxsize=4096)
def declared_words(declared: str) -> frozenset[str]:
    """The words of a comma-separated declaration, split once: programs declare rarely and move money often."""
    return frozenset(declared.split(","))
