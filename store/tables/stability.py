"""The population stability index in SQL: its classes and its shares, those of ``clearhold.features.core.stability``."""

from clearhold.features.core.stability import ADDED, LAST_TEN, SCORE_CLASSES, UNSCORED_CLASS


def score_class_sql(score: str) -> str:
    """The class of a score. DuckDB's ``least`` leaves out null."""
    return f"if({score} IS NULL, {UNSCORED_CLASS}, least({score} // 10, {LAST_TEN}))"


def share_sql(count: str, whole: str) -> str:
    """The share of a class with ``count`` among all classes, with ``whole``."""
    return f"({count} + {ADDED}) / ({whole} + {ADDED * SCORE_CLASSES})"
