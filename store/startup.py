"""Why the service cannot start, as one sentence for the person who starts it."""


class StartupError(Exception):
    """The command line shows ``str(error)`` and exits; no caller of the API ever sees it."""
