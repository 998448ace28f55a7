"""Static files of the console: vendored files have the published bytes, and an address contains a digest."""

import re
from hashlib import sha256
from http import HTTPStatus

import pytest

from clearhold.api.console.frame import FILES, STATIC, address_of
from clearhold.features.catalogue.kris import KriStatus
from clearhold.features.core.vocabulary import Band
from clearhold.features.webhooks.delivery import DeliveryStatus
from clearhold.store.duck.party_timeline import TimelineKind
from tests.support.console import Browser, ConsoleApp

VENDORED = {
    "htmx-4.0.1.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    "hx-csp-4.0.1.min.js": "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143",
}


@pytest.mark.parametrize(("name", "digest"), VENDORED.items())
def test_given_a_vendored_file_then_it_has_the_bytes_of_its_release(name: str, digest: str) -> None:
    assert sha256(FILES[name]).hexdigest() == digest
    assert (STATIC / "vendor" / "LICENSE").read_text("utf-8").startswith("Zero-Clause BSD")


def test_given_a_page_then_it_refers_only_to_files_that_are_there_and_may_be_kept_for_a_year(
    console: ConsoleApp, browser: Browser
) -> None:
    page = browser.get("/console/today").text
    stranger = console.browser()
    for name in ("console.css", "console.js", *VENDORED):
        assert address_of(name) in page
        answer = stranger.get(address_of(name))
        assert answer.content == FILES[name]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].startswith("text/")


@pytest.mark.parametrize("path", ["0/console.css", "{digest}/console.py", "{digest}/..%2Fframe.py", "{digest}/LICENSE"])
def test_given_another_file_or_address_then_it_is_not_served(console: ConsoleApp, path: str) -> None:
    digest = address_of("console.css").split("/")[3]
    answer = console.browser().get(f"/console/static/{path.format(digest=digest)}")
    assert answer.status_code == HTTPStatus.NOT_FOUND


def test_given_the_sheets_then_each_class_in_them_is_on_a_page() -> None:
    """A class is a word of the code of pages, or a word of a closed list, or a place of a line of amounts."""
    api = STATIC.parent.parent
    modules = (path for folder in ("console", "html", "reports") for path in (api / folder).rglob("*.py"))
    code = "".join(path.read_text("utf-8") for path in (*modules, *STATIC.glob("*.js")))
    words = set(re.findall(r"[a-z][a-z0-9-]*", code))
    words |= {str(each) for kind in (Band, DeliveryStatus, KriStatus, TimelineKind) for each in kind}
    words |= {f"m{place}" for place in range(4)}
    sheets = "".join(path.read_text("utf-8") for path in (STATIC / "css").glob("*.css"))
    selectors = re.findall(r"([^{};]+)\{", re.sub(r"/\*.*?\*/", "", sheets, flags=re.DOTALL))
    classes = {each for selector in selectors for each in re.findall(r"\.([a-z][a-z0-9-]*)", selector)}
    assert len(classes) > 100
    assert not classes - words
