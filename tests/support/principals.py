"""Principals as the gate would have proved them."""

from clearhold.features.core.principal import KeyMode, Principal, PrincipalKind


def an_operator(tenant_id: str, *, tenant: str = "first-bank", name: str = "ann") -> Principal:
    """Who holds the tenant's operator token."""
    return Principal(kind=PrincipalKind.OPERATOR, id="operator", tenant_id=tenant_id, tenant=tenant, operator=name)


def a_key(tenant_id: str, *program_ids: str, mode: KeyMode = KeyMode.LIVE) -> Principal:
    """Who holds an API key that reaches these programs."""
    return Principal(
        kind=PrincipalKind.KEY,
        id="key_1",
        tenant_id=tenant_id,
        tenant="first-bank",
        operator="key:live_0000000",
        mode=mode,
        program_ids=frozenset(program_ids),
        tenant_wide=False,
    )
