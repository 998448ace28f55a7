"""The tenant's policies, for reading.

Errors  NotFoundError for a policy or program that is not this tenant's
"""

from typing import Final

from api.policies.schemas import PoliciesQuery, Policy, to_policy
from api.programs.service import ProgramService
from features.core.errors import ErrorCode, NotFoundError
from features.core.principal import Principal
from features.policy.bodies import PolicyVersion as StoredPolicy
from store.control.tenancy import Tenancy

UNKNOWN_POLICY: Final = "Unknown policy on this tenant."


class PolicyService:
    def __init__(self, *, tenancy: Tenancy, programs: ProgramService) -> None:
        self._tenancy, self._programs = tenancy, programs

    def list(self, principal: Principal, query: PoliciesQuery) -> tuple[Policy, ...]:
        """Newest first; a programId of another tenant is a 404."""
        of_program = self._programs.filter_by(principal, query.program_id)
        return tuple(
            to_policy(stored)
            for stored in self._of_tenant(principal)
            if (query.prefix is None or stored.version.partition("-")[0] in query.prefix)
            and (of_program is None or stored.program_id in of_program)
            and query.active in {None, stored.active}
        )

    def read(self, principal: Principal, policy_id: str) -> Policy:
        for stored in self._of_tenant(principal):
            if stored.id == policy_id.lower():
                return to_policy(stored)
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    def _of_tenant(self, principal: Principal) -> tuple[StoredPolicy, ...]:
        """All callers may read the tenant-wide policies, which are in force on every program."""
        return self._tenancy.policies.of_tenant(principal.tenant_id).all()
