"""The feature catalogue as a page, ``docs/features.md``."""

from clearhold.features.catalogue.vector import FEATURES


def markdown() -> str:
    """The catalogue as a page."""
    head = (
        "# Features\n\nTaken at the transfer's own time over half-open windows `(t - w, t]`. "
        "Null means not measured and is never 0.\nMade from `features/catalogue/`; a test keeps the two equal. "
        "The column is its name in tables and Parquet files.\n\n"
        "| feature | type | unit | window | meaning | column |\n|---|---|---|---|---|---|\n"
    )
    rows = (f"| `{f.name}` | {f.type} | {f.unit} | {f.window} | {f.meaning} | `{f.column}` |" for f in FEATURES)
    return head + "\n".join(rows) + "\n"
