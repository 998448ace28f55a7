"""A link that signs in once: how ``clearhold demo`` opens the console in a browser. For this machine alone.

A page of another site that leads a person to such a link would sign that person in under another name.
"""

from typing import Final

from clearhold.api.console.entry import enter
from clearhold.api.console.pages.sign_in import start_of
from clearhold.api.console.visit import Answer, RedirectAnswer, Visit
from clearhold.api.console.way_back import HOME, START
from clearhold.features.core.errors import ErrorCode, ForbiddenError, NotFoundError

PATH: Final = START
ONLY_HERE: Final = (
    "A link that signs in works on the machine of the service alone, and not through a proxy or from a page of "
    "another site. Copy it into the address bar."
)
USED: Final = "This link was used, or is too old. Sign in with the token, or start the demo again for another link."


async def create(visit: Visit) -> Answer:
    """The answer leads to the link; token and name are proven as by the sign-in page."""
    _require_here(visit)
    code = await visit.services.start_links.create(start_of(visit))
    return RedirectAnswer(f"{PATH}?code={code}")


async def use(visit: Visit) -> Answer:
    _require_here(visit)
    start = await visit.services.start_links.take(visit.query.get("code", ""))
    if start is None:
        raise NotFoundError(USED, ErrorCode.PATH_NOT_FOUND)
    return await enter(visit, start, HOME)


def _require_here(visit: Visit) -> None:
    if not visit.is_here:
        raise ForbiddenError(ONLY_HERE, ErrorCode.ORIGIN_REFUSED)
