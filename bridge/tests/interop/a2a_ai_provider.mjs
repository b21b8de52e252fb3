// The provider of A2A agents for Vercel's AI SDK. It is given the card's own address.

import { agents, done, load, once } from "./shown.mjs";

const { a2a } = await load("a2a-ai-provider/dist/index.js");
const { generateText, streamText } = await load("ai/dist/index.js");

globalThis.AI_SDK_LOG_WARNINGS = false;

for (const { name, url, turns } of agents()) {
  for (const [prompt, answer] of turns) {
    const asked = () => ({ model: a2a(`${url}.well-known/agent-card.json`), prompt, maxRetries: 0 });
    once(`${name}, waiting`, answer, (await generateText(asked())).text);
    // In streams it shows no question.
    if (name === "echo") continue;
    let shown = "";
    for await (const piece of streamText(asked()).textStream) shown += piece;
    once(`${name}, streaming`, answer, shown);
  }
}
done();
