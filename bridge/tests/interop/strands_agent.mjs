// Strands' A2AAgent for JavaScript. It is given the agent's address, with the slash at its end: without it, it looks for the
// card where that of the first agent is.

import { agents, done, load, once } from "./shown.mjs";

const { A2AAgent } = await load("@strands-agents/sdk/dist/src/a2a/index.js");

for (const { name, url, turns } of agents()) {
  // It always streams, and shows no question and no failure.
  if (name === "echo") continue;
  const agent = new A2AAgent({ url });
  for (const [said, answer] of turns) {
    once(`${name}, streaming`, answer, (await agent.invoke(said)).toString());
  }
}
// A question that completes its task is an artifact.
const asking = new A2AAgent({ url: `${process.argv[2]}/a2a/asking/` });
once("asking, streaming", "Which one?", (await asking.invoke("ask")).toString());
done();
