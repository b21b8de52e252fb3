// A bot on the Teams SDK for JavaScript, without anything that knows of the bridge.
//
// It echoes with `reply`, which quotes the message; `dialog` begins a dialog, `stream` is answered in pieces, `count` with
// how often it was said in this conversation, `ask` with a question, `card` with two cards and suggested actions, `file` with
// two files, a file with what came of it, `correct` with what is said, changed and taken back, `later` with something that
// comes after the turn when it is asked for at /now/CONVERSATION, `end` ends the conversation, `throw` fails.

const express = require('express')
const { App, ExpressAdapter } = require('@microsoft/teams.apps')

const promised = new Map()
const counts = new Map()
const orders = new Map()
const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
const asks = text => ({ type: 'message', text, inputHint: 'expectingInput' })

/** The next step of a dialog: what is ordered, then how many of it. */
async function order ({ activity, send }, going) {
  const { text, conversation } = activity
  if (going === true) {
    orders.set(conversation.id, text)
    return await send(asks('How many?'))
  }
  if (!/^\d+$/.test(text)) return await send(asks('A number, please.'))
  orders.delete(conversation.id)
  await send(`${text} of ${going}`)
}

const does = {
  async stream ({ stream }) {
    stream.update('thinking')
    for (const word of ['one ', 'two ', 'three']) {
      // Otherwise pieces are combined, all of them on a busy machine.
      const sent = new Promise(resolve => stream.events.once('chunk', resolve))
      stream.emit(word)
      await sent
    }
  },
  async count ({ activity, send }) {
    const count = (counts.get(activity.conversation.id) ?? 0) + 1
    counts.set(activity.conversation.id, count)
    await send(`${count}`)
  },
  async ask ({ send }) {
    await send(asks('Which one?'))
  },
  async dialog ({ activity, send }) {
    orders.set(activity.conversation.id, true)
    await send(asks('What shall it be?'))
  },
  async card ({ send }) {
    const hero = { title: 'A card', buttons: [{ type: 'imBack', title: 'Yes', value: 'yes' }] }
    const adaptive = { type: 'AdaptiveCard', version: '1.5', body: [{ type: 'TextBlock', text: 'Hi' }] }
    const attachments = [
      { contentType: 'application/vnd.microsoft.card.hero', content: hero },
      { contentType: 'application/vnd.microsoft.card.adaptive', content: adaptive }
    ]
    await send({ type: 'message', text: 'Two cards', attachmentLayout: 'carousel', attachments })
    const actions = ['red', 'blue'].map(colour => ({ type: 'imBack', title: colour, value: colour }))
    await send({ type: 'message', text: 'Which colour?', suggestedActions: { to: [], actions } })
  },
  async file ({ send }) {
    const pixel = { name: 'pixel.gif', contentType: 'image/gif', contentUrl: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }
    const linked = { name: 'page.html', contentType: 'text/html', contentUrl: 'https://example.com/page.html' }
    await send({ type: 'message', text: 'Two files', attachments: [pixel, linked] })
  },
  async correct ({ activity, api, send }) {
    const { id } = await send('first')
    await send({ type: 'message', id, text: 'second' })
    const slip = await send('a slip')
    await api.conversations.activities(activity.conversation.id).delete(slip.id)
  },
  async later ({ activity, send }) {
    await send('I will call back')
    promised.set(activity.conversation.id, () => send('here I am'))
  },
  async end ({ send }) {
    await send('bye')
    await send({ type: 'endOfConversation', code: 'completedSuccessfully' })
  },
  async throw () {
    throw new Error('as I was told')
  }
}

const server = express()
const app = new App({ httpServerAdapter: new ExpressAdapter(server), dangerouslyAllowUnauthenticatedRequests: true })
app.on('message', async context => {
  const { activity, reply, send } = context
  const going = orders.get(activity.conversation.id)
  if (going) return await order(context, going)
  if (Object.hasOwn(does, activity.text ?? '')) return await does[activity.text](context)
  const [file] = activity.attachments ?? []
  if (!file?.contentUrl) return await reply(`Echo: ${activity.text}`)
  const bytes = await (await fetch(file.contentUrl)).arrayBuffer()
  await send(`${file.name} is ${file.contentType} of ${bytes.byteLength} bytes`)
})
server.post('/now/:conversation', async (request, response) => {
  await promised.get(request.params.conversation)()
  response.end()
})
app.initialize().then(() => {
  const listening = server.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${listening.address().port}`))
})
