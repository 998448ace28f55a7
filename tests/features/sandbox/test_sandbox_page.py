"""``docs/sandbox.md`` is what the code makes."""

from pathlib import Path

from clearhold.features.sandbox.scenarios import SCENARIOS
from docs.pages.sandbox import markdown


def test_given_the_page_then_it_is_that_of_the_code_and_has_every_scenario() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")

    assert page == markdown()
    assert not [name for name in SCENARIOS if f"`{name}`" not in page]
