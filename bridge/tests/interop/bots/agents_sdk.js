// A bot on the Microsoft 365 Agents SDK for JavaScript, without anything that knows of the bridge.
//
// It echoes; `dialog` begins a dialog, `stream` is answered in pieces, `count` with how often it was said in this conversation, `ask` with a
// question, `card` with two cards and suggested actions, `file` with two files, a file with what came of it, `correct` with
// what is said, changed and taken back, `later` with something that comes after the turn when it is asked for at
// /now/CONVERSATION, `end` ends the conversation, `throw` fails.

const express = require('express')
const { AgentApplication, CardFactory, MemoryStorage, MessageFactory } = require('@microsoft/agents-hosting')
const { Activity } = require('@microsoft/agents-activity')
const { createAgentRequestHandler } = require('@microsoft/agents-hosting-express')

const agent = new AgentApplication({ storage: new MemoryStorage() })
// Without it the SDK keeps nothing of what a turn has set.
agent.onTurn('afterTurn', async () => true)

const promised = new Map()

const asks = (context, text) => context.sendActivity(MessageFactory.text(text, undefined, 'expectingInput'))

/** The next step of a dialog: what is ordered, then how many of it. */
async function order (context, state, going) {
  const { text } = context.activity
  if (going.step === 'what') {
    state.setValue('conversation.order', { step: 'many', what: text })
    return await asks(context, 'How many?')
  }
  if (!/^\d+$/.test(text)) return await asks(context, 'A number, please.')
  state.deleteValue('conversation.order')
  await context.sendActivity(`${text} of ${going.what}`)
}

const does = {
  async stream (context) {
    const answer = context.streamingResponse
    answer.queueInformativeUpdate('thinking')
    for (const word of ['one ', 'two ', 'three']) {
      answer.queueTextChunk(word)
      // Otherwise pieces are combined, all of them on a busy machine.
      await answer.waitForQueue()
    }
    await answer.endStream()
  },
  async count (context, state) {
    const count = (state.getValue('conversation.counted') ?? 0) + 1
    state.setValue('conversation.counted', count)
    await context.sendActivity(`${count}`)
  },
  async ask (context) {
    await context.sendActivity(MessageFactory.text('Which one?', undefined, 'expectingInput'))
  },
  async dialog (context, state) {
    state.setValue('conversation.order', { step: 'what' })
    await asks(context, 'What shall it be?')
  },
  async card (context) {
    const hero = CardFactory.heroCard('A card', [], [{ type: 'imBack', title: 'Yes', value: 'yes' }])
    const adaptive = CardFactory.adaptiveCard({ type: 'AdaptiveCard', version: '1.5', body: [{ type: 'TextBlock', text: 'Hi' }] })
    await context.sendActivity(MessageFactory.carousel([hero, adaptive], 'Two cards'))
    await context.sendActivity(MessageFactory.suggestedActions(['red', 'blue'], 'Which colour?'))
  },
  async file (context) {
    const pixel = { name: 'pixel.gif', contentType: 'image/gif', contentUrl: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }
    const linked = { name: 'page.html', contentType: 'text/html', contentUrl: 'https://example.com/page.html' }
    await context.sendActivity(MessageFactory.list([pixel, linked], 'Two files'))
  },
  async correct (context) {
    const { id } = await context.sendActivity('first')
    const changed = MessageFactory.text('second')
    changed.id = id
    await context.updateActivity(changed)
    const slip = await context.sendActivity('a slip')
    await context.deleteActivity(slip.id)
  },
  async later (context) {
    const { adapter, identity } = context
    const reference = context.activity.getConversationReference()
    await context.sendActivity('I will call back')
    promised.set(context.activity.conversation.id, () => adapter.continueConversation(identity, reference, async turn => {
      await turn.sendActivity('here I am')
    }))
  },
  async end (context) {
    await context.sendActivity('bye')
    await context.sendActivity(Activity.fromObject({ type: 'endOfConversation', code: 'completedSuccessfully' }))
  },
  async throw () {
    throw new Error('as I was told')
  }
}
for (const [word, answer] of Object.entries(does)) agent.onMessage(word, answer)

agent.onActivity('message', async (context, state) => {
  const going = state.getValue('conversation.order')
  if (going) return await order(context, state, going)
  const [file] = context.activity.attachments ?? []
  if (!file?.contentUrl) return await context.sendActivity(`Echo: ${context.activity.text}`)
  const bytes = await (await fetch(file.contentUrl)).arrayBuffer()
  await context.sendActivity(`${file.name} is ${file.contentType} of ${bytes.byteLength} bytes`)
})

const app = express()
app.use(express.json())
app.post('/api/messages', createAgentRequestHandler(agent))
app.post('/now/:conversation', async (request, response) => {
  await promised.get(request.params.conversation)()
  response.end()
})
const server = app.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`))
