"""PyPI a2a-sdk 1.3.0 over every binding, encrypted: the second argument is the certificate that it believes."""

import ssl
import sys
from pathlib import Path
from uuid import uuid4

import grpc
import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState
from a2a.utils.constants import TransportProtocol
from checks import agent, run


def encrypted(authority):
    """How the SDK reaches the bridge: over HTTP by httpx, over gRPC by Google's own package."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    credentials = grpc.ssl_channel_credentials(Path(authority).read_bytes())
    return {
        "httpx_client": httpx.AsyncClient(verify=context),
        "grpc_channel_factory": lambda url: grpc.aio.secure_channel(url, credentials),
    }


async def main(checks):
    ways = encrypted(sys.argv[2])
    for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC):
        print(f"-- {binding.value}")
        config = ClientConfig(streaming=True, supported_protocol_bindings=[binding], **ways)
        client = await create_client(agent("sample"), config)
        message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text="hi")])
        items = [item async for item in client.send_message(SendMessageRequest(message=message))]
        checks.equal("a stream begins with the task", True, items[0].HasField("task"))
        last = items[-1].status_update.status
        checks.equal("and ends with its end", "TASK_STATE_COMPLETED", TaskState.Name(last.state))
        got = await client.get_task(GetTaskRequest(id=items[0].task.id))
        checks.equal("the task is got with it", last, got.status)


run(main)
