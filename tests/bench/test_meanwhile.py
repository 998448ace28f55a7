"""What a service did while it was measured: the figures of its metrics and its log."""

from bench.meanwhile import figures_of

COMMITS = {"_count": 4.0, "_sum": 0.08, "_bucket0.01": 1.0, "_bucket0.05": 4.0, "_bucket0.1": 4.0, "_bucket+Inf": 4.0}
LAGS = {"_count": 5.0, "_sum": 0.5, "_bucket0.1": 4.0, "_bucket0.25": 5.0, "_bucket+Inf": 5.0}


def test_given_commits_and_snapshots_then_the_longest_of_each_is_in_the_figures() -> None:
    commits, lags, snapshots, fsync = figures_of(
        COMMITS, LAGS, [{"stall_ms": 3.0}, {"stall_ms": 21.5}], [0.5, 1.0, 9.0]
    )

    assert (commits.value, commits.note) == (4, "mean 20 ms, all within 50 ms")
    assert (lags.value, lags.note) == (5, "mean 100 ms, all within 250 ms")
    assert (snapshots.value, snapshots.note) == (2, "longest stall of a scorer 21.5 ms")
    assert (fsync.value, fsync.beside) == (1.0, "p99 9.00 ms of 3")


def test_given_nothing_meanwhile_then_the_figures_say_none() -> None:
    commits, lags, snapshots, fsync = figures_of(dict.fromkeys(COMMITS, 0.0), dict.fromkeys(LAGS, 0.0), [], [])

    assert (commits.value, commits.note, lags.note, snapshots.value, fsync.value) == (0, "", "", 0, None)
