"""A request of the console as its pages get it, and the answers that they give."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import htpy as h
import msgspec
from litestar.datastructures import Cookie

from clearhold.api.console.services import ConsoleServices
from clearhold.api.lists.exports import Batches, ExportFormat
from clearhold.features.core.canonical import derived_id, json_text
from clearhold.features.core.principal import Principal
from clearhold.store.ids import new_id
from clearhold.store.sessions import Session

VISIT: Final = "clearhold.visit"
NO_HEADERS: Final[Mapping[str, str]] = {}
MAIN: Final = "main"
"""The id of a page's content."""
CSRF: Final = "csrf"
"""The field of a form that has the session's token."""
ATTEMPT: Final = "attempt"
"""The field of a form that makes a repeated submission the same write."""


class SignedIn(NamedTuple):
    """The session of a visit, and its proven caller."""

    session: Session
    principal: Principal

    @property
    def is_read_only(self) -> bool:
        return self.principal.mode is not None or self.session.reads_only


def principal_of(session: Session, proven: Principal) -> Principal:
    """The caller of a session, by its name; a person of the bank's provider is recorded by the account."""
    return msgspec.structs.replace(proven, operator=session.name, id=session.account or proven.id)


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """``nonce`` marks the elements that htmx may act on; ``target`` is the part of the page that the answer replaces,
    None for a whole page; ``browser`` is the browser's secret, ``login`` that of its sign-in at the bank's
    provider, ``named`` the person that the bank's proxy names; ``now`` is the instant of arrival.

    ``caller`` is whose tries to sign in count together: a browser that had a session, else the address, which may be
    that of a proxy. ``is_here`` is whether a browser on this machine asks by itself, not through a proxy and not for a
    page of another site.
    """

    services: ConsoleServices
    who: SignedIn | None
    params: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    path: str
    nonce: str
    target: str | None
    address: str
    browser: str | None
    login: str | None
    named: str | None
    caller: str
    is_here: bool
    now: int

    @property
    def signed_in(self) -> SignedIn:
        assert self.who is not None, "the guard lets only public routes through without a session"
        return self.who

    @property
    def principal(self) -> Principal:
        return self.signed_in.principal

    def hx(self, **attributes: str) -> dict[str, str]:
        """Htmx attributes of an element: ``get``, ``target`` and so on."""
        return {f"hx-{name}": value for name, value in attributes.items()} | {"hx-nonce": self.nonce}

    def with_form(self, form: Mapping[str, str]) -> "Visit":
        return msgspec.structs.replace(self, form=form)

    @property
    def heading(self) -> h.Element:
        """The heading of a page; of a part, one below that of its page."""
        return h.h1 if self.target in {None, MAIN} else h.h2

    def form_of(
        self,
        action: str,
        *content: h.Node,
        attempt: str | None = None,
        keep: str | None = None,
        **attributes: str | None,
    ) -> h.Element:
        """A form that writes; it carries the session's token, and an id that makes a repeat the same write: that of an
        earlier ``attempt`` that was not confirmed, or a new one. Under the name ``keep``, the browser keeps the
        typed text until it is on the record.
        """
        kept = {} if keep is None else {"data-keep": keep, "data-by": self.signed_in.session.name}
        return h.form(attributes, kept, method="post", action=action)[
            h.input(type="hidden", name=CSRF, value=self.signed_in.session.csrf),
            h.input(type="hidden", name=ATTEMPT, value=attempt or new_id()),
            content,
        ]

    def attempt_id(self) -> str | None:
        """The id of this form, as the page had it."""
        attempt = self.form.get(ATTEMPT)
        session = self.signed_in.session
        return attempt and derived_id("console", session.tenant_id, session.name, self.path, attempt)

    def effect_id(self) -> str | None:
        """The id of this submission's effect, the same for its repeats. A form that a person changes after the way back
        to its page is another submission.
        """
        form = self.attempt_id()
        return form and derived_id(form, json_text({name: self.form[name] for name in self.form if name != CSRF}))


class HtmlAnswer(NamedTuple):
    """The content between header and footer of a page; of a request for a part, the part.

    ``visit`` is the request as it goes on, if a session began in it.
    """

    title: str
    content: h.Node
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS
    cookies: tuple[Cookie, ...] = ()
    visit: Visit | None = None


class JsonAnswer(NamedTuple):
    """For an own script, which has to say what it means in words."""

    body: object
    status: int = 200


class DocumentAnswer(NamedTuple):
    """A whole page with its own Content-Security-Policy."""

    body: bytes
    policy: str


class FileAnswer(NamedTuple):
    """A download that is there as a whole."""

    name: str
    body: bytes
    media_type: str


class ExportAnswer(NamedTuple):
    """A download that is read while it is sent."""

    name: str
    batches: Batches
    kind: type[msgspec.Struct]
    format: ExportFormat = ExportFormat.NDJSON


class RedirectAnswer(NamedTuple):
    """The browser goes on to a path of the console."""

    to: str
    headers: Mapping[str, str] = NO_HEADERS
    cookies: tuple[Cookie, ...] = ()


Answer = HtmlAnswer | JsonAnswer | DocumentAnswer | FileAnswer | ExportAnswer | RedirectAnswer
Handle = Callable[[Visit], Awaitable[Answer]]


def visit_of(scope: Any) -> Visit:
    visit: Visit = scope[VISIT]
    return visit
