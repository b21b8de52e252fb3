"""A headless Chromium that notes whatever goes wrong in its pages, and its screenshots. The first argument is their folder."""

import signal
import sys
import time
import traceback
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from playwright.sync_api import sync_playwright

SHOTS = Path(sys.argv[1])
SHOTS.mkdir(parents=True, exist_ok=True)

# Long: with other tests beside it, a browser on a busy machine may need a minute to begin.
LIMIT_SECONDS = 300

# Errors of scripts, requests that lead elsewhere, dialogs: of these there must be none.
wrong = []

# Long tasks, as the browser itself measures them, and when the first picture was shown.
WATCH = """
window.longest = { task: 0, at: 0 };
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    if (one.duration > window.longest.task) window.longest = { task: one.duration, at: one.startTime };
  }
}).observe({ type: 'longtask', buffered: true });
"""


@contextmanager
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"], timeout=LIMIT_SECONDS * 1000
        )
        try:
            yield browser
        except Exception:
            describe(browser)
            raise
        browser.close()


def describe(browser):
    """Prints the error of a test, what went wrong in the pages before, and what they show if they still answer."""
    traceback.print_exc()
    print(wrong, file=sys.stderr, flush=True)
    signal.alarm(30)
    for page in [page for context in browser.contexts for page in context.pages]:
        state = page.evaluate("[document.readyState, document.body?.innerText.slice(0, 1000)]")
        print(page.url, *state, sep="\n", file=sys.stderr)


def open_page(browser, place, dark=False, width=1440, height=900):
    """A page whose requests must all begin with `place`."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light", viewport={"width": width, "height": height}
    )
    page = context.new_page()
    page.add_init_script(WATCH)
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("console", lambda said: wrong.append(f"console {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(f"error {error}"))
    page.on("request", lambda asked: wrong.append(f"request {asked.url[:100]}") if not asked.url.startswith(place) else None)
    page.set_default_timeout(LIMIT_SECONDS * 1000)
    return page


AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()

# The name of a row is a sentence, which says more than the row shows; Chromium and Firefox let keys scroll each region.
UNUSED = ("label-content-name-mismatch", "scrollable-region-focusable")


def shot(page, name):
    """Keeps a screenshot, and notes what axe finds that keeps people from using the page as it is shown."""
    page.screenshot(path=str(SHOTS / f"{name}.png"))
    page.evaluate(AXE)
    rules = {rule: {"enabled": False} for rule in UNUSED}
    found = page.evaluate("(rules) => axe.run(document, { rules, resultTypes: ['violations'] })", rules)
    for one in found["violations"]:
        wrong.append(f"{name}: {one['help']}: {one['nodes'][0]['html'][:200]}")


def wait_until(page, what):
    """Waits for an expression. The page's policy forbids the way in which Playwright does it."""
    limit = time.monotonic() + LIMIT_SECONDS
    while not page.evaluate(f"Boolean({what})"):
        assert time.monotonic() < limit, f"{what} did not come about: {page.inner_text('body')[:500]}"
        page.wait_for_timeout(20)
