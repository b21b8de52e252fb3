"""Puts another agent in the place of an old one: the skill release_agent pushes its card to the registry.

    python3 scenarios/pipeline/release.py --port 8005 --registry http://127.0.0.1:5000 --agent http://127.0.0.1:8012
"""

import json

import registry_client
from skills import command_line, serve, skill


def main():
    parser = command_line(__doc__)
    parser.add_argument("--agent", required=True, help="the agent that is released")
    args = parser.parse_args()

    @skill("Makes a newer agent known", {"repository": "string", "tag": "string"}, {"version": "string"})
    def release_agent(repository, tag):
        card = json.load(registry_client.request("GET", args.agent.rstrip("/") + "/agent-card"))
        registry_client.push(args.registry, repository, tag, card)
        return {"version": card["version"]}

    serve("release-agent", [release_agent], args)


if __name__ == "__main__":
    main()
