// Clients of server-sent events that know nothing of A2A. Each sends a message; its stream is cut, and it sends the same again, with
// the id of the last event: it gets what a stream has that is not cut, each event once.

import { load } from "./shown.mjs";

const { EventSource } = await load("eventsource/dist/index.js");

// What the other client expects of a page.
globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
const { fetchEventSource } = await load("@microsoft/fetch-event-source/lib/cjs/index.js");

const CUT = 1000; // bytes, which are more than one event and less than all

const url = `${process.argv[2]}/a2a/sample/message:stream`;

function send(id, { headers, signal }) {
  const message = { messageId: id, role: "ROLE_USER", parts: [{ text: "-stream" }] };
  const body = JSON.stringify({ message });
  headers = { ...headers, "Content-Type": "application/json", "A2A-Version": "1.0" };
  return fetch(url, { method: "POST", headers, body, signal });
}

// Returns a function to fetch with that sends the message and cuts the first answer.
function cutting(id) {
  let left = CUT;
  return async (_, options) => {
    const response = await send(id, options);
    if (left <= 0) return response;
    const cut = new TransformStream({
      transform(piece, controller) {
        controller.enqueue(piece.subarray(0, left));
        left -= piece.length;
        if (left <= 0) controller.error(new Error("cut"));
      },
    });
    const answer = new Response(response.body.pipeThrough(cut), response);
    return Object.defineProperty(answer, "url", { value: url });
  };
}

const isLast = (data) => JSON.parse(data).statusUpdate?.status.state === "TASK_STATE_COMPLETED";

function eventSource(fetch, seen) {
  return new Promise((resolve) => {
    const source = new EventSource(url, { fetch });
    source.onmessage = ({ data, lastEventId }) => {
      seen.push(lastEventId);
      if (isLast(data)) resolve(source.close());
    };
  });
}

async function microsoft(fetch, seen) {
  const onmessage = ({ id, data }) => data && seen.push(id);
  await fetchEventSource(url, { fetch, onmessage, openWhenHidden: true });
}

for (const client of [eventSource, microsoft]) {
  const [id, seen] = [client.name, []];
  await client(cutting(id), seen);
  const whole = await (await send(id, { headers: { "Last-Event-ID": seen[0] } })).text();
  const expected = [seen[0], ...Array.from(whole.matchAll(/^id: (.*)$/gm), ([, id]) => id)];
  console.error(id, seen, "expected", expected);
  if (expected.length < 5 || expected.join() !== seen.join()) process.exit(1);
}
process.exit(0);
