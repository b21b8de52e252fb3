// The echo of the load program on the official JavaScript SDK: node echo.mjs PORT
import { randomUUID } from 'node:crypto';
import express from 'express';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler } from '@a2a-js/sdk/server/express';

const port = Number(process.argv[2]);
const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });

const echo = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const text = userMessage.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
    const task = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
    bus.publish(AgentEvent.task({ ...task, status: status(TaskState.TASK_STATE_SUBMITTED) }));
    if (text.startsWith('hold')) await new Promise((done) => setTimeout(done, 3_600_000));
    const parts = [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }];
    const artifact = { artifactId: randomUUID(), name: 'echo', description: '', parts, metadata: undefined, extensions: [] };
    const ids = { taskId, contextId, metadata: undefined };
    bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: false, lastChunk: true }));
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_COMPLETED) }));
  },
  async cancelTask() {},
};

const url = `http://127.0.0.1:${port}/`;
const modes = ['text/plain'];
const skill = { id: 'echo', name: 'echo', description: 'echo', tags: [], examples: [], securityRequirements: [] };
const card = {
  name: 'echo', description: 'echo', version: '1', provider: undefined, signatures: [],
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {}, securityRequirements: [], defaultInputModes: modes, defaultOutputModes: modes,
  skills: [{ ...skill, inputModes: [], outputModes: [] }],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echo);
const app = express();
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, '127.0.0.1', 4096);
