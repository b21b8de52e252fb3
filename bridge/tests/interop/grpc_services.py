"""What stands beside A2A over gRPC, as Google's own packages for Python ask for it: health and reflection.

It ends when the bridge does: it says `watching` when it waits for that.
"""

import sys
from functools import partial
from urllib.parse import urlsplit

import grpc
from checks import run
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

A2A = "lf.a2a.v1.A2AService"
A2A_0_3 = "a2a.v1.A2AService"
SERVICES = {
    A2A,
    A2A_0_3,
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
}
OPERATIONS = {
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
}
OPERATIONS_0_3 = OPERATIONS - {
    "ListTasks",
    "SubscribeToTask",
    "ListTaskPushNotificationConfigs",
    "GetExtendedAgentCard",
} | {"TaskSubscription", "ListTaskPushNotificationConfig", "GetAgentCard"}


def status(response):
    return HealthCheckResponse.ServingStatus.Name(response.status)


def refusal(call, *args):
    """The code that a call is refused with."""
    try:
        call(*args)
    except grpc.RpcError as error:
        return error.code().name


def health(checks, channel):
    stub = HealthStub(channel)
    for name in ("", A2A, A2A_0_3, "sample", "echo"):
        seen = status(stub.Check(HealthCheckRequest(service=name)))
        checks.equal(f"{name!r} is serving", "SERVING", seen)
    seen = refusal(stub.Check, HealthCheckRequest(service="nobody"))
    checks.equal("what is not there is not found", "NOT_FOUND", seen)
    watched = stub.Watch(HealthCheckRequest(service="nobody"))
    checks.equal("whoever watches it is told so", "SERVICE_UNKNOWN", status(next(watched)))
    watched.cancel()


def reflection(checks, channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    checks.equal("services are listed", SERVICES, set(database.get_services()))
    pool = DescriptorPool(database)
    for name, operations, version, unknown in (
        (A2A, OPERATIONS, "1.0", {"id": "unknown"}),
        (A2A_0_3, OPERATIONS_0_3, "0.3", {"name": "tasks/unknown"}),
    ):
        service = pool.FindServiceByName(name)
        checks.equal(f"{name} is described whole", operations, {method.name for method in service.methods})
        method = service.methods_by_name["GetTask"]
        ask, task = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        call = channel.unary_unary(
            f"/{name}/GetTask", request_serializer=ask.SerializeToString, response_deserializer=task.FromString
        )
        call = partial(call, metadata=(("a2a-version", version),))
        checks.equal("so it can be called by that alone", "NOT_FOUND", refusal(call, ask(**unknown)))
    seen = refusal(database.FindFileContainingSymbol, "lf.a2a.v1.Nothing")
    checks.equal("what is not described is not found", "NOT_FOUND", seen)


def newer(checks, channel):
    """The packages only know the name that reflection had first; its messages are the same."""
    call = channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=ServerReflectionRequest.SerializeToString,
        response_deserializer=ServerReflectionResponse.FromString,
    )
    answers = call(iter([ServerReflectionRequest(file_containing_symbol=A2A), ServerReflectionRequest(list_services="")]))
    first, second = answers
    checks.equal("the file of a symbol is found", True, bool(first.file_descriptor_response.file_descriptor_proto))
    names = {service.name for service in second.list_services_response.service}
    checks.equal("services are listed by the newer name too", SERVICES, names)


def end(checks, channel):
    stub = HealthStub(channel)
    watched = [stub.Watch(HealthCheckRequest(service=name)) for name in ("", A2A)]
    checks.equal("who watches is told at once", ["SERVING"] * 2, [status(next(one)) for one in watched])
    print("watching", flush=True)
    rest = [[status(answer) for answer in one] for one in watched]
    checks.equal("and that the bridge stops, which is the end", [["NOT_SERVING"]] * 2, rest)


async def main(checks):
    with grpc.insecure_channel(urlsplit(sys.argv[1]).netloc) as channel:
        for part in (health, reflection, newer, end):
            part(checks, channel)


run(main)
