"""The club's agent as a bot: it speaks activities over HTTP, and the bridge makes an A2A agent of it.

A call of its skill comes as the activity's `value`, {"skill_id": .., "parameters": {..}}; without one it reads
the text. Each conversation ends with `endOfConversation`, whose `value` is the result, unless the bot has to
ask how old the child is. With --wordless the result is all that it says.

    python3 scenarios/club/bot.py --port 3979 [--database FILE] [--wordless]
"""

import argparse
import json
import sqlite3
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import skills

MOST = 1 << 20  # bytes of an activity
PATIENCE = 10  # seconds for the channel


def ended(text, code="completedSuccessfully", value=None):
    """The last activity of a conversation."""
    activity = {"type": "endOfConversation", "code": code, "text": text, "value": value}
    return {name: said for name, said in activity.items() if said is not None}


def answer(activity, database, wordless=False):
    """What the bot says to a message."""
    call = activity.get("value")
    try:
        if isinstance(call, dict) and "skill_id" in call:
            if call["skill_id"] != skills.SKILL:
                return ended(f"unknown skill: {call['skill_id']}; there is {skills.SKILL}", "error")
            age = skills.age_in(call.get("parameters"))
        else:
            age = skills.age_told(activity.get("text") or "")
            if age is None:
                return {"type": "message", "text": "How old is the child?", "inputHint": "expectingInput"}
        result, text = skills.check_team_availability(database, age)
    except skills.InvalidParameters as wrong:
        return ended(f"invalid parameters: {wrong}", "error")
    except sqlite3.Error:
        return ended("execution failed: the list of teams cannot be read", "error")
    return ended(None if wordless else text, value=result)


class Bot(BaseHTTPRequestHandler):
    """Takes activities at /api/messages."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.path != "/api/messages" or length > MOST:
            return self.reply(404 if length <= MOST else 413)
        activity = json.loads(self.rfile.read(length))
        if activity.get("type") != "message":
            return self.reply(200)
        said = answer(activity, self.server.database, self.server.wordless)
        said |= {"from": activity["recipient"], "recipient": activity["from"], "replyToId": activity["id"]}
        said["conversation"] = activity["conversation"]
        if activity.get("deliveryMode") == "expectReplies":
            return self.reply(200, {"activities": [said]})
        self.tell(activity, said)
        self.reply(200)

    def do_GET(self):
        self.reply(404)

    def tell(self, activity, said):
        """Says it to the channel, as bots do that were not asked to answer at once."""
        conversation = activity["conversation"]["id"]
        url = f"{activity['serviceUrl'].rstrip('/')}/v3/conversations/{conversation}/activities/{activity['id']}"
        request = Request(url, json.dumps(said).encode(), {"Content-Type": "application/json"})
        urlopen(request, timeout=PATIENCE).close()

    def reply(self, status, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Who asks what is nobody's business here."""


def main():
    parser = argparse.ArgumentParser(description="The club's agent as a bot.")
    parser.add_argument("--port", type=int, default=3979)
    parser.add_argument("--database", help="the SQLite file of the teams; one of its own if left out")
    parser.add_argument("--wordless", action="store_true", help="answer with the result alone, without words")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ThreadingHTTPServer(("127.0.0.1", args.port), Bot)
        server.database = args.database or str(Path(folder, "teams.sqlite"))
        server.wordless = args.wordless
        skills.open_teams(server.database)
        server.serve_forever()


if __name__ == "__main__":
    main()
