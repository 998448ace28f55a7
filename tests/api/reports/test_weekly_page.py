"""The page of a weekly report: what others named stays text, nothing is fetched, and every part is there."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Final

from clearhold.api.reports.page import page_of
from clearhold.api.reports.schemas import DetectorCount, EnteredHold, WeeklyAlerts, WeeklyReport
from clearhold.api.reports.weekly import WeekOfProgram, weekly_paragraphs
from clearhold.features.core.instants import week_of
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.vocabulary import Route
from clearhold.store.duck.reports.scores import ScorePoint
from tests.support.reported_bank import ReportedBank
from tests.support.reports import WEEK, a_kri, an_empty_week, statuses, transfers

HOSTILE: Final = "</style></title><script>alert(1)</script><img src=//evil.test onerror='x'>\"&\u202e"
KNOWN_TAGS: Final = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer", "div", "span", "p"),
    *("h1", "h2", "bdi", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "desc", "line", "polyline", "rect", "circle", "text"),
}


class Markup(HTMLParser):
    """The tags, attributes and visible words of a page."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_for(report: WeeklyReport, scores: tuple[int | None, ...] = (None,) * 12) -> WeekOfProgram:
    weeks = [week_of(WEEK.start - place * 604_800_000_000) for place in reversed(range(len(scores)))]
    points = [None if score is None else ScorePoint(0, score, "clear", 9) for score in scores]
    return WeekOfProgram(
        report=report,
        paragraphs=weekly_paragraphs(report, entered=len(report.entered_hold), now=WEEK.end),
        days=tuple(DayTotals(transfers=number, cents=number * 1_234_567) for number in range(7)),
        weeks=tuple(zip(weeks, points, strict=True)),
        policy_versions=("policy-v1",),
        score_versions=("trs-v1", "ers-v1"),
    )


def a_hostile_week() -> WeeklyReport:
    return an_empty_week(
        program_name=HOSTILE,
        kris=(a_kri("hold_share", "breach", "watch"), a_kri("reserve_coverage", "unmeasured", "ok", value=None)),
        transfers=transfers(21, "25925907", bands=(20, 1, 0, 0)),
        alerts=WeeklyAlerts(
            total=3,
            by_detector=(DetectorCount(detector=f"rule:{HOSTILE}", route=Route.REVIEWED, count=3),),
            by_status=statuses(open=3),
        ),
        entered_hold=(EnteredHold(type="entity", id=HOSTILE, score=78, n=64, at="2026-09-08T14:22:10.000Z"),),
    )


def test_given_hostile_names_and_ids_when_shown_then_they_stay_text() -> None:
    page = page_of(page_for(a_hostile_week(), (None, 0, 30, 100)))
    markup = Markup(page.body)

    assert set(markup.tags) <= KNOWN_TAGS
    assert not [name for name, _ in markup.attributes if name.startswith("on") or name in {"style", "src", "href"}]
    assert HOSTILE in markup.words
    assert b"<script" not in page.body
    assert page.body.count(b"</style>") == 1


def test_given_a_page_when_its_policy_is_read_then_only_its_own_style_sheet_counts() -> None:
    page = page_of(page_for(a_hostile_week()))
    (style,) = re.findall(r"<style>(.*?)</style>", page.body.decode(), flags=re.DOTALL)

    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert page.policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(rb"https?:", page.body)
    assert f"content: 'weekly:prg_1:{WEEK}'" in style


def test_given_a_key_that_would_end_the_style_sheet_when_shown_then_it_cannot() -> None:
    page = page_of(page_for(an_empty_week(key="weekly:</style>'}*{display:none}:2026-W37")))

    assert page.body.count(b"</style>") == 1
    assert "content: 'weekly:styledisplay:none:2026-W37'" in page.body.decode()


def test_given_a_week_when_shown_then_status_is_a_word_and_a_shape_and_every_chart_has_its_figures_in_words() -> None:
    markup = Markup(page_of(page_for(a_hostile_week(), (None, 0, 30, 100))).body)

    assert "■ breach" in markup.words
    assert "○ unmeasured" in markup.words
    assert "W34: not measured; W35: 0; W36: 30; W37: 100." in markup.words
    assert (
        "● clear: 20 (95.2\xa0%); ▲ review: 1 (4.8\xa0%); ■ hold: 0 (0.0\xa0%); ○ unscored: 0 (0.0\xa0%)."
        in markup.words
    )
    ids = [value for name, value in markup.attributes if name == "id"]
    named = [value.split() for name, value in markup.attributes if name == "aria-labelledby"]
    assert len(named) == markup.tags.count("svg") == 5
    assert sorted(each for pair in named for each in pair) == sorted(ids)


def test_given_an_empty_week_when_shown_then_it_says_what_is_missing() -> None:
    words = Markup(page_of(page_for(an_empty_week())).body).words

    assert "No snapshot of the indicators had been taken by the end of the week." in words
    assert "Nothing came into the hold band in the week." in words
    assert "Week not over" not in words
    assert "Simulated program" not in words


def test_given_a_simulated_week_that_is_not_over_when_shown_then_the_page_is_marked() -> None:
    report = an_empty_week(generated_at="2026-09-10T00:00:00.000Z", simulated=True)

    assert {"Week not over", "Simulated program"} <= set(Markup(page_of(page_for(report)).body).words)


def test_given_a_program_when_its_page_is_read_then_it_is_html_with_the_summary_of_the_json(
    bank: ReportedBank,
) -> None:
    path = f"/api/reports/weekly/{bank.program['id']}"
    answer = bank.get(path, week="2026-W21", format="html")
    report = bank.read(path, week="2026-W21")

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert answer.headers["cache-control"] == "no-store"
    words = Markup(answer.content).words
    assert {"Payroll", f"{report['transfers']['count']:,}", report["key"]} <= set(words)
    assert report["summary"] in " ".join(words)
