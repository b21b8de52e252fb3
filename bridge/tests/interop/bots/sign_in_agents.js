// A bot on the Microsoft 365 Agents SDK for JavaScript that wants its users to sign in, by the SDK's own authorization and
// without anything that knows of the bridge. The SDK answers a token first, and then repeats the turn that needed it.
// The service that keeps tokens is here too: it gives out the token for the code 123456, or in exchange for "good".

const express = require('express')
const { AgentApplication, MemoryStorage } = require('@microsoft/agents-hosting')
const { createAgentRequestHandler } = require('@microsoft/agents-hosting-express')

const agent = new AgentApplication({
  storage: new MemoryStorage(),
  authorization: { directory: { azureBotOAuthConnectionName: 'directory', title: 'Sign in', text: 'Please sign in.' } }
})
agent.onActivity('message', async context => {
  const { token } = await agent.authorization.getToken(context, 'directory')
  await context.sendActivity(`Welcome, ${token}`)
}, ['directory'])

const token = { connectionName: 'directory', token: 't-1' }
const signedIn = new Set()
const accept = ({ userId, code }) => {
  if (code === '123456') signedIn.add(userId)
  return signedIn.has(userId)
}
const signInResource = {
  signInLink: 'https://login.example/sign-in?state=1',
  tokenExchangeResource: { id: 'x-1', uri: 'api://directory', providerId: 'p-1' },
  tokenPostResource: { sasUrl: 'https://login.example/token' }
}

const app = express()
app.use(express.json())
app.get('/api/usertoken/GetToken', (request, response) => {
  if (accept(request.query)) response.json(token)
  else response.status(404).end()
})
app.get('/api/usertoken/GetTokenOrSignInResource', (request, response) => {
  response.json(accept(request.query) ? { tokenResponse: token } : { signInResource })
})
app.post('/api/usertoken/exchange', (request, response) => {
  if (request.body.token !== 'good') return response.status(400).json({ error: { code: 'BadRequest', message: 'no' } })
  signedIn.add(request.query.userId)
  response.json(token)
})
app.post('/api/messages', createAgentRequestHandler(agent))
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  process.env.TOKEN_SERVICE_ENDPOINT = url
  console.error(`listening on ${url}`)
})
