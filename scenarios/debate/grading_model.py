"""A stand-in for a language model that grades: a criterion is met if the answer has one of its words of five letters or more.

It answers at `/v1/chat/completions` as OpenAI's servers do, and needs Python only.

    python scenarios/debate/grading_model.py --port 9012
"""

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = json.loads(body["messages"][-1]["content"])
        grades = {name: grade(words, asked["answer"]) for name, words in asked["rubric"].items()}
        message = {"role": "assistant", "content": json.dumps(grades)}
        usage = {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self.reply({"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage})

    def reply(self, value: dict) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        pass


def grade(criterion: str, answer: str) -> dict:
    common = terms(criterion) & terms(answer)
    reason = f"it says {', '.join(sorted(common))}" if common else "it says none of this"
    return {"met": bool(common), "reason": reason}


def terms(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{5,}", text.lower()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A stand-in for a language model that grades.")
    parser.add_argument("--port", type=int, required=True)
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Model).serve_forever()
