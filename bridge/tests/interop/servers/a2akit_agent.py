"""An agent on PyPI a2akit 0.0.32, which has an implementation of A2A of its own; a worker stands in for its model."""

from a2akit import A2AServer, AgentCardConfig, CapabilitiesConfig, SkillConfig, Worker
from listening import port, serve


class Echo(Worker):
    async def handle(self, ctx):
        await ctx.complete(f"You said: {ctx.user_text}")


card = AgentCardConfig(
    name="a2akit",
    description="Repeats messages.",
    capabilities=CapabilitiesConfig(streaming=True),
    skills=[SkillConfig(id="echo", name="Echo", description="Repeats messages.", tags=["echo"])],
)
serve(A2AServer(worker=Echo(), agent_card=card).as_fastapi_app(), *port())
