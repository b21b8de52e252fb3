"""Runs an official test kit against the agent `conformance`, and compares what failed with KNOWN.md."""

import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

# What each kit needs that its own list leaves out.
MORE = {"1.0-dev": [], "0.3.x": ["python-dotenv", "pyOpenSSL"]}

# What is run of each kit, before the address: of 0.3 all suites, over each transport.
EVERYTHING = ["tests/mandatory", "tests/optional", "--test-scope=all"]
REST = ["--transports", "rest", "--transport-strategy", "prefer_rest"]
PARTS = {
    "1.0-dev": [["tests/compatibility", "--sut-host"]],
    "0.3.x": [[*EVERYTHING, "--sut-url"], [*EVERYTHING, *REST, "--sut-url"]],
}

# Longer than the kits take on a slow machine.
LIMIT_SECONDS = 1200


def main():
    """Sets everything up, and ends with 1 if something failed that nobody knows of."""
    options = arguments()
    kit = options.kit.resolve()
    branch = "1.0-dev" if (kit / "tests/compatibility").is_dir() else "0.3.x"
    python = environment(kit, branch)
    bridge, url = serve(options.bridge)
    try:
        reports = test(kit, branch, python, url, options.pytest)
    finally:
        bridge.terminate()
        bridge.wait(timeout=30)
    sys.exit(judge(reports, known(branch)))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kit", type=Path, help="a checkout of a2aproject/a2a-tck, branch 1.0-dev or 0.3.x")
    parser.add_argument("--bridge", type=Path, default=ROOT / "target/release/bridge", metavar="PROGRAM")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    return parser.parse_args()


def environment(kit, branch):
    """A Python with what the kit needs, made once."""
    folder = kit / ".venv"
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        needed = ["-e", "."] if branch == "1.0-dev" else ["-r", "requirements.txt"]
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *needed, *MORE[branch]], cwd=kit, check=True)
        (folder / "complete").touch()
    return python


def serve(program):
    """The bridge on a free port, and its address. Its webhooks may be on this machine: the kit's are."""
    agent = ["--builtin", "conformance", "--store", "memory", "--push-allow", "loopback", "--grpc-card"]
    command = [program, "serve", "--listen", "127.0.0.1:0", *agent]
    bridge = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in bridge.stderr:
        if found := re.match(r"listening on (http\S+)", line):
            return bridge, found[1]
    sys.exit(f"{program} did not start")


def test(kit, branch, python, url, more):
    """Every test that the kit's own runner would run, as JUnit tells of them."""
    # The kit's own setting: how long it waits for an event of a stream.
    settings = {**os.environ, "TCK_STREAMING_TIMEOUT": "2"}
    reports = []
    for part in PARTS[branch]:
        reports.append(kit / f"conformance-{len(reports)}.xml")
        command = [python, "-m", "pytest", *part, url, "-q", "--tb=no", f"--junitxml={reports[-1]}", *more]
        subprocess.run(command, cwd=kit, env=settings, timeout=LIMIT_SECONDS, check=False)
    return reports


def known(branch):
    """The failures that are known, by the name of their test."""
    text = (HERE / "KNOWN.md").read_text()
    section = text.split(f"## {branch}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^- `([^`]+)`", section, re.MULTILINE))


def judge(reports, expected):
    """Says what is not as it was known; 1 if there is something."""
    passed, failed, skipped = set(), set(), set()
    for case in (case for report in reports for case in xml.parse(report).iter("testcase")):
        kinds = {child.tag for child in case}
        name = f"{case.get('classname').rsplit('.', 1)[-1]}::{case.get('name')}"
        where = failed if kinds & {"failure", "error"} else skipped if "skipped" in kinds else passed
        where.add(name)
    for name in sorted(failed - expected):
        print(f"failed, and nobody knows why: {name}")
    # What passes over one transport may still fail over another.
    passes = expected & passed - failed
    for name in sorted(passes):
        print(f"passes by now, so it is no longer to be known: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed ({len(failed & expected)} known), {len(skipped)} skipped")
    return 1 if failed - expected or passes else 0


if __name__ == "__main__":
    main()
