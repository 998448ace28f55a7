"""Projection of the control streams: the tenants, by id and by slug."""

from clearhold.store.control.entries import Tenant, TenantEntry


class Tenants:
    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}
        self._id_by_slug: dict[str, str] = {}

    def add(self, entry: TenantEntry) -> str | None:
        """Add a tenant; returns the id of the tenant that had its slug, which is removed.

        A slug is given out once. So an older tenant with the same slug was answered 503 although its entry had reached
        the log, and its token was never returned.
        """
        unconfirmed = self._id_by_slug.get(entry.slug)
        if unconfirmed == entry.id:
            unconfirmed = None
        if unconfirmed is not None:
            del self._tenants[unconfirmed]
        self._tenants[entry.id] = Tenant(id=entry.id, slug=entry.slug, name=entry.name, created_at=entry.created_at)
        self._id_by_slug[entry.slug] = entry.id
        return unconfirmed

    def find(self, tenant_id: str) -> Tenant | None:
        return self._tenants.get(tenant_id)

    def has_slug(self, slug: str) -> bool:
        return slug in self._id_by_slug

    def list_all(self) -> tuple[Tenant, ...]:
        """All tenants, newest first."""
        return tuple(sorted(self._tenants.values(), key=lambda tenant: (tenant.created_at, tenant.id), reverse=True))
