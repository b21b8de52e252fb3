"""Uses the client that openapi-python-client generated from `/openapi.json`: an answer, reading it again, a refusal."""

import sys

from generated import Client
from generated.api.a2a_1_0 import cancel_task_post_1_0, get_task_get_1_0, send_message_post_1_0
from generated.models import CancelTaskBody, Message, PartType0, SendMessageRequest, Status

client = Client(base_url=sys.argv[1])
message = Message(message_id="generated-1", parts=[PartType0(text="Hello")], role="ROLE_USER")
task = send_message_post_1_0.sync(client=client, body=SendMessageRequest(message=message)).task
assert task.status.state == "TASK_STATE_COMPLETED", task
assert task.artifacts[0].parts[0].text == "You said: Hello", task
again = get_task_get_1_0.sync(task.id, client=client)
assert again.artifacts == task.artifacts, again
refused = cancel_task_post_1_0.sync(task.id, client=client, body=CancelTaskBody())
assert isinstance(refused, Status), refused
assert refused.error.details[0].reason == "TASK_NOT_CANCELABLE", refused
