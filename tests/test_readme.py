"""The blocks of the README are what somebody runs first: as they stand there, on a machine that has nothing running."""

from pathlib import Path

from tests.support.doc_blocks import output_of, readme_blocks


def test_given_the_blocks_of_the_readme_when_run_in_their_order_then_a_transfer_is_scored(tmp_path: Path) -> None:
    output = output_of(readme_blocks(), tmp_path)

    assert '"score": 100' in output
    assert '"score": 83' in output
    assert '"decision": "hold"' in output
    assert '"detector": "high_risk_geography"' in output
