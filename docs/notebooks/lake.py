"""The lake, question by question: a notebook for analysts. ``make notebook DATA=DIR``, or with marimo's own commands

    marimo edit docs/notebooks/lake.py -- --data DIR      to read and to change
    marimo run docs/notebooks/lake.py -- --data DIR       to read

DIR is a data directory, of a service that runs or is stopped; without it, ``CLEARHOLD_DATA`` names it, and else it is
the demo's. The lake is opened read-only and nothing else is: no service, no other file, no network.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Clearhold: the lake")


@app.cell(hide_code=True)
def _():
    import os
    import pathlib
    from datetime import timedelta
    from itertools import pairwise

    import altair as alt
    import duckdb
    import marimo as mo
    import polars as pl

    return alt, duckdb, mo, os, pairwise, pathlib, pl, timedelta


@app.cell(hide_code=True)
def _(duckdb, mo, os, pathlib):
    data = pathlib.Path(
        mo.cli_args().get("data") or os.environ.get("CLEARHOLD_DATA") or mo.notebook_dir().parents[1] / ".demo" / "data"
    )
    lake_file = data / "lake" / "analyst.duckdb"
    mo.stop(
        not lake_file.is_file(),
        mo.callout(
            mo.md(
                f"**There is no lake in `{data}`.** Name a data directory: `make notebook DATA=DIR`, or "
                "`-- --data DIR` behind a command of marimo's; a service makes its lake within a minute of its start. "
                "`make demo` fills one in `.demo/data`, and `python -m bench.detection.lake DIR` another, with a "
                "year of labelled transfers."
            ),
            kind="warn",
        ),
    )
    lake = duckdb.connect(str(lake_file), read_only=True)
    return data, lake


@app.cell(hide_code=True)
def _(data, lake, mo):
    as_of, transfers_n, first_at, last_at = lake.execute(
        "SELECT (SELECT max(as_of) FROM lake_status), count(*), min(taken_at), max(taken_at) FROM scorings()"
    ).fetchone()
    mo.stop(
        not transfers_n,
        mo.callout(
            mo.md(
                f"**The lake in `{data}` has no scored transfer yet.** It has them half a minute after the service "
                "took their events in; then run this cell again."
            ),
            kind="warn",
        ),
    )
    programs = lake.execute("SELECT slug, id FROM programs ORDER BY slug, id").fetchall()
    return as_of, first_at, last_at, programs


@app.cell(hide_code=True)
def _(first_at, last_at, mo, programs):
    every_program = "all programs"
    program_choice = mo.ui.dropdown(
        {every_program: None} | {f"{slug} ({program})": program for slug, program in programs},
        value=every_program,
        label="Program",
    )
    first_day, last_day = first_at.date(), last_at.date()
    period_choice = mo.ui.date_range(
        start=first_day, stop=last_day, value=(first_day, last_day), label="Transfers from, to"
    )
    mature_choice = mo.ui.switch(label="Mature labels only (60 days)")
    return mature_choice, period_choice, program_choice


@app.cell(hide_code=True)
def _(
    as_of,
    data,
    lake,
    mature_choice,
    mo,
    period_choice,
    pl,
    program_choice,
    timedelta,
):
    first, last = period_choice.value
    within = {"program": program_choice.value, "since": first, "until": last + timedelta(days=1)}
    of_labels = within | {"as_of": as_of, "mature_only": mature_choice.value}

    def answer(question: str, **arguments: object) -> pl.DataFrame:
        """The rows of a ready question."""
        named = ", ".join(f"{name} := ${name}" for name in arguments)
        return lake.execute(f"FROM {question}({named})", arguments).pl()

    def measured(share: float | None, low: float | None = None, high: float | None = None) -> str:
        """A share in percent, with its interval; a dash where there was nothing to measure."""
        if share is None:
            return "\N{EN DASH}"
        interval = "" if low is None or high is None else f" ({low:.1%} to {high:.1%})"
        return f"{share:.1%}{interval}"

    def with_rows(chart: object, rows: pl.DataFrame) -> mo.Html:
        """A plot, and below it the rows that it was made of."""
        table = mo.ui.table(rows.with_columns(pl.selectors.float().round(4)), selection=None, page_size=20)
        return mo.vstack([chart, mo.accordion({"The rows": table})])

    labelled_n, bad_n = lake.execute(
        "SELECT count(*), count(*) FILTER (is_bad) FROM labelled(program := $program, since := $since, "
        "until := $until, as_of := $as_of, mature_only := $mature_only)",
        of_labels,
    ).fetchone()
    scored_n, unscored_n = lake.execute(
        "SELECT count(score), count(*) - count(score) "
        "FROM scorings(program := $program, since := $since, until := $until)",
        within,
    ).fetchone()

    def needs_labels(title: str) -> mo.Html:
        """The message in place of a question on outcomes, for a lake without labels."""
        sentence = (
            "No transfer of this choice has a label, so nothing can be measured here. Labels come from returns and "
            "from `POST /api/labels`."
        )
        return mo.vstack([mo.md(f"## {title}"), mo.callout(mo.md(sentence), kind="warn")])

    mo.vstack(
        [
            mo.md(f"""
                # The lake, question by question

                Everything that the service in `{data}` had committed by **{as_of:%Y-%m-%d %H:%M} UTC**; ages are as
                of then. Scores are from the first scoring of each transfer, labels are the current ones. Every share
                has its number of observations and its 95 % Wilson interval. Each plot is one ready question of the
                lake; `docs/analysts.md` has them as SQL.
            """),
            mo.hstack([program_choice, period_choice, mature_choice], justify="start", gap=2, wrap=True),
            mo.hstack(
                [
                    mo.stat(f"{scored_n + unscored_n:,}", label="Transfers", bordered=True),
                    mo.stat(f"{unscored_n:,}", label="Without a score", bordered=True),
                    mo.stat(f"{labelled_n:,}", label="With a label", bordered=True),
                    mo.stat(f"{bad_n:,}", label="Known as bad", bordered=True),
                ],
                widths="equal",
            ),
        ]
    )
    return (
        answer,
        labelled_n,
        measured,
        needs_labels,
        of_labels,
        with_rows,
        within,
    )


@app.cell(hide_code=True)
def _(alt):
    width = 640
    band_order = ["clear", "review", "hold", "unscored"]
    colours = ["#0072b2", "#e69f00", "#d55e00", "#999999"]  # kept apart by every kind of colour vision
    blue, orange, red, grey = colours
    band_colour = alt.Color("band:N").scale(domain=band_order, range=colours).title("band")
    share_axis = alt.Axis(format="%")
    volume_axis = alt.Axis(values=[0, 10, 1_000, 100_000, 10_000_000], labelExpr="format(datum.value, '~s')")
    return (
        band_colour,
        band_order,
        blue,
        grey,
        orange,
        red,
        share_axis,
        volume_axis,
        width,
    )


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    band_colour,
    band_order,
    labelled_n,
    measured,
    mo,
    needs_labels,
    of_labels,
    pairwise,
    pl,
    share_axis,
    volume_axis,
    width,
    with_rows,
):
    mo.stop(not labelled_n, needs_labels("Bands against outcomes"))
    outcomes = answer("band_outcomes", **of_labels).with_columns(
        note=pl.struct("bad", "n").map_elements(
            lambda row: f"{row['bad']:,} bad of {row['n']:,}" if row["n"] else "no labels", return_dtype=pl.String
        )
    )
    _base = alt.Chart(outcomes).encode(y=alt.Y("band:N").sort(band_order).title(None), color=band_colour.legend(None))
    _tips = [
        "band",
        "n",
        "bad",
        *(alt.Tooltip(f"{name}:Q", format=".2%") for name in ("bad_share", "low", "high", "mature_bad_share")),
        "mature_n",
    ]
    _interval = _base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        x=alt.X("low:Q").axis(share_axis).title("share of labelled transfers that are bad"), x2="high:Q"
    )
    _share = _base.mark_point(filled=True, size=130, opacity=1).encode(x="bad_share:Q", tooltip=_tips)
    _count = _base.mark_text(align="left", dx=12, dy=-10).encode(x=alt.X("high:Q"), text="note:N")
    _volume = (
        alt.Chart(outcomes)
        .mark_bar()
        .encode(
            y=alt.Y("band:N").sort(band_order).axis(None),
            x=alt.X("transfers:Q").scale(type="symlog").title("transfers (log)").axis(volume_axis),
            color=band_colour.legend(None),
            tooltip=["band", "transfers"],
        )
        .properties(width=150, height=180)
    )
    bands_chart = (_interval + _share + _count).properties(width=width - 230, height=180) | _volume
    _shares = [row for row in outcomes.iter_rows(named=True) if row["band"] != "unscored" and row["n"]]
    _pairs = list(pairwise(_shares))
    _verdict = (
        "Only one band has labels, so nothing can be compared."
        if not _pairs
        else "It does **not**: a band is better than the one below it."
        if any(one["low"] > other["high"] for one, other in _pairs)
        else "It does, and no two intervals touch."
        if all(one["high"] < other["low"] for one, other in _pairs)
        else "Intervals overlap, so there are too few labels to say that it does."
    )
    mo.vstack(
        [
            mo.md(f"""
                ## Bands against outcomes

                How often were transfers of a band bad? The share must rise from clear to review to hold. {_verdict}
                {"; ".join(f"{row['band']} {measured(row['bad_share'], row['low'], row['high'])}" for row in _shares)}.
            """),
            with_rows(bands_chart, outcomes.drop("note")),
        ]
    )
    return


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    blue,
    grey,
    labelled_n,
    mo,
    needs_labels,
    of_labels,
    pl,
    share_axis,
    width,
    with_rows,
):
    mo.stop(not labelled_n, needs_labels("Reliability"))
    reliability = answer("reliability", **of_labels).with_columns(
        scores=pl.format("{} to {}", "score_from", "score_to")
    )
    _known = reliability.filter(pl.col("p").is_not_null() & pl.col("observed").is_not_null())
    _most = min(1.0, 1.1 * max([0.01, *_known["p"], *_known["high"]]))
    _scale = alt.Scale(type="sqrt", domain=[0, _most])
    _diagonal = (
        alt.Chart(pl.DataFrame({"p": [0.0, _most], "observed": [0.0, _most]}))
        .mark_line(color=grey, strokeDash=[4, 4], clip=True)
        .encode(x="p:Q", y="observed:Q")
    )
    _base = alt.Chart(_known).encode(
        x=alt.X("p:Q")
        .scale(_scale)
        .axis(share_axis)
        .title("share of bad before the split, of that tenth of the scale (root)")
    )
    _interval = _base.mark_rule(strokeWidth=2, opacity=0.5, color=blue).encode(
        y=alt.Y("low:Q").scale(_scale).axis(share_axis).title("share of bad after it (root)"), y2="high:Q"
    )
    _point = _base.mark_point(filled=True, opacity=1, color=blue).encode(
        y="observed:Q",
        size=alt.Size("n:Q").scale(type="log", range=[40, 400]).title("labelled after the split"),
        tooltip=["scores", "fitted_n", alt.Tooltip("p:Q", format=".2%"), "n", "bad"]
        + [alt.Tooltip(f"{name}:Q", format=".2%") for name in ("observed", "low", "high")],
    )
    _name = _base.mark_text(align="left", dx=10, dy=8, fontSize=10).encode(y="observed:Q", text="scores:N")
    reliability_chart = (_diagonal + _interval + _point + _name).properties(width=width - 180, height=380)
    _ece, _brier = reliability.select(pl.col("ece").max(), pl.col("brier").max()).row(0)
    mo.vstack(
        [
            mo.md(f"""
                ## Reliability

                Does a score keep its meaning over time? On the dashed line it does; above it, transfers of such
                scores have become worse. A score is not a probability; the observed bad share is.
                {
                "Fewer than 50 bad transfers before the split, or no labels after it: use the bands."
                if _ece is None
                else f"Mean distance from the line (ECE) **{_ece:.4f}**, Brier score **{_brier:.4f}**."
            }
            """),
            with_rows(reliability_chart, reliability.drop("scores")),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    threshold = mo.ui.slider(0, 100, step=5, value=30, label="Alert from a score of", show_value=True)
    return (threshold,)


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    blue,
    grey,
    labelled_n,
    measured,
    mo,
    needs_labels,
    of_labels,
    orange,
    pl,
    share_axis,
    threshold,
    volume_axis,
    width,
    with_rows,
):
    mo.stop(not labelled_n, needs_labels("Precision and recall by score"))
    cutoffs = answer("precision_recall", **of_labels)
    curves = pl.concat(
        cutoffs.select(
            "score_from",
            pl.lit(name).alias("measure"),
            pl.col(name).alias("share"),
            pl.col(f"{name}_low").alias("low"),
            pl.col(f"{name}_high").alias("high"),
            pl.col(of).alias("of"),
        )
        for name, of in (("precision", "n"), ("recall", "bad_n"))
    )
    _colour = alt.Color("measure:N").scale(domain=["precision", "recall"], range=[blue, orange]).title(None)
    _span = alt.Scale(domain=[-3, 103], nice=False)
    _across = alt.X("score_from:Q").scale(_span).title(None)
    _base = alt.Chart(curves).encode(x=_across, color=_colour)
    _interval = _base.mark_area(opacity=0.2).encode(
        y=alt.Y("low:Q").scale(domain=[0, 1]).axis(share_axis).title("share"), y2="high:Q"
    )
    _line = _base.mark_line(point=True).encode(
        y="share:Q",
        tooltip=[
            "score_from",
            "measure",
            "of",
            *(alt.Tooltip(f"{name}:Q", format=".1%") for name in ("share", "low", "high")),
        ],
    )
    _cut = alt.Chart(pl.DataFrame({"score_from": [threshold.value]})).mark_rule(strokeDash=[4, 4], color=grey, size=2)
    _volume = (
        alt.Chart(cutoffs)
        .mark_bar(color=grey, size=20)
        .encode(
            x=alt.X("score_from:Q").scale(_span).title("alert from this score on"),
            y=alt.Y("alerted:Q").scale(type="symlog").title("transfers (log)").axis(volume_axis),
            tooltip=["score_from", "alerted"],
        )
    )
    _curves = (_interval + _line + _cut.encode(x="score_from:Q")).properties(width=width - 100, height=280)
    precision_recall_chart = (_curves & _volume.properties(width=width - 100, height=90)).resolve_scale(x="shared")
    _at = cutoffs.row(by_predicate=pl.col("score_from") == threshold.value, named=True)
    _precision = measured(_at["precision"], _at["precision_low"], _at["precision_high"])
    _recall = measured(_at["recall"], _at["recall_low"], _at["recall_high"])
    mo.vstack(
        [
            mo.md("""
                ## Precision and recall by score

                If every transfer from a score upwards were alerted, how many alerts would there be, and how many of
                them on bad transfers? Precision is over labelled transfers, recall over transfers known as bad. Most
                labels come from alerted transfers, so recall is optimistic.
            """),
            threshold,
            mo.md(
                f"From **{threshold.value}** on: **{_at['alerted']:,}** transfers; of {_at['n']:,} labelled ones bad "
                f"are **{_precision}**; of {_at['bad_n']:,} known bad ones it finds **{_recall}**."
            ),
            with_rows(precision_recall_chart, cutoffs),
        ]
    )
    return


@app.cell(hide_code=True)
def _(lake):
    reason_names = lake.execute(
        "SELECT reason_id, reason_id || ' ' || any_value(signal) AS reason FROM transfer_reasons GROUP BY reason_id"
    ).pl()
    return (reason_names,)


@app.cell(hide_code=True)
def _(mo):
    least_n = mo.ui.slider(1, 200, value=30, label="Fewest labelled transfers of a reason", show_value=True)
    return (least_n,)


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    grey,
    labelled_n,
    least_n,
    mo,
    needs_labels,
    of_labels,
    pl,
    reason_names,
    width,
    with_rows,
):
    mo.stop(not labelled_n, needs_labels("Lift of reasons"))
    lifts = (
        answer("reason_lift", **of_labels)
        .filter(pl.col("n") >= least_n.value)
        .join(reason_names, on="reason_id", how="left")
        .with_columns(
            lift_low=pl.col("low") / pl.col("base_share"),
            lift_high=pl.col("high") / pl.col("base_share"),
        )
        .sort("lift", descending=True, nulls_last=True)
    )
    _base = alt.Chart(lifts).encode(
        y=alt.Y("reason:N").sort(lifts["reason"].to_list()).title(None).axis(labelLimit=280)
    )
    _interval = _base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("lift_low:Q")
        .scale(type="symlog")
        .axis(values=[0, 1, 2, 5, 10, 20, 50, 100, 200, 500])
        .title("times as often bad as all labelled transfers (log)"),
        x2="lift_high:Q",
        color=alt.condition("datum.lift_low > 1", alt.value("#d55e00"), alt.value(grey)),
    )
    _point = _base.mark_point(filled=True, opacity=1).encode(
        x="lift:Q",
        size=alt.Size("n:Q").scale(type="log", range=[40, 300]).title("labelled with it"),
        color=alt.condition("datum.lift_low > 1", alt.value("#d55e00"), alt.value(grey)),
        tooltip=["reason", "n", "bad", alt.Tooltip("lift:Q", format=".2f")]
        + [alt.Tooltip(f"{name}:Q", format=".2%") for name in ("bad_share", "low", "high", "base_share")],
    )
    _even = alt.Chart(pl.DataFrame({"lift": [1]})).mark_rule(strokeDash=[4, 4], color=grey).encode(x="lift:Q")
    lift_chart = (_even + _interval + _point).properties(width=width - 330, height=alt.Step(20))
    mo.vstack(
        [
            mo.md("""
                ## Lift of reasons

                Which reasons point at bad transfers? A lift of 1, the dashed line, says nothing. In colour are
                those whose interval lies above it.
            """),
            least_n,
            with_rows(lift_chart, lifts.drop("reason")),
        ]
    )
    return


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    band_colour,
    grey,
    mo,
    orange,
    pl,
    red,
    share_axis,
    width,
    with_rows,
    within,
):
    weeks = answer("weekly_drift", **within)
    _bands = weeks.unpivot(
        on=["review_share", "hold_share", "unscored_share"],
        index=["week", "n"],
        variable_name="band",
        value_name="share",
    ).with_columns(pl.col("band").str.strip_suffix("_share"))
    _across = alt.X("week:T").title(None)
    _shares = (
        alt.Chart(_bands)
        .mark_line(point=True)
        .encode(
            x=_across,
            y=alt.Y("share:Q").axis(share_axis).title("share of transfers"),
            color=band_colour,
            tooltip=["week:T", "band", alt.Tooltip("share:Q", format=".2%"), "n"],
        )
        .properties(width=width - 100, height=200)
    )
    _index = (
        alt.Chart(weeks)
        .mark_bar(size=8)
        .encode(
            x=_across,
            y=alt.Y("psi:Q").scale(domain=[0, max(0.3, weeks["psi"].max() or 0)]).title("PSI"),
            color=alt.Color("psi:Q")
            .scale(type="threshold", domain=[0.1, 0.25], range=[grey, orange, red])
            .legend(None),
            tooltip=["week:T", "n", alt.Tooltip("psi:Q", format=".3f"), "median_n"],
        )
    )
    _lines = alt.Chart(pl.DataFrame({"psi": [0.1, 0.25], "meaning": ["look", "act"]})).encode(y="psi:Q")
    _psi = (
        _index
        + _lines.mark_rule(strokeDash=[4, 4], color=grey)
        + _lines.mark_text(align="left", baseline="bottom", dx=4, color=grey).encode(x=alt.value(0), text="meaning:N")
    ).properties(width=width - 100, height=120)
    drift_chart = (_shares & _psi).resolve_scale(x="shared", color="independent")
    mo.vstack(
        [
            mo.md("""
                ## Drift by week

                How do scores change from week to week? The stability index (PSI) compares a week with the one
                before: look from 0.10, act from 0.25. A rise of unscored ones is a data problem before it is a
                finding. The first and the last week may be parts of one.
            """),
            with_rows(drift_chart, weeks),
        ]
    )
    return


@app.cell(hide_code=True)
def _(alt, answer, mo, reason_names, width, with_rows, within):
    top_reasons = answer("weekly_reasons", **within).join(reason_names, on="reason_id", how="left")
    reasons_chart = (
        alt.Chart(top_reasons)
        .mark_rect()
        .encode(
            x=alt.X("yearmonthdate(week):O").title(None).axis(format="%d %b", labelAngle=-60, labelOverlap=True),
            y=alt.Y("reason:N").sort(op="sum", field="fired", order="descending").title(None).axis(labelLimit=280),
            color=alt.Color("share:Q").scale(scheme="oranges", domainMin=0).legend(format="%").title("of them"),
            tooltip=["week:T", "reason", "place", "fired", "n", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=width - 330, height=alt.Step(18))
    )
    mo.vstack(
        [
            mo.md("""
                ### What review and hold are made of

                The five reasons that transfers in review and hold had most, week by week, as a share of those
                transfers. A colour that begins or ends is a change of traffic, or of a card.
            """),
            with_rows(reasons_chart, top_reasons.drop("reason"))
            if top_reasons.height
            else mo.callout("No transfer of this choice is in review or hold."),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo, period_choice):
    _first, _last = period_choice.value
    split_choice = mo.ui.date(
        start=_first,
        stop=_last,
        value=_first + (_last - _first) / 2,
        label="First day of the second period",
    )
    return (split_choice,)


@app.cell(hide_code=True)
def _(
    alt,
    answer,
    blue,
    mo,
    orange,
    pl,
    share_axis,
    split_choice,
    width,
    with_rows,
    within,
):
    _periods = {
        "before_from": within["since"],
        "before_to": split_choice.value,
        "after_from": split_choice.value,
        "after_to": within["until"],
    }
    stability = answer("score_stability", **_periods, program=within["program"])
    classes = stability.with_columns(
        scores=pl.when(pl.col("score_from").is_null())
        .then(pl.lit("none"))
        .otherwise(pl.format("{}\N{EN DASH}{}", "score_from", "score_to"))
    )
    _periods_long = pl.concat(
        classes.select(
            "scores",
            pl.lit(period).alias("period"),
            pl.col(f"n_{period}").alias("n"),
            pl.col(f"share_{period}").alias("share"),
            "contribution",
        )
        for period in ("before", "after")
    )
    stability_chart = (
        alt.Chart(_periods_long)
        .mark_bar()
        .encode(
            x=alt.X("scores:N").sort(classes["scores"].to_list()).title("score").axis(labelAngle=0),
            xOffset=alt.XOffset("period:N").sort(["before", "after"]),
            y=alt.Y("share:Q").scale(type="sqrt").axis(share_axis).title("share of transfers (root)"),
            color=alt.Color("period:N").scale(domain=["before", "after"], range=[blue, orange]).title(None),
            tooltip=[
                "scores",
                "period",
                "n",
                alt.Tooltip("share:Q", format=".2%"),
                alt.Tooltip("contribution:Q", format=".4f"),
            ],
        )
        .properties(width=width - 100, height=220)
    )
    _psi = stability["psi"].max()
    _verdict = (
        "One of the periods has no transfer."
        if _psi is None
        else f"PSI **{_psi:.3f}**: " + ("act." if _psi >= 0.25 else "look." if _psi >= 0.1 else "stable.")
    )
    mo.vstack(
        [
            mo.md("### Stability of the population\n\nDo scores have the same distribution before and after a day?"),
            split_choice,
            mo.md(_verdict),
            with_rows(stability_chart, stability),
        ]
    )
    return


@app.cell(hide_code=True)
def _(alt, answer, as_of, measured, mo, pl, width, with_rows, within):
    ageing = answer("alert_ageing", program=within["program"], as_of=as_of)
    mo.stop(not ageing.height, mo.callout("No alert was opened yet, so there is nothing that waits."))
    _ages = {
        "under_1_day": "under a day",
        "under_3_days": "under 3 days",
        "under_7_days": "under 7 days",
        "under_30_days": "under 30 days",
        "older": "older",
    }
    _waiting = ageing.unpivot(
        on=list(_ages), index=["sla_tier"], variable_name="age", value_name="alerts"
    ).with_columns(
        pl.col("age").replace_strict(_ages), place=pl.col("age").replace_strict({age: n for n, age in enumerate(_ages)})
    )
    _open = (
        alt.Chart(_waiting, title="Open alerts by age")
        .mark_bar()
        .encode(
            y=alt.Y("sla_tier:N").title(None),
            x=alt.X("alerts:Q").title("alerts").axis(format=",d", tickMinStep=1),
            color=alt.Color("age:N")
            .scale(domain=list(_ages.values()), scheme="orangered")
            .title("open for")
            .legend(orient="bottom", columns=3),
            order="place:Q",
            tooltip=["sla_tier", "age", "alerts"],
        )
        .properties(width=width / 2 - 60, height=alt.Step(34))
    )
    _hours = (
        alt.Chart(ageing, title="Hours from opening to closing: median and 90 %")
        .mark_bar(height=8, opacity=0.4)
        .encode(
            y=alt.Y("sla_tier:N").title(None),
            x=alt.X("closing_hours_p50:Q").title("hours"),
            x2="closing_hours_p90:Q",
            tooltip=["sla_tier", "closed_n"]
            + [alt.Tooltip(f"closing_hours_{name}:Q", format=",.1f") for name in ("p50", "p90")],
        )
    )
    _ends = alt.Chart(ageing).mark_tick(thickness=3, height=20).encode(y="sla_tier:N")
    ageing_chart = alt.hconcat(
        _open,
        (_hours + _ends.encode(x="closing_hours_p50:Q") + _ends.encode(x="closing_hours_p90:Q")).properties(
            width=width / 2 - 160, height=alt.Step(34)
        ),
    )
    _in_time = "; ".join(
        f"{row['sla_tier']}: {measured(row['in_time_share'], row['low'], row['high'])} of {row['due_n']:,}"
        for row in ageing.iter_rows(named=True)
        if row["due_n"]
    )
    mo.vstack(
        [
            mo.md(f"""
                ## Ageing of alerts

                How long do alerts wait, and are they decided in time? All alerts of the program, in any period; ages
                of open alerts are as of {as_of:%Y-%m-%d %H:%M}. **{ageing["overdue"].sum():,}** of
                {ageing["open_n"].sum():,} open alerts are overdue. Closed in time: {_in_time or "none had a due time"}.
            """),
            with_rows(ageing_chart, ageing),
        ]
    )
    return


@app.cell(hide_code=True)
def _(alt, answer, blue, grey, mo, orange, pl, width, with_rows, within):
    funnel = answer("funnel", **within)
    _kinds = ["events", "transfers", "alerts"]  # the first word of a step
    steps = funnel.with_columns(
        kind=pl.col("step").str.split(" ").list.first(),
        note=pl.struct("n", "share").map_elements(
            lambda row: f"{row['n']:,}" + ("" if row["share"] is None else f"  ({row['share']:.1%})"),
            return_dtype=pl.String,
        ),
    ).with_columns(
        of_start=pl.when(pl.col("n").max().over("kind") > 0).then(pl.col("n") / pl.col("n").first().over("kind"))
    )
    _base = alt.Chart(steps).encode(
        y=alt.Y("step:N").sort(steps["step"].to_list()).title(None).axis(labelLimit=220),
        x=alt.X("of_start:Q")
        .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
        .scale(domain=[0, 1.3])
        .title("share of the first step of its kind"),
    )
    funnel_chart = (
        _base.mark_bar(opacity=0.7).encode(
            color=alt.Color("kind:N").scale(domain=_kinds, range=[grey, blue, orange]).legend(None),
            tooltip=["step", "n", "of_n"]
            + [alt.Tooltip(f"{name}:Q", format=".2%") for name in ("share", "low", "high")],
        )
        + _base.mark_text(align="left", dx=6).encode(text="note:N")
    ).properties(width=width - 220, height=alt.Step(28))
    mo.vstack(
        [
            mo.md("""
                ## Funnel

                How much goes from event to decision? In brackets the share of the step that it is part of. Events
                count by their delivery, transfers by their first scoring, alerts by their opening, each within the
                period.
            """),
            with_rows(funnel_chart, funnel),
        ]
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Your own question

    The cell below is plain SQL on the lake, and its result a polars frame: change it, or copy it. The file describes
    every view, column and ready question:
    `SELECT view_name, comment FROM duckdb_views() WHERE NOT internal`.

    Here: are wires worse than transfers on other rails, and is it the same for money that comes in?
    """)
    return


@app.cell
def _(lake, mo):
    by_rail = mo.sql(
        """
        SELECT rail, direction, count(*) AS n, count(*) FILTER (is_bad) AS bad,
            if(n > 0, bad / n, NULL) AS bad_share, wilson_low(bad, n) AS low, wilson_high(bad, n) AS high
        FROM labelled() AS known
            JOIN transfers ON transfers.id = transfer_id AND transfers.program_id = known.program_id
        GROUP BY rail, direction ORDER BY rail, direction
        """,
        engine=lake,
    )
    return (by_rail,)


@app.cell
def _(alt, by_rail, mo, needs_labels, share_axis, width):
    mo.stop(not by_rail.height, needs_labels("By rail and direction"))
    _base = alt.Chart(by_rail).encode(
        y=alt.Y("rail:N").title(None), yOffset="direction:N", color=alt.Color("direction:N").title(None)
    )
    own_chart = (
        _base.mark_rule(strokeWidth=3, opacity=0.5).encode(
            x=alt.X("low:Q").axis(share_axis).title("share of labelled transfers that are bad"), x2="high:Q"
        )
        + _base.mark_point(filled=True, size=90, opacity=1).encode(
            x="bad_share:Q",
            tooltip=["rail", "direction", "n", "bad"]
            + [alt.Tooltip(f"{name}:Q", format=".2%") for name in ("bad_share", "low", "high")],
        )
    ).properties(width=width - 180, height=alt.Step(22))
    own_chart
    return


if __name__ == "__main__":
    app.run()
