"""A process that ends at once with exit code 3 and a traceback's last line. Needs nothing but Python.

    python scenarios/failing/dies_at_start.py --port 9019
"""

import sys

if __name__ == "__main__":
    print("ModuleNotFoundError: No module named 'the_model'", file=sys.stderr)
    sys.exit(3)
