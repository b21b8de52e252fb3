// An agent on npm @a2a-js/sdk 1.3.0: A2A 1.0 and 0.3 over JSON-RPC at `/rpc`, over HTTP+JSON below `/rest` and over
// gRPC at a port of its own.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { randomUUID } from 'node:crypto';

// Modules are not looked for in NODE_PATH, whose packages the test has installed; `require` does.
const require = createRequire(import.meta.url);
const load = (name) => import(pathToFileURL(esm(name)));
const esm = (name) => require.resolve(name).replace(/\.cjs$/, '.js');
const express = require('express');
const grpc = require('@grpc/grpc-js');
const { Role, TaskState } = await load('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load('@a2a-js/sdk/server');
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await load('@a2a-js/sdk/server/express');
const { A2AService, grpcService } = await load('@a2a-js/sdk/server/grpc');
const { LegacyA2AService, legacyGrpcService } = await load('@a2a-js/sdk/compat/v0_3/server/grpc');

const part = (text) => ({ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' });

class Agent {
  #waiting = new Map();

  async execute({ taskId, contextId, userMessage, task }, bus) {
    const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    if (!task) {
      const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }));
    }
    const say = (state, words) => {
      const message = words && {
        messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [part(words)],
        metadata: undefined, extensions: [], referenceTaskIds: [],
      };
      const status = { state, message: message || undefined, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
    };
    say(TaskState.TASK_STATE_WORKING, 'thinking');
    if (text === 'ask') {
      say(TaskState.TASK_STATE_INPUT_REQUIRED, 'what?');
    } else if (text === 'block') {
      // The only thread is blocked, as by work, but the tests beside this one keep the processor.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);
      say(TaskState.TASK_STATE_COMPLETED, 'done');
    } else if (text === 'wait') {
      await new Promise((canceled) => this.#waiting.set(taskId, canceled));
      say(TaskState.TASK_STATE_CANCELED, '');
    } else {
      for (const [piece, append] of [['You said: ', false], [text, true]]) {
        const artifact = { artifactId: 'answer', name: 'Answer', description: '', parts: [part(piece)], metadata: undefined, extensions: [] };
        bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: append, metadata: undefined }));
      }
      say(TaskState.TASK_STATE_COMPLETED, 'done');
    }
    bus.finished?.();
  }

  async cancelTask(taskId) {
    this.#waiting.get(taskId)?.();
  }
}

const interfaceAt = (url, protocolBinding, protocolVersion = '1.0') => ({ url, protocolBinding, protocolVersion, tenant: '' });
const cardOf = (http, grpcPort) => ({
  name: '@a2a-js/sdk 1.3.0', description: 'answers', version: '1', provider: undefined,
  supportedInterfaces: [
    interfaceAt(`${http}/rpc`, 'JSONRPC'), interfaceAt(`${http}/rest`, 'HTTP+JSON'),
    interfaceAt(`127.0.0.1:${grpcPort}`, 'GRPC'),
    interfaceAt(`${http}/rpc`, 'JSONRPC', '0.3'), interfaceAt(`${http}/rest`, 'HTTP+JSON', '0.3'),
    interfaceAt(`127.0.0.1:${grpcPort}`, 'GRPC', '0.3'),
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [] },
  securitySchemes: {}, securityRequirements: [], signatures: [],
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [{ id: 'answer', name: 'answer', description: 'answers', tags: ['answer'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
});

const app = express();
const rpc = new grpc.Server();
rpc.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (failed, grpcPort) => {
  if (failed) throw failed;
  const server = app.listen(0, '127.0.0.1', () => {
    const address = `http://127.0.0.1:${server.address().port}`;
    const card = cardOf(address, grpcPort);
    const requestHandler = new DefaultRequestHandler(
      card, new InMemoryTaskStore(), new Agent(), undefined, undefined, undefined, card,
    );
    const userBuilder = UserBuilder.noAuthentication;
    const legacyCompat = { enabled: true };
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
    app.use('/rest', restHandler({ requestHandler, userBuilder, legacyCompat }));
    rpc.addService(A2AService, grpcService({ requestHandler, userBuilder }));
    rpc.addService(LegacyA2AService, legacyGrpcService({ requestHandler, userBuilder }));
    console.error(`listening on ${address}`);
  });
});
