"""A real OCI registry, Debian's docker-registry, in a folder that goes away with it.

    python3 scenarios/pipeline/registry.py --port 5000

With --closes it is gone once somebody pushes an artifact to the repository operations/close, as close.py does.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, cache: {{blobdescriptor: inmemory}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


CLOSE = "docker/registry/v2/repositories/operations/close/_manifests/tags"


def close_when_asked(registry, folder):
    """Ends the registry and not this program: it is out of order, and has not crashed."""
    while registry.poll() is None:
        if os.path.exists(os.path.join(folder, CLOSE)):
            registry.terminate()
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--closes", action="store_true", help="be gone when somebody asks for it")
    args = parser.parse_args()
    port, stopped = args.port, threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder, port=port))
        registry = subprocess.Popen(["docker-registry", "serve", config])
        signal.signal(signal.SIGTERM, lambda *_: (stopped.set(), registry.terminate()))
        if args.closes:
            threading.Thread(target=close_when_asked, args=(registry, folder), daemon=True).start()
        code = registry.wait()
        if args.closes:
            stopped.wait()
    return 0 if code in (0, -signal.SIGTERM) else 1


if __name__ == "__main__":
    sys.exit(main())
