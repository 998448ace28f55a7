"""A real browser before the console of a ``RunningApp``: its requests are answered in this process, each when a test
lets it. The feed is a list of blocks that the test writes.
"""

from collections.abc import Mapping
from typing import Final, Self

from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, Request, Route

from tests.support.console import Browser
from tests.support.running_app import BASE_URL

LIVE: Final = "/console/live"
DESK: Final = (1440, 900)
_KEPT: Final = ("hx-request", "hx-target", "x-unattended", "content-type", "last-event-id")
_OWN: Final = ("content-length", "content-encoding", "set-cookie")


class RoutedConsole:
    """``held`` are the beginnings of paths whose answers wait for ``release``; ``feed`` is the next answer of the feed,
    None while the service is away; ``asked`` are the feed's requests; ``faults`` are errors of the browser's console.
    """

    def __init__(self, chromium: Chromium, visitor: Browser, *, width: int = DESK[0]) -> None:
        self._visitor = visitor
        self.held: set[str] = set()
        self.feed: str | None = "\n"
        self.asked: list[Mapping[str, str]] = []
        self.faults: list[str] = []
        self._waiting: list[tuple[str, Route]] = []
        self.context: BrowserContext = chromium.new_context(
            base_url=BASE_URL, viewport={"width": width, "height": DESK[1]}
        )
        self.context.route("**/*", self._on_request)
        self.page = self.opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def opened(self) -> Page:
        """A further tab."""
        page = self.context.new_page()
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        return page

    def hold(self, route: Route) -> None:
        """Let a request wait."""
        self._waiting.append((route.request.url.removeprefix(BASE_URL), route))

    def release(self, path: str = "") -> None:
        """Answer the requests that wait at this path, and hold it no longer; without a path all of them."""
        self.held = {each for each in self.held if path and not each.startswith(path)}
        waiting, self._waiting = self._waiting, []
        for of_path, route in waiting:
            if of_path.startswith(path):
                self._answer(of_path, route)
            else:
                self._waiting.append((of_path, route))

    @property
    def waiting(self) -> list[str]:
        """Paths of the requests that are held."""
        return [path for path, _ in self._waiting]

    def _on_request(self, route: Route) -> None:
        path = route.request.url.removeprefix(BASE_URL)
        if path == LIVE:
            self.asked.append(route.request.headers)
            if self.feed is None:
                route.abort()
            else:
                route.fulfill(status=200, headers={"Content-Type": "text/event-stream"}, body=self.feed)
        elif path.startswith(tuple(self.held)):
            self._waiting.append((path, route))
        else:
            self._answer(path, route)

    def _answer(self, path: str, route: Route) -> None:
        request: Request = route.request
        headers = {name: value for name, value in request.headers.items() if name in _KEPT}
        if request.method == "POST":
            sent = {"Sec-Fetch-Site": "same-origin"} | headers
            answer = self._visitor.post(path, request.post_data_buffer or b"", sent)
        else:
            answer = self._visitor.get(path, **headers)
        own = {name: value for name, value in answer.headers.items() if name.lower() not in _OWN}
        route.fulfill(status=answer.status_code, headers=own, body=answer.content)
