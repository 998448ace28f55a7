"""The running application, for rescoring, current bands and indicators."""

from tests.api.conftest import api, tenant

__all__ = ["api", "tenant"]
