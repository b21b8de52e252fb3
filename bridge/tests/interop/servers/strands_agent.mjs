// An agent on npm @strands-agents/sdk 1.19.0, served with its A2AExpressServer; a function stands in for its model.

import net from "node:net";
import { pathToFileURL } from "node:url";

// A module finds packages beside itself only; these are where NODE_PATH says.
const load = (file) => import(pathToFileURL(`${process.env.NODE_PATH}/@strands-agents/sdk/dist/src/${file}`).href);
const { Agent, Model } = await load("index.js");
const { A2AExpressServer } = await load("a2a/express-server.js");

class Repeating extends Model {
  updateConfig() {}

  getConfig() {
    return { modelId: "repeating" };
  }

  async *stream(messages) {
    const said = messages.at(-1).content.map((block) => block.text ?? "");
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    for (const text of ["You said: ", ...said]) {
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    }
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: "endTurn" };
  }
}

const free = net.createServer().listen(0, "127.0.0.1", () => {
  const { port } = free.address();
  free.close(async () => {
    const agentFactory = () => new Agent({ model: new Repeating(), printer: false });
    await new A2AExpressServer({ agentFactory, name: "strands", description: "Says it again.", port }).serve();
    console.error(`\nlistening on http://127.0.0.1:${port}`);
  });
});
