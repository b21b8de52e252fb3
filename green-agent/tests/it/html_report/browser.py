"""Opens a report in a headless Chromium and uses it as a person would. Prints what it measured."""

import json
import re
import sys
import time
from pathlib import Path

from chromium import chromium, open_page, shot, wait_until, wrong

PAGE = Path(sys.argv[2])
MESSAGES = 100_000

figures = {"file_mb": round(PAGE.stat().st_size / 1e6, 1)}


def measure(page, what):
    """Notes the longest task since the last call, and how many elements the page has."""
    page.wait_for_timeout(100)
    task = page.evaluate("(() => { const found = window.longest.task; window.longest.task = 0; return found; })()")
    figures.setdefault("longest_task_ms", {})[what] = round(task)
    figures.setdefault("elements", {})[what] = page.evaluate("document.getElementsByTagName('*').length")


def count_rows(page):
    return page.locator(".row").count()


def overview(page):
    begun = time.monotonic()
    page.goto(PAGE.as_uri(), wait_until="commit")
    page.wait_for_selector("svg .dot")
    figures["first_picture_ms"] = round(
        page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
    )
    figures["scores_shown_ms"] = round((time.monotonic() - begun) * 1000)
    page.wait_for_load_state("load")
    figures["whole_file_read_ms"] = round((time.monotonic() - begun) * 1000)
    measure(page, "open")
    assert "10 000" in page.inner_text("main").replace("\u202f", " ")
    # Failures with the same cause are one row, whatever each trial quotes.
    most = page.locator("section", has=page.get_by_text("Failures", exact=True)).locator("td.number").first
    assert int(re.sub(r"\D", "", most.inner_text())) > 1000, most.inner_text()
    # Names and causes that have no spaces are broken into lines, and letters of two code units are not cut in half.
    cut = "[...document.querySelectorAll('.card')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText.slice(0, 99))"
    assert not page.evaluate(cut), page.evaluate(cut)
    assert page.evaluate("document.body.textContent.isWellFormed()")
    # The two cells of the run, each sample with each.
    compared = page.locator("section", has=page.get_by_text("Compared, paired by sample"))
    assert "model: large → small" in compared.inner_text(), compared.inner_text()
    table = page.locator("section", has=page.get_by_text("All figures")).locator("tbody")
    assert "passed" in table.inner_text(), table.inner_text()
    shot(page, "overview-light")
    page.emulate_media(media="print")
    last = "[...document.querySelectorAll('section')].at(-1).getBoundingClientRect().bottom"
    fits = f"document.documentElement.scrollHeight >= {last}"
    assert page.evaluate(fits), "the overview is cut off at the first sheet"
    shot(page, "overview-print")
    page.emulate_media(media="screen")


def trials(page):
    page.keyboard.press("t")
    page.wait_for_selector("[role=grid]")
    assert page.locator("[role=grid]").get_attribute("aria-rowcount") == "10002"  # with the one of headers
    said = page.locator(".bar [role=status]").inner_text().replace("\u202f", " ")
    assert said == "10 000 of 10 000 trials, 1 repeated attempt", said
    assert count_rows(page) < 100, "the list is not windowed"
    name = page.locator(".row [role=gridcell]").nth(1)
    assert name.get_attribute("title") == name.text_content() != ""
    measure(page, "trials")
    shot(page, "trials-light")
    page.click("[data-outcome=failed]")
    failed = int(page.locator("[role=grid]").get_attribute("aria-rowcount"))
    assert 0 < failed < 10_000
    page.keyboard.press("/")
    page.keyboard.type("scenario_07 large")
    found = int(page.locator("[role=grid]").get_attribute("aria-rowcount"))
    assert 0 < found < failed, (found, failed)
    measure(page, "filter and search")
    page.fill("#search", "")
    page.click("[data-outcome=all]")
    page.get_by_role("button", name="seconds").click()
    assert page.get_by_role("columnheader", name="seconds").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="seconds").click()
    measure(page, "sort")
    page.get_by_role("button", name="trial").click()
    page.evaluate("document.querySelector('.rows').scrollTop = 1e9")
    page.wait_for_timeout(200)
    assert count_rows(page) < 100
    measure(page, "scroll")


def large_transcript(page):
    page.goto(f"{PAGE.as_uri()}#/trial/{0:032x}/1")
    page.wait_for_selector("[role=option]")
    wait_until(page, f"document.querySelector('.split [role=status]').textContent.startsWith('{MESSAGES // 1000}\u202f')")
    measure(page, "open 100,000 messages")
    shot(page, "trial-light")
    box = page.get_by_label("Messages", exact=True).locator(".rows").first
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".viewer .line")
    assert "selected" in box.locator("[aria-selected=true]").first.evaluate("(e) => e.ariaSelected ? 'selected' : ''")
    page.emulate_media(forced_colors="active")
    for chosen in (".row[aria-selected=true]", "[role=tab][aria-selected=true]"):
        assert page.locator(chosen).first.evaluate("(e) => getComputedStyle(e).outlineStyle") == "solid", chosen
    page.emulate_media(forced_colors="none")
    page.get_by_role("button", name="Body", exact=True).click()
    shot(page, "message-light")
    for _ in range(len("hostile") + 12):
        page.keyboard.press("ArrowDown")
    # The largest message has five million characters.
    page.locator("[role=option]", has_text="very long").first.click()
    wait_until(page, "document.querySelector('.viewer .all').offsetHeight > 100000")
    measure(page, "open a message of 5 MB")
    for form in ("Text", "Raw", "Entry", "Body"):
        page.get_by_role("button", name=form, exact=True).click()
        page.wait_for_timeout(300)
    measure(page, "its forms")
    page.keyboard.press("f")
    wait_until(page, "document.querySelector('.message-row[aria-selected=true]')?.getAttribute('class').includes('fault')")
    page.get_by_role("searchbox", name="Search messages").fill("onerror")
    page.wait_for_timeout(300)
    wait_until(page, "!document.querySelector('.split [role=status]').textContent.includes('%')")
    assert 0 < count_rows(page) < 100
    measure(page, "search in 100,000 messages")
    page.get_by_role("searchbox", name="Search messages").fill("")
    page.get_by_role("tab", name="Log: purple").click()
    page.wait_for_selector("text=alert('script')")
    shot(page, "log-light")
    page.evaluate("document.querySelector('.list .rows').scrollTop = 1e9")
    page.wait_for_timeout(200)
    measure(page, "scroll 100,000 messages")
    page.get_by_role("tab", name="Summary").click()
    shot(page, "summary-light")


def exact_numbers(page):
    """Numbers that JavaScript cannot hold are shown as they were sent."""
    page.get_by_role("searchbox", name="Search messages").fill("12345678901234567890")
    page.wait_for_selector("[role=option]")
    page.locator("[role=option]").first.click()
    page.get_by_role("button", name="Body", exact=True).click()
    page.wait_for_selector("text=12345678901234567890")


def comparison(page):
    page.goto(f"{PAGE.as_uri()}#/compare")
    page.wait_for_selector(".row.changed-row")
    assert page.locator(".pairs [role=columnheader]", has_text="before").is_visible()
    measure(page, "compare")
    shot(page, "compare-light")
    page.locator(".row.changed-row").nth(1).click()
    wait_until(page, "location.hash.startsWith('#/trial/')")


def changes(page):
    """A trial of both runs of which the page has both transcripts."""
    page.goto(f"{PAGE.as_uri()}#/trial/{60:032x}/1")
    page.get_by_role("tab", name="Changes").click()
    page.wait_for_selector(".diff > *")
    shot(page, "changes-light")


def main():
    with chromium() as browser:
        page = open_page(browser, "file:")
        overview(page)
        trials(page)
        large_transcript(page)
        exact_numbers(page)
        comparison(page)
        changes(page)
        for name, dark, width in (("dark", True, 1440), ("narrow", False, 420), ("narrow-dark", True, 420)):
            page = open_page(browser, "file:", dark, width)
            for view in ("", "trials", "compare", f"trial/{0:032x}/1", f"trial/{60:032x}/1"):
                page.goto(f"{PAGE.as_uri()}#/{view}")
                page.wait_for_selector("svg .dot, [role=grid], [role=option]")
                page.wait_for_timeout(400)
                # Not every browser lets the keyboard scroll what cannot be focused.
                scrolled = "(e) => e.scrollWidth > e.clientWidth && e.tabIndex < 0"
                assert not page.evaluate(f"[...document.querySelectorAll('.wide')].filter({scrolled}).length"), view
                shot(page, f"{view.split('/')[-1].lstrip('0') or view.split('/')[0] or 'overview'}-{name}")
    print(json.dumps(figures, indent=1))
    assert not wrong, wrong[:20]
    # A view has rows for its window, not for the run. How long a task takes depends on the machine and is only printed.
    assert all(elements < 20_000 for elements in figures["elements"].values()), figures


main()
