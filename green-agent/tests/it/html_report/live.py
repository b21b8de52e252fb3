"""Looks at a run while it goes on, as a person would: trials come in, one is read meanwhile, the run is killed and resumed.

    live.py SCREENSHOTS PROGRAM FOLDER

The folder has the scenario `live.toml`, whose trials wait for files in its folder `go`.
"""

import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from chromium import LIMIT_SECONDS, chromium, open_page, shot, wait_until, wrong

PROGRAM, FOLDER = sys.argv[2], Path(sys.argv[3])


@contextmanager
def started(*arguments):
    """A program of ours that runs, and is ended in any case."""
    with (FOLDER / "said.txt").open("w") as said:
        process = subprocess.Popen([PROGRAM, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, stderr=said, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def serving(*arguments):
    """`green-agent view`, and the address at which it serves."""
    return started("view", *arguments)


def address(view):
    return re.search(r"http://\S+/", view.stdout.readline())[0]


def begun(run):
    """Waits until the run has a folder."""
    limit = time.monotonic() + LIMIT_SECONDS
    while not list(FOLDER.glob("runs/*/run.json")):
        assert run.poll() is None and time.monotonic() < limit, (FOLDER / "said.txt").read_text()
        time.sleep(0.01)


def let_go(trial):
    (FOLDER / "go" / trial).touch()


def says(page, text):
    wait_until(page, f"document.getElementById('live').textContent === '{text}'")


def rows(page):
    return int(page.locator("[role=grid]").get_attribute("aria-rowcount")) - 1  # that of headers


def comes_in(page):
    """The first picture, before any trial has ended, and the first trial."""
    says(page, "running: 0 of 6 trials")
    assert "No trial has ended yet." in page.inner_text("main")
    page.evaluate("window.marked = true")
    shot(page, "live-begun")
    let_go("greeting-1")
    says(page, "running: 1 of 6 trials")
    page.wait_for_selector("svg .dot")
    assert "100.0 %" in page.inner_text(".figures")
    shot(page, "live-first")


def is_listed(page):
    """Whoever types goes on typing while trials come in."""
    page.keyboard.press("t")
    page.wait_for_selector("[role=grid]")
    page.keyboard.press("/")
    page.keyboard.type("greet")
    assert rows(page) == 1
    let_go("greeting-2")
    says(page, "running: 2 of 6 trials")
    assert rows(page) == 2
    page.keyboard.type("ing trial 2")
    assert page.input_value("#search") == "greeting trial 2"
    assert rows(page) == 1
    page.fill("#search", "")
    page.locator("[data-outcome=passed]").focus()
    let_go("greeting-3")
    says(page, "running: 3 of 6 trials")
    assert page.evaluate("document.activeElement.dataset.outcome") == "passed"
    shot(page, "live-trials")


def is_read(page):
    """A trial that is open stays as it is, and its neighbours are found among those that came in."""
    page.locator("[role=row]", has_text="greeting").last.click()
    page.wait_for_selector("[role=option]")
    page.evaluate("document.querySelector('.split').dataset.marked = 'yes'")
    page.keyboard.press("j")
    page.wait_for_selector(".viewer .line")
    let_go("wrong-1")
    says(page, "running: 4 of 6 trials")
    assert page.locator(".split[data-marked=yes] .viewer .line").count() > 0
    shot(page, "live-trial")
    page.keyboard.press("n")
    wait_until(page, "document.querySelector('h2').textContent.includes('wrong')")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("p")
    wait_until(page, "document.querySelector('h2').textContent.includes('greeting · trial 3')")


def ends(page, run):
    """The run is killed, resumed in the same folder, and ends."""
    run.send_signal(signal.SIGKILL)
    says(page, "ended: 4 of 6 trials")
    folder = next((FOLDER / "runs").iterdir())
    with started("run", "--resume", str(folder)) as resumed:
        says(page, "running: 4 of 6 trials")
        page.keyboard.press("g")
        page.select_option("[aria-label=Measure]", "score")
        let_go("wrong-2")
        let_go("wrong-3")
        says(page, "ended: 6 of 6 trials")
        assert resumed.wait(60) == 1
    assert "50.0 %" in page.inner_text(".figures")
    assert page.input_value("[aria-label=Measure]") == "score"
    shot(page, "live-ended")
    assert page.evaluate("window.marked"), "the page was loaded again"


def comes_back(page, view, url):
    """A server that is gone is asked again."""
    assert not wrong, wrong
    view.terminate()
    view.wait(60)
    says(page, "green-agent view does not answer; trying again")
    with serving("--listen", url.split("/")[2]):
        says(page, "ended: 6 of 6 trials")
    # What the browser itself says about the server that was gone.
    wrong[:] = [one for one in wrong if "net::ERR_" not in one]


def stalled(url):
    """A reader that asks for everything and reads nothing."""
    host, port = url.split("/")[2].split(":")
    slow = socket.create_connection((host, int(port)))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    slow.sendall(f"GET /blocks/run HTTP/1.1\r\nhost: {host}\r\n\r\n".encode() * 100)
    return slow


def main():
    (FOLDER / "go").mkdir()
    with started("run", "live.toml", "--jobs", "1") as run, chromium() as browser:
        begun(run)
        with serving() as view:
            url = address(view)
            page = open_page(browser, url)
            page.goto(url)
            comes_in(page)
            with stalled(url):
                is_listed(page)
                other = open_page(browser, url, dark=True, width=400)
                other.goto(f"{url}#/trials")
                says(other, "running: 3 of 6 trials")
                shot(other, "live-narrow-dark")
                other.close()
                is_read(page)
            ends(page, run)
            comes_back(page, view, url)
    assert not wrong, wrong


main()
