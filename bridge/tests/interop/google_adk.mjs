// Google ADK's RemoteA2AAgent for JavaScript. It is given the agent's address, with the slash at its end: without it, it
// looks for the card where that of the first agent is.

import { agents, done, load, once } from "./shown.mjs";

const { InMemoryRunner, RemoteA2AAgent } = await load("@google/adk/dist/esm/index.js");

const who = { appName: "app", userId: "user" };

for (const { name, url, turns } of agents()) {
  const agent = new RemoteA2AAgent({ name: "remote", agentCard: url });
  const runner = new InMemoryRunner({ agent, appName: who.appName });
  const session = await runner.sessionService.createSession(who);
  for (const [text, answer] of turns) {
    let shown = "";
    const newMessage = { role: "user", parts: [{ text }] };
    for await (const event of runner.runAsync({ userId: who.userId, sessionId: session.id, newMessage })) {
      // Pieces come again, as a whole.
      const parts = event.partial ? [] : (event.content?.parts ?? []);
      shown += parts.map((part) => part.text ?? "").join("") + (event.errorMessage ?? "");
    }
    once(`${name}, streaming`, answer, shown);
  }
}
done();
