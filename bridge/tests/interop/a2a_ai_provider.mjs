// The provider of A2A agents for Vercel's AI SDK. It is given the card's own address.

import { pathToFileURL } from "node:url";

// A module cannot be found by `NODE_PATH`, so its file is named.
const load = (file) => import(pathToFileURL(`${process.env.NODE_PATH}/${file}`).href);
const { a2a } = await load("a2a-ai-provider/dist/index.js");
const { generateText, streamText } = await load("ai/dist/index.js");

// Both say much that nobody here asked for.
globalThis.AI_SDK_LOG_WARNINGS = false;
const say = console.log;
console.log = () => {};

let failed = 0;

function once(way, answer, shown) {
  const isOnce = shown.split(answer).length === 2;
  failed += isOnce ? 0 : 1;
  say(`${isOnce ? "ok   " : "WRONG"} ${way}: ${JSON.stringify(shown)}`);
}

for (const [name, before] of Object.entries(JSON.parse(process.env.SHOWN))) {
  const card = `${process.argv[2]}/a2a/${name}/.well-known/agent-card.json`;
  for (const said of ["Hello", "again"]) {
    const asked = () => ({ model: a2a(card), prompt: said, maxRetries: 0 });
    once(`${name}, waiting`, before + said, (await generateText(asked())).text);
    // In streams it shows no question.
    if (name === "echo") continue;
    let shown = "";
    for await (const piece of streamText(asked()).textStream) shown += piece;
    once(`${name}, streaming`, before + said, shown);
  }
}
process.exit(failed ? 1 : 0);
