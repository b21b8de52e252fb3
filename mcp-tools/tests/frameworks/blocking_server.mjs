// An MCP server on npm @modelcontextprotocol/sdk 1.32.2 with a tool that keeps the only thread busy. It prints its address.
import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';

// Modules are not looked for in NODE_PATH, whose packages the test has installed; `require` does.
const require = createRequire(import.meta.url);
const express = require('express');
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');

// Node.js closes connections that have been silent for 5 s.
const BUSY = 6000;

const sessions = new Map();

const open = async () => {
  const server = new McpServer({ name: 'blocking', version: '1' });
  const said = (text) => ({ content: [{ type: 'text', text }] });
  server.registerTool('echo', {}, () => said('echo'));
  server.registerTool('block', {}, () => {
    // The only thread is blocked, as by work, but the tests beside this one keep the processor.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY);
    return said('block');
  });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await server.connect(transport);
  return transport;
};

const app = express();
app.use(express.json());
app.all('/mcp', async (request, response) => {
  const transport = sessions.get(request.headers['mcp-session-id']) ?? (await open());
  await transport.handleRequest(request, response, request.body);
});
const server = app.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
