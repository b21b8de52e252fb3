// An agent on npm @voltagent/core 2.10.0, served with @voltagent/a2a-server 2.0.3; a function stands in for its model.

import { createRequire } from "node:module";
import net from "node:net";

// It would look for a list of models elsewhere.
const ask = globalThis.fetch;
globalThis.fetch = async (resource, ...more) => {
  const { hostname } = new URL(resource.url ?? resource);
  if (hostname !== "127.0.0.1") throw new Error(`${hostname} is not asked`);
  return ask(resource, ...more);
};

// A module finds packages beside itself only; these are where NODE_PATH says.
const require = createRequire(`${process.env.NODE_PATH}/of-the-test.js`);
const { A2AServer } = require("@voltagent/a2a-server");
const { Agent, VoltAgent } = require("@voltagent/core");
const { honoServer } = require("@voltagent/server-hono");
const { MockLanguageModelV3, simulateReadableStream } = require("ai/test");

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finishReason = { unified: "stop", raw: "stop" };

function answer({ prompt }) {
  const said = prompt.at(-1).content.filter((part) => part.type === "text");
  return `You said: ${said.map((part) => part.text).join("")}`;
}

const model = new MockLanguageModelV3({
  doGenerate: async (options) => ({
    content: [{ type: "text", text: answer(options) }],
    finishReason,
    usage,
    warnings: [],
  }),
  doStream: async (options) => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: answer(options) },
        { type: "text-end", id: "0" },
        { type: "finish", finishReason, usage },
      ],
    }),
  }),
});

const free = net.createServer().listen(0, "127.0.0.1", () => {
  const { port } = free.address();
  free.close(() => {
    const agent = new Agent({ name: "volt", instructions: "Say it again.", model });
    const a2aServer = new A2AServer({ name: "volt", version: "1.0.0" });
    new VoltAgent({
      agents: { volt: agent },
      a2aServers: { a2aServer },
      server: honoServer({ port, hostname: "127.0.0.1" }),
    });
    tell(`http://127.0.0.1:${port}`);
  });
});

// Says where the card is, once it is there.
async function tell(address) {
  const card = `${address}/.well-known/volt/agent-card.json`;
  while (!(await fetch(card).then((found) => found.ok, () => false))) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.error(`\nlistening on ${card}`);
}
