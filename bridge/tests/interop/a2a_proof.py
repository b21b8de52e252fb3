"""PyPI a2a-proof holds the agents `sample` and `echo` to the contract that it makes of their cards.

Started with the bridge's address and the transports that are tried.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import LIMIT_SECONDS, Checks

PROGRAM = Path(sys.executable).parent / "a2a-proof"


def proof(*arguments):
    """The program's exit code, and what it prints."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    return done.returncode, done.stdout + done.stderr


def main():
    bridge, *transports = sys.argv[1:]
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        for name, scenarios in (("sample", ["Echo", "Conversation", "Stream"]), ("echo", ["Echo"])):
            contract = Path(folder, f"{name}.yaml")
            code, said = proof("init", f"{bridge}/a2a/{name}", "--output", contract)
            checks.equal(f"{name}: its card is read", (0, ""), (code, said if code else ""))
            # It takes every gRPC for encrypted that its contract does not call plain.
            contract.write_text(contract.read_text().replace("agent:\n", "agent:\n  grpc_tls: false\n"))
            for transport in transports:
                report = Path(folder, "report.json")
                code, said = proof(
                    "run", contract, "--transport", transport, "--format", "json", "--output", report
                )
                checks.equal(f"{name} over {transport}", (0, ""), (code, said if code else ""))
                results = json.loads(report.read_text())["scenarios"]
                passed = [one["name"] for one in results if one["passed"]]
                checks.equal(f"{name} over {transport}: what passed", scenarios, passed)
    sys.exit(1 if checks.failed else 0)


main()
