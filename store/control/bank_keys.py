"""Projection of the control streams: each tenant's key to the bank's API, sealed in the log and open in memory.

It is open because every request to the bank's API needs it; no answer, log line or ``repr`` contains it.
"""

from clearhold.store.control.entries import BankKeyEntry, BankKeyRemovedEntry
from clearhold.store.keys.secrets import SecretBox


class BankKeys:
    """At most one key a tenant, the newest."""

    def __init__(self, *, box: SecretBox) -> None:
        self._box = box
        self._keys: dict[str, str] = {}
        self._had_keys: set[str] = set()

    def put(self, tenant_id: str, entry: BankKeyEntry) -> None:
        self._keys[tenant_id] = self._box.open(entry.sealed_key)
        self._had_keys.add(tenant_id)

    def remove(self, tenant_id: str, _: BankKeyRemovedEntry) -> None:
        self._keys.pop(tenant_id, None)

    def of_tenant(self, tenant_id: str) -> str | None:
        return self._keys.get(tenant_id)

    def had_key(self, tenant_id: str) -> bool:
        """Whether the tenant has a key, or ever had one."""
        return tenant_id in self._had_keys

    def tenants(self) -> tuple[str, ...]:
        """The ids of the tenants that have a key."""
        return tuple(self._keys)
