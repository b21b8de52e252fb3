"""PyPI a2a-doctor and a2a-lint look at the bridge.

`a2a-lint` calls the running bridge. `a2a-doctor` calls nothing: it reads an agent card and the recorded
events of a stream, so both are recorded here, in 0.3 and in 1.0. KNOWN.md lists findings that contradict the
specification. Any other finding is a failure, and so is a listed one that no longer occurs.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

from checks import LIMIT_SECONDS, agent, run

BIN = Path(sys.executable).parent
KNOWN = Path(__file__).with_name("KNOWN.md")

SEND = {
    "0.3": {
        "method": "message/stream",
        "message": {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "-stream"}]},
    },
    "1.0": {
        "method": "SendStreamingMessage",
        "message": {"role": "ROLE_USER", "parts": [{"text": "-stream"}]},
    },
}


def fetch(url, version, body=None):
    headers = {"A2A-Version": version, "Content-Type": "application/json"}
    request = Request(url, headers=headers, data=body and json.dumps(body).encode())
    with urlopen(request, timeout=LIMIT_SECONDS) as response:
        return response.read().decode()


def record(version, folder):
    """The agent's card, and one stream as JSON lines."""
    message = {**SEND[version]["message"], "messageId": f"audit-{version}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": SEND[version]["method"], "params": {"message": message}}
    events = fetch(agent("sample"), version, body).splitlines()
    card, stream = folder / "card.json", folder / "stream.jsonl"
    card.write_text(fetch(agent("sample") + "/.well-known/agent-card.json", version))
    stream.write_text("".join(line[6:] + "\n" for line in events if line.startswith("data: ")))
    return card, stream


def known(program):
    """The patterns that KNOWN.md has for a program: `- PROGRAM: `pattern``."""
    lines = KNOWN.read_text().splitlines()
    return {line.split("`")[1] for line in lines if line.startswith(f"- {program}: `")}


def doctor(checks):
    excused = known("a2a-doctor")
    found = set()
    for version in SEND:
        with tempfile.TemporaryDirectory() as folder:
            card, stream = record(version, Path(folder))
            command = [BIN / "a2a-doctor", "check", "--card", card, "--stream", stream]
            said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS).stdout
        checks.equal(f"a2a-doctor reads the stream of {version}", True, "event(s) recorded" in said)
        for finding in re.findall(r"[✗⚠] *(.*)", said):
            reasons = {pattern for pattern in excused if re.search(pattern, finding)}
            found |= reasons
            checks.equal(f"a2a-doctor on {version}: {finding}", "known", "known" if reasons else "new")
    checks.equal("what a2a-doctor is known to find is still found", set(), excused - found)


def lint(checks):
    for name in ["sample", "echo"]:
        command = [BIN / "a2a-lint", "--live", "--strict", "--json", agent(name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        checks.equal(f"a2a-lint finds nothing in {name}", 0, done.returncode)
        if done.returncode:
            print(done.stdout, done.stderr)


async def main(checks):
    doctor(checks)
    lint(checks)


run(main)
