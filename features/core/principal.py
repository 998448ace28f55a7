"""The caller: the first argument of everything that reads or writes a tenant's data; and a program, a business that
banks on a tenant, with its declaration of expected activity.

A principal carries all limits of its access, so that a reader cannot forget to check: the tenant always, and for an API
key the programs of its mode and limit.
"""

from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec

from clearhold.features.core.errors import ErrorCode, ForbiddenError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import ProgramSource, about, minted

OUT_OF_REACH: Final = (
    "This API key may not touch this program: a test key touches simulated programs only, a live key bank-sourced "
    "ones, and a key of one program that one."
)
NOT_TENANT_WIDE: Final = "This is the whole tenant's; it needs the operator token or a live key of no one program."


class PrincipalKind(StrEnum):
    OPERATOR = "operator"  # the tenant's operator token
    KEY = "key"  # an API key of the tenant
    ADMIN = "admin"  # the platform itself, which has no tenant


class OperatorIdentity(StrEnum):
    """How the name of a person on the record is known."""

    CLAIMED = "claimed"  # the caller stated it, under a token or key that several may have
    PERSON = "person"  # the token or passkey is this person's


class KeyMode(StrEnum):
    TEST = "test"  # simulated programs and the sandbox only
    LIVE = "live"  # bank-sourced programs only


class KeyScope(StrEnum):
    PREFLIGHT = "preflight"
    ALERTS_READ = "alerts:read"
    ALERTS_DECIDE = "alerts:decide"
    ACTIONS = "actions"
    REPORTS = "reports"
    RECORD = "record"
    RULES = "rules"
    POLICIES = "policies"
    WEBHOOKS = "webhooks"
    LABELS = "labels"
    PROOFS = "proofs"
    SANDBOX = "sandbox"
    CONNECTOR = "connector"


KEY_OPERATOR_PREFIX: Final = "key:"
SOURCE_OF_MODE: Final = {KeyMode.TEST: ProgramSource.SIMULATED, KeyMode.LIVE: ProgramSource.BANK}


class Principal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A proven caller. The admin has no tenant: both tenant fields are empty.

    ``operator`` is the name on the record; ``of_mode`` are the programs that a key's mode allows, and ``program_ids``
    those of them that the key reaches, where None is every program of the tenant; ``tenant_wide`` is whether the caller
    may read data of the whole tenant; empty ``scopes`` are all that the mode allows.
    """

    kind: PrincipalKind
    id: str
    tenant_id: str
    tenant: str
    operator: str = ""
    has_own_token: bool = False  # the token or passkey is that of the person ``operator``
    mode: KeyMode | None = None
    of_mode: frozenset[str] | None = None
    program_ids: frozenset[str] | None = None
    tenant_wide: bool = True
    scopes: frozenset[KeyScope] = frozenset()

    @property
    def identity(self) -> OperatorIdentity | None:
        """How its operator's name is known; None for a key that names no person."""
        if is_key_operator(self.operator):
            return None
        return OperatorIdentity.PERSON if self.has_own_token else OperatorIdentity.CLAIMED

    def reaches(self, program_id: str) -> bool:
        return self.program_ids is None or program_id in self.program_ids

    def require_program(self, program_id: str) -> None:
        """Raise ForbiddenError for a program of the tenant that this principal may not touch."""
        if not self.reaches(program_id):
            raise ForbiddenError(OUT_OF_REACH, ErrorCode.PROGRAM_OUT_OF_REACH)

    def finds(self, program_id: str) -> bool:
        """Whether an object of this program exists for the caller: none of another program does for a key of one.

        Raise ForbiddenError outside the key's mode.
        """
        if self.of_mode is None or program_id not in self.of_mode:
            self.require_program(program_id)
        return self.reaches(program_id)

    def require_tenant_wide(self) -> None:
        """Raise ForbiddenError for a key of one program, or of simulated ones only."""
        if not self.tenant_wide:
            raise ForbiddenError(NOT_TENANT_WIDE, ErrorCode.TENANT_WIDE_REQUIRED)

    def require_scope(self, scope: KeyScope) -> None:
        """Raise ForbiddenError for a key that was created without this scope."""
        if not self.has_scope(scope):
            raise ForbiddenError(f"This API key lacks the scope {scope}.", ErrorCode.SCOPE_MISSING)

    def has_scope(self, scope: KeyScope) -> bool:
        return not self.scopes or scope in self.scopes


def is_key_operator(operator: str) -> bool:
    """Whether the operator's name on the record is an API key's, not a person's."""
    return operator.startswith(KEY_OPERATOR_PREFIX)


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
