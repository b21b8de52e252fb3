// A bot on the Bot Framework SDK for JavaScript that wants its users to sign in, with the SDK's own OAuthPrompt and
// without anything that knows of the bridge. The service that keeps tokens is here too: it gives out the token for the
// code 123456, and exchanges the token "good" for it.

const express = require('express')
const {
  ActivityHandler, CloudAdapter, ConfigurationBotFrameworkAuthentication, ConversationState, MemoryStorage
} = require('botbuilder')
const { ClaimsIdentity } = require('botframework-connector')
const { DialogSet, OAuthPrompt, WaterfallDialog } = require('botbuilder-dialogs')

const state = new ConversationState(new MemoryStorage())
const dialogs = new DialogSet(state.createProperty('dialogs'))
dialogs.add(new OAuthPrompt('sign in', {
  connectionName: 'directory', title: 'Sign in', text: 'Please sign in.', showSignInLink: true
}))
dialogs.add(new WaterfallDialog('steps', [
  step => step.beginDialog('sign in'),
  async step => {
    await step.context.sendActivity(step.result ? `Welcome, ${step.result.token}` : 'Who are you?')
    return step.endDialog()
  }
]))

class Bot extends ActivityHandler {
  constructor () {
    super()
    this.onMessage(context => this.go(context))
  }

  async go (context) {
    const going = await dialogs.createContext(context)
    if (going.activeDialog) await going.continueDialog()
    else await going.beginDialog('steps')
    await state.saveChanges(context)
  }

  async onSignInInvoke (context) {
    await this.go(context)
  }
}
const bot = new Bot()

const tokens = express.Router()
const token = { connectionName: 'directory', token: 't-1' }
tokens.get('/api/usertoken/GetToken', (request, response) => {
  if (request.query.code === '123456') response.json(token)
  else response.status(404).end()
})
tokens.get('/api/botsignin/GetSignInResource', (_, response) => response.json({
  signInLink: 'https://login.example/sign-in?state=1',
  tokenExchangeResource: { id: 'x-1', uri: 'api://directory', providerId: 'p-1' }
}))
tokens.post('/api/usertoken/exchange', (request, response) => {
  if (request.body.token === 'good') response.json(token)
  else response.status(400).json({ error: { code: 'BadRequest', message: 'consent is needed' } })
})

const app = express()
app.use(express.json())
app.use(tokens)
// Without credentials the SDK does not know the name by which the bot asks for tokens.
const anonymous = () => {
  const access = new ConfigurationBotFrameworkAuthentication({ OAuthUrl: `http://127.0.0.1:${server.address().port}` })
  const named = new ClaimsIdentity([{ type: 'aud', value: 'bot' }])
  const create = access.createUserTokenClient.bind(access)
  access.createUserTokenClient = () => create(named)
  return new CloudAdapter(access)
}
let adapter
app.post('/api/messages', async (request, response) => {
  adapter ??= anonymous()
  await adapter.process(request, response, context => bot.run(context))
})
const server = app.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`))
