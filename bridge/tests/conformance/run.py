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

# Packages that each kit needs and does not list.
MORE = {"1.0-dev": [], "0.3.x": ["python-dotenv", "pyOpenSSL"]}

# The arguments of each run, before the address. All suites of 0.3 run over each transport.
EVERYTHING = ["tests/mandatory", "tests/optional", "--test-scope=all"]
REST = ["--transports", "rest", "--transport-strategy", "prefer_rest"]
GRPC = ["--transports", "grpc", "--transport-strategy", "prefer_grpc"]
PARTS = {
    "1.0-dev": [["tests/compatibility", "--sut-host"]],
    "0.3.x": [[*EVERYTHING, *transport, "--sut-url"] for transport in ([], REST, GRPC)],
}

# The form of gRPC's address in the card. The kit for 0.3 cannot read an address without a scheme, the kit for 1.0 reads no other.
GRPC_CARD = {"1.0-dev": "--grpc-card", "0.3.x": "--grpc-card=url"}

# Longer than the kits take on a slow machine.
LIMIT_SECONDS = 1200


def main():
    """Starts the bridge and runs the kit. Exits with 1 if a result is unexpected."""
    options = arguments()
    kit = options.kit.resolve()
    branch = "1.0-dev" if (kit / "tests/compatibility").is_dir() else "0.3.x"
    python = environment(kit, branch)
    bridge, url = serve(options.bridge, branch)
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
    """Returns the Python of an environment with the packages of the kit, which is created once."""
    folder = kit / ".venv"
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        needed = ["-e", "."] if branch == "1.0-dev" else ["-r", "requirements.txt"]
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *needed, *MORE[branch]], cwd=kit, check=True)
        (folder / "complete").touch()
    return python


def serve(program, branch):
    """Starts the bridge on a free port, and returns it with its address. Webhooks on this machine are allowed, because the kit's are."""
    agent = ["--builtin", "conformance", "--store", "memory", "--push-allow", "loopback", GRPC_CARD[branch]]
    command = [program, "serve", "--listen", "127.0.0.1:0", *agent]
    bridge = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in bridge.stderr:
        if found := re.match(r"listening on (http\S+)", line):
            return bridge, found[1]
    sys.exit(f"{program} did not start")


def test(kit, branch, python, url, more):
    """Runs every test that the kit's own runner runs, and returns the JUnit reports."""
    # The time for which the kit waits for an event of a stream.
    settings = {**os.environ, "TCK_STREAMING_TIMEOUT": "2"}
    reports = []
    for part in PARTS[branch]:
        reports.append(kit / f"conformance-{len(reports)}.xml")
        command = [python, "-m", "pytest", *part, url, "-q", "--tb=no", f"--junitxml={reports[-1]}", *more]
        subprocess.run(command, cwd=kit, env=settings, timeout=LIMIT_SECONDS, check=False)
    return reports


def known(branch):
    """Returns the names of the tests that are known to fail."""
    text = (HERE / "KNOWN.md").read_text()
    section = text.split(f"## {branch}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^- `([^`]+)`", section, re.MULTILINE))


def judge(reports, expected):
    """Prints unexpected results and the counts. Returns 1 if a result is unexpected."""
    passed, failed, skipped = set(), set(), set()
    for case in (case for report in reports for case in xml.parse(report).iter("testcase")):
        kinds = {child.tag for child in case}
        name = f"{case.get('classname').rsplit('.', 1)[-1]}::{case.get('name')}"
        where = failed if kinds & {"failure", "error"} else skipped if "skipped" in kinds else passed
        where.add(name)
    for name in sorted(failed - expected):
        print(f"failed unexpectedly: {name}")
    # A test that passes over one transport may still fail over another.
    passes = expected & passed - failed
    for name in sorted(passes):
        print(f"passed unexpectedly; remove it from KNOWN.md: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed ({len(failed & expected)} known), {len(skipped)} skipped")
    return 1 if failed - expected or passes else 0


if __name__ == "__main__":
    main()
