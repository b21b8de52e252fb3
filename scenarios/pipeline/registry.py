"""A real OCI registry, Debian's docker-registry, in a folder that goes away with it.

    python3 scenarios/pipeline/registry.py --port 5000
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile

CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, cache: {{blobdescriptor: inmemory}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder, port=port))
        registry = subprocess.Popen(["docker-registry", "serve", config])
        signal.signal(signal.SIGTERM, lambda *_: registry.terminate())
        code = registry.wait()
    return 0 if code in (0, -signal.SIGTERM) else 1


if __name__ == "__main__":
    sys.exit(main())
