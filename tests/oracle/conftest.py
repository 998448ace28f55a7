"""The running application for what only it can be asked: rescoring, bands as of now, indicators."""

from tests.api.conftest import api, tenant

__all__ = ["api", "tenant"]
