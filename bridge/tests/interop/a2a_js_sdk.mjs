// A2A as npm @a2a-js/sdk 1.3.0 speaks it, through every kind of conversation. Like the clients in Python beside
// it, it gets the bridge's address, prints a line per check and ends with 1 if one failed. The second argument is
// the transport, JSONRPC, HTTP+JSON or GRPC, the third the version, 1.0 or 0.3, the fourth a bearer token, if the
// bridge wants one. It runs in Node and, without gRPC, in the web page of a2a_js_sdk_page.mjs.
const inNode = globalThis.process !== undefined;

// Modules are not looked for in NODE_PATH, whose packages the test has installed; `require` does.
async function fromNodePath(name) {
  const [{ createRequire }, { pathToFileURL }] = await Promise.all([import('node:module'), import('node:url')]);
  return import(pathToFileURL(createRequire(import.meta.url).resolve(name).replace(/\.cjs$/, '.js')));
}

const load = inNode ? fromNodePath : (name) => import(name);
const { Role, TaskState } = await load('@a2a-js/sdk');
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
  await load('@a2a-js/sdk/client');
const transports = [JsonRpcTransportFactory, RestTransportFactory];
if (inNode) transports.push((await load('@a2a-js/sdk/client/grpc')).GrpcTransportFactory);

const [base, transport, version, token] = inNode ? process.argv.slice(2) : new URL(location).searchParams.getAll('argument');

// Calls the bridge with the token.
function fetchImpl(url, init = {}) {
  const headers = new Headers(init.headers);
  if (token) headers.set('Authorization', `Bearer ${token}`);
  return fetch(url, { ...init, headers });
}

const STREAMED =
  'A task is a log of what was said and done. Everyone who follows it sees the same events in the same order [1].\n' +
  '[1] Agent2Agent (A2A) Protocol Specification (https://a2a-protocol.org/latest/specification/)';
const checks = { passed: 0, failed: 0 };

function equal(what, expected, seen) {
  if (JSON.stringify(expected) === JSON.stringify(seen)) {
    checks.passed += 1;
    console.log(`ok    ${what}`);
  } else {
    checks.failed += 1;
    console.log(`WRONG ${what}\n      expected ${JSON.stringify(expected)}\n      seen     ${JSON.stringify(seen)}`);
  }
}

// An error in a stream's event is the cause of another without a name of its own.
async function refused(what, error, asked) {
  const seen = await asked.then(() => 'no error', (raised) => (raised.name === 'Error' ? raised.cause ?? raised : raised).name);
  equal(what, error, seen);
}

async function agent(name) {
  const legacyCompat = { enabled: true };
  const wanted = { transports: transports.map((Made) => new Made({ fetchImpl, legacyCompat })), preferredTransports: [transport] };
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, wanted);
  const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(`${base}/a2a/${name}/`, '.well-known/agent-card.json');
  // It would take the newest; the other version is what is left then.
  card.supportedInterfaces = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === version);
  return new ClientFactory(options).createFromAgentCard(card);
}

const part = (text) => ({ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' });
const words = (parts) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const request = (text, task, returnImmediately = false) => ({
  tenant: '',
  message: {
    messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts: [part(text)], taskId: task?.id ?? '',
    contextId: task?.contextId ?? '', metadata: undefined, extensions: [], referenceTaskIds: [],
  },
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, historyLength: undefined, returnImmediately },
  metadata: undefined,
});
const ask = async (client, ...said) => {
  const answer = await client.sendMessage(request(...said));
  return answer.payload?.value ?? answer;
};
// The state, and what is said: the question of the status, or else the last artifact.
const said = (task) => [
  TaskState[task.status.state], words(task.status.message?.parts ?? task.artifacts.at(-1)?.parts ?? []),
];

async function turns(client) {
  const echo = await ask(client, 'hi');
  equal('an echo ends its task', ['TASK_STATE_COMPLETED', 'You said: hi'], said(echo));
  const got = await client.getTask({ tenant: '', id: echo.id, historyLength: undefined });
  equal('a task is got as it was answered', said(echo), said(got));
  const task = await ask(client, '-multi');
  equal('-multi asks for input', 'TASK_STATE_INPUT_REQUIRED', said(task)[0]);
  const again = await ask(client, 'one', task);
  equal('each turn answers in its task', [task.id, 'You said: one'], [again.id, said(again)[1]]);
  const ended = await ask(client, 'end', task);
  equal('end completes the task', ['TASK_STATE_COMPLETED', 'All done.'], said(ended));
  return ended;
}

// What it reads of 0.3 over HTTP+JSON, it leaves without `append`.
const tellsAppend = version === '1.0' || transport === 'JSONRPC';

async function stream(client) {
  let [text, kinds, last] = ['', [], undefined];
  for await (const { payload } of client.sendMessageStream(request('-stream'))) {
    kinds.push(payload.$case);
    if (payload.$case === 'artifactUpdate') {
      const piece = words(payload.value.artifact.parts);
      text = payload.value.append || !tellsAppend ? text + piece : piece;
    }
    if (payload.$case === 'statusUpdate') last = payload.value.status;
  }
  equal('a stream begins with the task', 'task', kinds[0]);
  equal('its pieces make up the text', STREAMED, text);
  equal('it ends with the task', 'TASK_STATE_COMPLETED', TaskState[last.state]);
}

// Over gRPC requests of 0.3 reach the first agent alone, which leaves a task open when it asks.
const leavesOpen = transport === 'GRPC' && version === '0.3'
  ? { name: 'sample', text: '-multi', state: 'TASK_STATE_INPUT_REQUIRED' }
  : { name: 'hanging', text: 'hi', state: 'TASK_STATE_WORKING' };

async function subscribe(client) {
  const task = await ask(client, leavesOpen.text, undefined, leavesOpen.name === 'hanging');
  const states = [];
  for await (const { payload } of client.resubscribeTask({ tenant: '', id: task.id })) {
    states.push([payload.$case, TaskState[payload.value.status.state]]);
    if (payload.$case === 'task') await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
  }
  equal('a subscription begins with the task', ['task', leavesOpen.state], states[0]);
  equal('it ends when the task is canceled', ['statusUpdate', 'TASK_STATE_CANCELED'], states.at(-1));
}

async function pushes(client) {
  const { id: taskId } = await ask(client, '-multi');
  const config = { tenant: '', id: 'p', taskId, url: 'http://127.0.0.1:9/hook', token: 't', authentication: undefined };
  const made = await client.createTaskPushNotificationConfig(config);
  equal('a webhook is set', [config.url, config.token], [made.url, made.token]);
  const named = { tenant: '', taskId, id: 'p' };
  equal('it is got as it was set', made, await client.getTaskPushNotificationConfig(named));
  const all = () => client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' });
  equal('it is listed', [made], (await all()).configs);
  await client.deleteTaskPushNotificationConfig(named);
  equal('it is gone when it was deleted', 0, (await all()).configs.length);
  const inside = { ...config, url: 'http://10.0.0.1/hook' };
  await refused('one that nobody allowed is refused', 'RequestMalformedError', client.createTaskPushNotificationConfig(inside));
}

async function errors(client, ended) {
  await refused('an unknown task is not found', 'TaskNotFoundError', client.getTask({ tenant: '', id: 'unknown' }));
  await refused('an ended task takes no message', 'UnsupportedOperationError', ask(client, 'more', ended));
  const cancel = client.cancelTask({ tenant: '', id: ended.id, metadata: undefined });
  await refused('an ended task is not canceled', 'TaskNotCancelableError', cancel);
  const again = client.resubscribeTask({ tenant: '', id: ended.id });
  if (version === '1.0') {
    await refused('an ended task is not subscribed to', 'UnsupportedOperationError', again.next());
  } else {
    const whole = [];
    for await (const { payload } of again) whole.push([payload.$case, payload.value.id]);
    equal('the stream of an ended task is the task', [['task', ended.id]], whole);
  }
}

const sample = await agent('sample');
equal('the transport is the wanted one', [transport, version], [sample.transport.protocolName, sample.protocolVersion]);
const ended = await turns(sample);
await stream(sample);
await subscribe(await agent(leavesOpen.name));
// 0.3 has no list.
if (version === '1.0') {
  const listed = await sample.listTasks({
    tenant: '', contextId: ended.contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 5, pageToken: '',
    historyLength: undefined, statusTimestampAfter: undefined, includeArtifacts: false,
  });
  equal("a context's tasks are listed", [ended.id], listed.tasks.map(({ id }) => id));
}
await pushes(sample);
await errors(sample, ended);
console.log(`${checks.passed} passed, ${checks.failed} failed`);
if (inNode) process.exit(checks.failed ? 1 : 0);
else await fetch('/ended', { method: 'POST', body: checks.failed ? '1' : '0' });
