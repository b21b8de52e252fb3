"""Has the registry go out of order: the skill close_registry, for pipelines that shall go on without.

    python3 scenarios/pipeline/close.py --port 8006 --registry http://127.0.0.1:5000

The registry is one that registry.py has started with --closes.
"""

import contextlib

import registry_client
from skills import command_line, serve, skill


def main():
    args = command_line(__doc__).parse_args()

    @skill("Has the registry go out of order", {}, {"closed": "string"})
    def close_registry():
        # The registry may be gone before it has answered the last request.
        with contextlib.suppress(OSError):
            registry_client.push(args.registry, "operations/close", "v1", {"name": "close"})
        registry_client.wait_until_gone(args.registry)
        return {"closed": args.registry}

    serve("close-agent", [close_registry], args)


if __name__ == "__main__":
    main()
