"""The tenant's policies, for reading: those that it started with.

Errors  NotFoundError for a policy or program that is not this tenant's
"""

from typing import Final

from api.policies.schemas import PoliciesQuery, Policy, shown
from api.programs.service import ProgramService
from features.core.errors import NotFoundError
from features.core.instants import parse_instant
from features.core.principal import Principal
from features.policy.bodies import PolicyVersion as HeldPolicy
from features.policy.seeds import seeded_policies
from store.control.tenancy import Tenancy

UNKNOWN_POLICY: Final = "Unknown policy on this tenant."


class PolicyService:
    def __init__(self, *, tenancy: Tenancy, programs: ProgramService) -> None:
        self._tenancy, self._programs = tenancy, programs

    def list(self, principal: Principal, query: PoliciesQuery) -> tuple[Policy, ...]:
        """Newest first; a programId of another tenant is a 404."""
        of_program = self._programs.filter_by(principal, query.program_id)
        return tuple(
            shown(held)
            for held in self._of_tenant(principal)
            if (query.prefix is None or held.version.partition("-")[0] in query.prefix)
            and (of_program is None or held.program_id in of_program)
            and query.active in {None, held.active}
        )

    def read(self, principal: Principal, policy_id: str) -> Policy:
        for held in self._of_tenant(principal):
            if held.id == policy_id.lower():
                return shown(held)
        raise NotFoundError(UNKNOWN_POLICY)

    def _of_tenant(self, principal: Principal) -> tuple[HeldPolicy, ...]:
        """Tenant-wide ones are everybody's to read: they are in force on every program."""
        tenant = self._tenancy.tenant(principal.tenant_id)
        assert tenant is not None, "a proven principal has a tenant"
        at = parse_instant(tenant.created_at)
        assert at is not None, "a tenant was created at an instant"
        return tuple(sorted(seeded_policies(tenant.id, at), key=lambda held: (held.created_at, held.id), reverse=True))
