"""What can go wrong, each in one sentence that is safe to show to any caller.

``api/http/errors.py`` alone knows which HTTP status each of these is answered with.
"""


class RiskError(Exception):
    """A refusal; ``str(error)`` is the sentence a caller reads."""


class InvalidRequestError(RiskError):
    """The input breaks a rule of the interface."""


class UnauthorizedError(RiskError):
    """The caller did not prove who it is."""


class ForbiddenError(RiskError):
    """The caller is known and may not do this."""


class NotFoundError(RiskError):
    """No such object on this tenant."""


class ConflictError(RiskError):
    """The object's state, or an earlier request, stands against it."""


class RateLimitedError(RiskError):
    """The caller asks for more at a time than it may; the same request can be granted later."""


class UnavailableError(RiskError):
    """The service cannot do this durably right now; nothing was stored."""
