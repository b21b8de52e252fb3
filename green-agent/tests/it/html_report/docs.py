"""Looks at the bridge's page `/docs`, narrow and wide, light and dark, and sends a message with the keyboard.

    docs.py SCREENSHOTS URL
"""

import sys

from chromium import chromium, open_page, shot, wait_until, wrong

URL = sys.argv[2]


def try_page(browser, width, dark):
    page = open_page(browser, URL, dark=dark, width=width)
    page.goto(f"{URL}/docs")
    page.get_by_text("/message:send").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("summary", has_text="/message:send").first.focus()
    page.keyboard.press("Enter")
    body = page.get_by_label("Body").first
    body.fill(body.input_value().replace("Hello", "Good day"))
    body.press("Tab")
    page.keyboard.press("Enter")
    wait_until(page, "document.body.innerText.includes('You said: Good day')")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot(page, f"docs-{width}-{'dark' if dark else 'light'}")


with chromium() as browser:
    for width, dark in [(360, False), (360, True), (1280, False), (1280, True)]:
        try_page(browser, width, dark)
assert not wrong, wrong
