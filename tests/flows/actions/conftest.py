"""An application beside a simulated bank, as tests of actions over HTTP have it."""

from tests.api.actions.conftest import acting, served

__all__ = ["acting", "served"]
