"""The service's stores, a tenant and a program, as tests of the interface have them."""

from tests.api.conftest import api, program, tenant

__all__ = ["api", "program", "tenant"]
