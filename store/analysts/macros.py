"""Macros of ``analyst.duckdb``: Wilson's interval and the ready questions; made after the views, in this order.

Only names that DuckDB 1.4 knows are used, and none of an extension.
"""

from typing import Final

from clearhold.features.core.wilson import Z_95
from clearhold.store.analysts.part_files import quoted
from clearhold.store.analysts.questions import QUESTIONS

_SQUARE: Final = Z_95 * Z_95
_MIDDLE: Final = f"(part / n + {_SQUARE / 2!r} / n)"
_HALF: Final = f"({Z_95!r} * sqrt((part / n * (1 - part / n) + {_SQUARE / 4!r} / n) / n))"
_WILSON: Final = (
    ("wilson_low", f"CASE WHEN n > 0 THEN if(part = 0, 0.0, ({_MIDDLE} - {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
    ("wilson_high", f"CASE WHEN n > 0 THEN if(part = n, 1.0, ({_MIDDLE} + {_HALF}) / (1 + {_SQUARE!r} / n)) END"),
)
_OF_WILSON: Final = "A bound of Wilson's 95 % interval of the share that part is of n; null when n is 0."

STATEMENTS: Final[tuple[str, ...]] = (
    *(f"CREATE MACRO {name}(part, n) AS {body}" for name, body in _WILSON),
    *(f"COMMENT ON MACRO {name} IS '{quoted(_OF_WILSON)}'" for name, _ in _WILSON),
    *(
        statement
        for each in QUESTIONS
        for statement in (
            f"CREATE MACRO {each.name}({each.parameters}) AS TABLE {each.select}",
            f"COMMENT ON MACRO TABLE {each.name} IS '{quoted(each.comment)}'",
        )
    ),
)
