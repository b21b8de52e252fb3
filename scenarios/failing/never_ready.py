"""A process that starts and says so, but never listens. Needs nothing but Python; SIGTERM ends it.

    python scenarios/failing/never_ready.py --port 9019
"""

import argparse
import signal

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Starts, and never listens.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.parse_args()
    print("loading the model, one moment", flush=True)
    signal.pause()
