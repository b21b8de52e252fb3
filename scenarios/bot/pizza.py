"""A bot on the Microsoft 365 Agents SDK that takes an order for a pizza; it knows nothing of A2A.

    python scenarios/bot/pizza.py --port 3979
"""

import argparse
from os import environ

from aiohttp.web import Application, run_app
from microsoft_agents.activity import (
    Activity,
    CardAction,
    EndOfConversationCodes,
    SuggestedActions,
    load_configuration_from_env,
)
from microsoft_agents.authentication.msal import MsalConnectionManager
from microsoft_agents.hosting.aiohttp import CloudAdapter, start_agent_process
from microsoft_agents.hosting.core import AgentApplication, Authorization, MemoryStorage, TurnContext, TurnState

SIZES = ("small", "large")

environ["CONNECTIONS__SERVICE_CONNECTION__SETTINGS__ANONYMOUS_ALLOWED"] = "True"
SETTINGS = load_configuration_from_env(environ)
STORAGE = MemoryStorage()
CONNECTIONS = MsalConnectionManager(**SETTINGS)
ADAPTER = CloudAdapter(connection_manager=CONNECTIONS)
AGENT = AgentApplication[TurnState](
    storage=STORAGE,
    adapter=ADAPTER,
    authorization=Authorization(STORAGE, CONNECTIONS, **SETTINGS),
    **SETTINGS,
)


@AGENT.activity("message")
async def order(context: TurnContext, state: TurnState):
    """Remembers which pizza, asks for its size, and ends with the order."""
    said = (context.activity.text or "").strip().lower()
    pizza = state.get_value("ConversationState.pizza", lambda: "", target_cls=str)
    if not pizza:
        state.set_value("ConversationState.pizza", said)
        return await ask(context, f"Which size should the {said} be?")
    if said not in SIZES:
        return await ask(context, f"There is no {said} one. Small or large?")
    await context.send_activity(f"One {said} {pizza}, ready in 20 minutes.")
    code = EndOfConversationCodes.completed_successfully
    await context.send_activity(Activity(type="endOfConversation", code=code, value={"pizza": pizza, "size": said}))


async def ask(context: TurnContext, text: str):
    """A question with its answers as suggested actions."""
    actions = [CardAction(type="imBack", title=size, value=size) for size in SIZES]
    suggested = SuggestedActions(actions=actions)
    await context.send_activity(
        Activity(type="message", text=text, input_hint="expectingInput", suggested_actions=suggested)
    )


async def messages(request):
    """Takes activities, and tells those who look whether anybody is there."""
    return await start_agent_process(request, AGENT, ADAPTER)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    app = Application()
    app.router.add_post("/api/messages", messages)
    run_app(app, host="127.0.0.1", port=parser.parse_args().port, print=None)
