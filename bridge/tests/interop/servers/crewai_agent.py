"""An agent on PyPI crewai 1.15.30, made one of A2A by its own task functions on its a2a-sdk 0.3; a function stands in
for its model."""

import os

# It would tell its makers of each run.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_DISABLE_TRACKING="true", OTEL_SDK_DISABLED="true")

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from crewai import Agent, BaseLLM
from crewai.a2a.config import A2AServerConfig
from crewai.a2a.utils import task
from listening import port, serve

# Between these its prompt has the task.
TASK, NEXT = "Current Task: ", "\n"


class Echo(BaseLLM):
    def call(self, messages, *args, **kwargs):
        prompt = messages if isinstance(messages, str) else messages[-1]["content"]
        said = prompt.partition(TASK)[2].partition(NEXT)[0]
        return f"Thought: I now can give a great answer\nFinal Answer: You said: {said}"

    async def acall(self, messages, *args, **kwargs):
        return self.call(messages)


class Crew(AgentExecutor):
    def __init__(self, agent):
        self.agent = agent

    async def execute(self, context, queue):
        await task.execute(self.agent, context, queue)

    async def cancel(self, context, queue):
        await task.cancel(context, queue)


listener, address = port()
agent = Agent(
    role="crewai",
    goal="answers",
    backstory="says it again",
    llm=Echo(model="echo"),
    a2a=A2AServerConfig(url=address),
)
card = agent.to_agent_card(address)
handler = DefaultRequestHandler(Crew(agent), InMemoryTaskStore())
serve(A2AStarletteApplication(agent_card=card, http_handler=handler).build(), listener, address)
