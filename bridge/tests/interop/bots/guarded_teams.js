// A bot on the Teams SDK for JavaScript that lets nobody in without a token of the issuer that it trusts. It echoes. The
// issuer's address stands in the file that TRUSTED names, which is read with the first request.

const fs = require('fs')
const express = require('express')
const { App, ExpressAdapter } = require('@microsoft/teams.apps')
const { PUBLIC, withOverrides } = require('@microsoft/teams.api')

async function trusting () {
  const issuer = fs.readFileSync(process.env.TRUSTED, 'utf8').trim()
  const server = express()
  const app = new App({
    clientId: 'guarded-bot',
    // What the bot shows to the bridge, which does not look at it here.
    token: async () => 'e30.e30.e30',
    cloud: withOverrides(PUBLIC, { tokenIssuer: issuer, openIdMetadataUrl: `${issuer}/.well-known/jwks.json` }),
    httpServerAdapter: new ExpressAdapter(server)
  })
  app.on('message', async ({ activity, send }) => { await send(`You said: ${activity.text}`) })
  await app.initialize()
  return server
}
let serving

const outer = express()
outer.use(async (request, response, next) => {
  serving ??= trusting()
  ;(await serving)(request, response, next)
})
const server = outer.listen(0, '127.0.0.1', () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`)
})
