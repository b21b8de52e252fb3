// Runs a2a_js_sdk.mjs in a web page, with the same arguments: serves the page and opens it in a headless Chromium. The page is
// from another origin than the bridge, so the browser asks the bridge whether it allows the page.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LIMIT = 120_000;

const modules = {
  '@a2a-js/sdk': '/node_modules/@a2a-js/sdk/dist/index.js',
  '@a2a-js/sdk/client': '/node_modules/@a2a-js/sdk/dist/client/index.js',
  jose: '/node_modules/jose/dist/webapi/index.js',
};
// What the page prints, and why it stops, goes to this program.
const page = `<!doctype html><script type="importmap">${JSON.stringify({ imports: modules })}</script><script>
  const tell = (path, body) => fetch(path, { method: 'POST', body });
  console.log = (line) => tell('/line', line);
  const stop = (error) => tell('/line', String(error)).then(() => tell('/ended', '1'));
  addEventListener('error', ({ message }) => stop(message));
  addEventListener('unhandledrejection', ({ reason }) => stop(reason));
</script><script type="module" src="/a2a_js_sdk.mjs"></script>`;

function file(path) {
  const found = path.startsWith('/node_modules/') ? join(process.env.NODE_PATH, '..', path) : new URL(`.${path}`, import.meta.url);
  return readFileSync(found);
}

const folder = mkdtempSync(join(tmpdir(), 'page-'));
let browser;

// Ends the browser with all its processes, and this program.
function end(code) {
  browser.once('exit', () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    process.exit(code);
  });
  process.kill(-browser.pid, 'SIGKILL');
}

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://page');
  if (request.method === 'POST') {
    const said = (await request.toArray()).join('');
    response.end();
    return pathname === '/ended' ? end(Number(said)) : console.log(said);
  }
  const isPage = pathname === '/';
  response.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript');
  try {
    response.end(isPage ? page : file(pathname));
  } catch {
    response.writeHead(404).end();
  }
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const query = new URLSearchParams(process.argv.slice(2).map((argument) => ['argument', argument]));
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}`];
  browser = spawn('chromium', [...flags, `http://127.0.0.1:${port}/?${query}`], { stdio: 'ignore', detached: true });
  browser.on('error', (error) => { console.log(String(error)); process.exit(1); });
  setTimeout(() => { console.log(`the page has not ended within ${LIMIT / 1000} s`); end(1); }, LIMIT);
});
