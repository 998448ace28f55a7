"""The walk through the sandbox works as it is written."""

from pathlib import Path
from typing import Final

from tests.support.doc_blocks import blocks_of, output_of, readme_blocks

PAGE: Final = Path("docs/sandbox.md")
STARTED: Final = 2  # of the README's blocks, those that start a service and make a bank in it


def test_given_the_walk_when_run_behind_the_readmes_first_blocks_then_it_opens_what_it_says(tmp_path: Path) -> None:
    walk = blocks_of(PAGE, "sandbox ")

    output = output_of([*readme_blocks()[:STARTED], *walk], tmp_path)

    assert len(walk) == 2
    assert output.count('"name": "') == 16
    assert output.count('"committed": true') == 4
    assert '"detector": "unauthorized_return"' in output
    assert '"simulated": true' in output
    assert '"error"' not in output
