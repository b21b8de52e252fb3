"""Runs trials without a harness: for each trial it starts two agents, waits for their cards, calls each, and
ends them, one trial after the other: `python plain.py AGENT.PY TRIALS`."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(port):
    while True:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/.well-known/agent-card.json").read()
        except urllib.error.URLError:
            time.sleep(0.01)


def call(port, text):
    part = {"kind": "text", "text": text}
    message = {"kind": "message", "messageId": uuid.uuid4().hex, "role": "user", "parts": [part]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["result"]


for trial in range(int(sys.argv[2])):
    ports = [free_port(), free_port()]
    agents = [subprocess.Popen([sys.executable, sys.argv[1], str(port)]) for port in ports]
    for port in ports:
        wait_until_ready(port)
    for port in ports:
        assert call(port, "Hello")["status"]["state"] == "completed"
    for agent in agents:
        agent.terminate()
    for agent in agents:
        agent.wait()
