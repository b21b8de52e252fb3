"""Makes a store's folder with a bridge of an earlier version, and writes down what that bridge says of it.

Usage: make.py PROGRAM FOLDER, where PROGRAM is that `bridge`; FOLDER gets `store.tar.gz` and `expected.json`."""

import json
import subprocess
import sys
import tempfile
import urllib.request

PROGRAM, FOLDER = sys.argv[1:]
AGENTS = ("echo", "hanging", "sample")


def call(agent, method, params, version="1.0"):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"content-type": "application/json"} | ({"a2a-version": version} if version else {})
    request = urllib.request.Request(f"{url}/a2a/{agent}", json.dumps(body).encode(), headers)
    answer = json.load(urllib.request.urlopen(request))
    assert "error" not in answer, answer
    return answer["result"]


def send(agent, number, text, waits=True, **more):
    message = {"messageId": f"m-{number}", "role": "ROLE_USER", "parts": [{"text": text}]} | more
    sent = call(agent, "SendMessage", {"message": message, "configuration": {"returnImmediately": not waits}})
    return sent["task"]["id"]


def hook(agent, task):
    setting = {"taskId": task, "id": "a", "url": "http://127.0.0.1:9/hook", "token": "t"}
    call(agent, "CreateTaskPushNotificationConfig", setting)


store = tempfile.mkdtemp()
config = tempfile.NamedTemporaryFile("w", suffix=".toml")
agents = [f"[[agents]]\nname = '{agent}'\nbuiltin = '{agent}'\nturns = 'answers'\n" for agent in AGENTS]
config.write("".join(["[push]\nallow = ['loopback']\n", *agents]))
config.flush()
serve = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", f"sled:{store}", "--config", config.name]


def start():
    bridge = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
    return bridge, next(line.split()[-1] for line in bridge.stderr if line.startswith("listening on "))


bridge, url = start()
for number in range(8):
    send("echo", number, f"hello {number}", contextId=f"c-{number % 3}")
send("sample", 10, "-stream")
talk = send("sample", 11, "-multi")
send("sample", 12, "one", taskId=talk)
send("sample", 13, "two", taskId=talk)
hook("sample", talk)
message = {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
call("sample", "tasks/send", {"id": "chosen", "message": message}, version=None)
# The index has all of that afterwards, and the log alone has the rest.
bridge.terminate()
bridge.wait()
bridge, url = start()
began = send("hanging", 20, "begins", waits=False, contextId="c")
waits = send("hanging", 21, "waits", waits=False, contextId="c")
hook("hanging", began)

listed = {}
for agent in AGENTS:
    listed[agent] = call(agent, "ListTasks", {"includeArtifacts": True, "historyLength": 100})["tasks"]
hooks = {task: call(agent, "ListTaskPushNotificationConfigs", {"taskId": task})
         for agent, task in (("sample", talk), ("hanging", began))}
expected = {"tasks": listed, "hooks": hooks, "talk": talk, "began": began, "waits": waits}
with open(f"{FOLDER}/expected.json", "w") as file:
    json.dump(expected, file, indent=1)
    file.write("\n")
# As a loss of power leaves it.
bridge.kill()
bridge.wait()
subprocess.run(["tar", "-czf", f"{FOLDER}/store.tar.gz", "--owner=0", "--group=0", "-C", store, "."], check=True)
