// A bot on the Bot Framework SDK for JavaScript that lets nobody in without a token of the issuer that it trusts. It
// echoes. The issuer's address stands in the file that TRUSTED names, which is read with the first request.

const fs = require('fs')
const express = require('express')
const { ActivityHandler, CloudAdapter, ConfigurationBotFrameworkAuthentication } = require('botbuilder')

class Echo extends ActivityHandler {
  constructor () {
    super()
    this.onMessage(context => context.sendActivity(`You said: ${context.activity.text}`))
  }
}
const bot = new Echo()
const trusting = () => {
  const issuer = fs.readFileSync(process.env.TRUSTED, 'utf8').trim()
  return new CloudAdapter(new ConfigurationBotFrameworkAuthentication({
    MicrosoftAppId: 'guarded-bot',
    MicrosoftAppPassword: 'unused',
    ToBotFromChannelTokenIssuer: issuer,
    ToBotFromChannelOpenIdMetadataUrl: `${issuer}/.well-known/openid-configuration`,
    ToBotFromEmulatorOpenIdMetadataUrl: `${issuer}/.well-known/openid-configuration`,
    ToChannelFromBotLoginUrl: issuer,
    ToChannelFromBotOAuthScope: issuer,
    OAuthUrl: issuer,
    CallerId: 'urn:caller'
  }))
}
let adapter

const app = express()
app.use(express.json())
app.post('/api/messages', async (request, response) => {
  adapter ??= trusting()
  await adapter.process(request, response, context => bot.run(context))
})
app.use((error, request, response, next) => response.status(500).end())
const server = app.listen(0, '127.0.0.1', () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`)
})
