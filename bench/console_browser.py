"""A browser in the queue: rows by ``j``, workspaces, scrolling through the list; times are of the browser's own clock.

``j`` to paint is from the key to the second frame in which the next row is marked, which is when the first one is on
the screen. The workspace of the next row is looked for in each frame, after a pause in which a person reads, so that
it may have been read ahead.

Unit    milliseconds
"""

from collections.abc import Iterator
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

from bench.harness import Figure, Promise, Run, percentile

KEY_MS: Final = Promise(50)
NEXT_MS: Final = Promise(100)
NODES: Final = Promise(2_500)
FRAMES_PER_S: Final = Promise(58, at_least=True)
SPEED: Final = 3_000  # pixels a second
_READS_MS: Final = 1_500
_SCROLLS_S: Final = 8
_SETTLES_MS: Final = 3_000
_WIDTH: Final = 1440
_HEIGHT: Final = 900
_FORM: Final = "form[data-draft]"
_KEY: Final = """() => new Promise((resolve) => {
  const marked = () => document.querySelector('#stacks [aria-current]')?.id;
  const before = marked();
  document.addEventListener('keydown', () => {
    const began = performance.now();
    const frame = () => (marked() === before ? requestAnimationFrame(frame)
      : requestAnimationFrame(() => resolve(performance.now() - began)));
    requestAnimationFrame(frame);
  }, {once: true, capture: true});
})"""
_NEXT: Final = """() => new Promise((resolve) => {
  const shown = () => document.querySelector('#preview:not([inert]) form[data-draft]')?.dataset.draft;
  const before = shown();
  document.addEventListener('keydown', () => {
    const began = performance.now();
    const frame = () => (shown() === undefined || shown() === before ? requestAnimationFrame(frame)
      : requestAnimationFrame(() => resolve(performance.now() - began)));
    requestAnimationFrame(frame);
  }, {once: true, capture: true});
})"""
_SCROLL: Final = """([speed, seconds]) => new Promise((resolve) => {
  const pane = document.getElementById('queue-pane');
  let began, last, frames = 0, longest = 0, most = 0;
  const frame = (at) => {
    began ??= at;
    if (last !== undefined) longest = Math.max(longest, at - last);
    last = at;
    frames += 1;
    if (frames % 30 === 0) most = Math.max(most, document.querySelectorAll('*').length);
    pane.scrollTop = (at - began) * speed / 1000;
    if (at - began < seconds * 1000) requestAnimationFrame(frame);
    else resolve({perSecond: 1000 * frames / (at - began), longest, most});
  };
  requestAnimationFrame(frame);
})"""


def browsed(run: Run, chromium: str, url: str, token: str, stories: str) -> Iterator[Figure]:
    """``stories`` is the path of the queue in which workspaces are opened."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            page.goto(f"{url}/console/sign-in")
            page.locator("input[name=token]").fill(token)
            page.locator("input[name=name]").fill("browser@bank.example")
            page.locator("input[name=name]").press("Enter")
            page.wait_for_url("**/console/**")
            yield from _keys(page, url + stories, run.size(40, 6))
            page.goto(f"{url}/console/queue")
            page.locator(_FORM).first.wait_for()
            page.wait_for_timeout(_SETTLES_MS)
            yield from _scrolled(page, run.size(_SCROLLS_S, 3))
        finally:
            browser.close()


def _keys(page: Page, queue: str, count: int) -> Iterator[Figure]:
    """Each series begins at the top of the queue, which has more rows than ``count``."""
    painted, opened = list[float](), list[float]()
    for script, times in ((_KEY, painted), (_NEXT, opened)):
        page.goto(queue)
        page.locator(_FORM).first.wait_for()
        page.wait_for_timeout(_SETTLES_MS)
        for _ in range(count):
            times.append(_timed(page, script))
            page.wait_for_timeout(_READS_MS)
    for name, times, promise in (("j to paint", painted, KEY_MS), ("j to the next workspace", opened, NEXT_MS)):
        times.sort()
        beside = f"p50 {percentile(times, 0.5):.0f} ms of {len(times)}"
        yield Figure(
            name=f"browser: {name}, p95", value=percentile(times, 0.95), unit="ms", promise=promise, beside=beside
        )


def _timed(page: Page, script: str) -> float:
    """Milliseconds that the script measures of a ``j``."""
    with page.expect_console_message(lambda message: message.text.startswith("timed ")) as said:
        page.evaluate(f"() => {{ ({script})().then((ms) => console.log(`timed ${{ms}}`)); }}")
        page.keyboard.press("j")
    return float(said.value.text.partition(" ")[2])


def _scrolled(page: Page, seconds: int) -> Iterator[Figure]:
    figures: dict[str, Any] = page.evaluate(_SCROLL, [SPEED, seconds])
    yield Figure(
        name="browser: frames a second while the list scrolls",
        value=figures["perSecond"],
        unit="frames/s",
        promise=FRAMES_PER_S,
        beside=f"longest {figures['longest']:.0f} ms",
        note=f"{SPEED:,} pixels/s for {seconds} s",
    )
    page.wait_for_timeout(_SETTLES_MS)
    nodes = max(figures["most"], page.evaluate("document.querySelectorAll('*').length"))
    yield Figure(name="browser: most elements", value=nodes, unit="elements", promise=NODES)
