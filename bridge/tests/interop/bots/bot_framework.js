// A bot on the Bot Framework SDK for JavaScript, without anything that knows of the bridge.
//
// It echoes; `count` is answered with how often it was said in this conversation, `ask` with a question, `card` with two
// cards and suggested actions, `file` with two files, `upload` with one that is uploaded before, a file with what came of
// it, `correct` with what is said, changed and taken back, `work` with a placeholder that becomes the answer, `worklater`
// with one that does so after the turn, `dialog` begins a dialog, `later` is answered with something that comes after the
// turn, `end` ends the conversation, `throw` fails. What comes after a turn comes when it is asked for at
// /now/CONVERSATION: a bot cannot see when its turn is over.

const express = require('express')
const {
  ActionTypes, ActivityHandler, CardFactory, CloudAdapter, ConfigurationBotFrameworkAuthentication, ConversationState,
  MemoryStorage, MessageFactory, TurnContext
} = require('botbuilder')
const { ComponentDialog, DialogSet, NumberPrompt, TextPrompt, WaterfallDialog } = require('botbuilder-dialogs')

const adapter = new CloudAdapter(new ConfigurationBotFrameworkAuthentication({}))
const state = new ConversationState(new MemoryStorage())
const counted = state.createProperty('counted')
const dialogs = new DialogSet(state.createProperty('dialogs'))
const promised = new Map()
const promise = (context, kept) => {
  const reference = TurnContext.getConversationReference(context.activity)
  promised.set(context.activity.conversation.id, () => adapter.continueConversationAsync('', reference, kept))
}

class Order extends ComponentDialog {
  constructor () {
    super('order')
    this.addDialog(new TextPrompt('what')).addDialog(new NumberPrompt('many')).addDialog(new WaterfallDialog('steps', [
      step => step.prompt('what', 'What shall it be?'),
      step => {
        step.values.what = step.result
        return step.prompt('many', { prompt: 'How many?', retryPrompt: 'A number, please.' })
      },
      async step => {
        await step.context.sendActivity(`${step.result} of ${step.values.what}`)
        return step.endDialog()
      }
    ]))
    this.initialDialogId = 'steps'
  }
}
dialogs.add(new Order())

const does = {
  async count (context) {
    const count = await counted.get(context, 0) + 1
    await counted.set(context, count)
    await context.sendActivity(`${count}`)
  },
  async ask (context) {
    await context.sendActivity({ type: 'message', text: 'Which one?', inputHint: 'expectingInput' })
  },
  async card (context) {
    const hero = CardFactory.heroCard('A card', [], [{ type: ActionTypes.ImBack, title: 'Yes', value: 'yes' }])
    const adaptive = CardFactory.adaptiveCard({ type: 'AdaptiveCard', version: '1.5', body: [{ type: 'TextBlock', text: 'Hi' }] })
    await context.sendActivity(MessageFactory.carousel([hero, adaptive], 'Two cards'))
    await context.sendActivity(MessageFactory.suggestedActions(['red', 'blue'], 'Which colour?'))
  },
  async file (context) {
    const pixel = { name: 'pixel.gif', contentType: 'image/gif', contentUrl: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }
    const linked = { name: 'page.html', contentType: 'text/html', contentUrl: 'https://example.com/page.html' }
    await context.sendActivity({ type: 'message', text: 'Two files', attachments: [pixel, linked] })
  },
  async upload (context) {
    const { conversation, serviceUrl } = context.activity
    const client = context.turnState.get(context.adapter.ConnectorClientKey)
    const note = { name: 'note.txt', type: 'text/plain', originalBase64: Buffer.from('Uploaded.') }
    const { id } = await client.conversations.uploadAttachment(conversation.id, note)
    const contentUrl = `${serviceUrl.replace(/\/$/, '')}/v3/attachments/${id}/views/original`
    const attached = { name: note.name, contentType: note.type, contentUrl }
    await context.sendActivity({ type: 'message', text: 'One file', attachments: [attached] })
  },
  async correct (context) {
    const { id } = await context.sendActivity('first')
    await context.updateActivity({ type: 'message', text: 'second', id })
    const slip = await context.sendActivity('a slip')
    await context.deleteActivity(slip.id)
  },
  async work (context) {
    const { id } = await context.sendActivity('Working on it')
    await context.updateActivity({ type: 'message', text: 'The answer', id })
  },
  async worklater (context) {
    const { id } = await context.sendActivity('Working on it')
    promise(context, turn => turn.updateActivity({ type: 'message', text: 'The answer', id }))
  },
  async dialog (context) {
    await (await dialogs.createContext(context)).beginDialog('order')
  },
  async later (context) {
    await context.sendActivity('I will call back')
    promise(context, turn => turn.sendActivity('here I am'))
  },
  async end (context) {
    await context.sendActivity('bye')
    await context.sendActivity({ type: 'endOfConversation', code: 'completedSuccessfully' })
  },
  async throw () {
    throw new Error('as I was told')
  }
}

async function hear (context) {
  const going = await dialogs.createContext(context)
  const [file] = context.activity.attachments ?? []
  if (going.activeDialog) await going.continueDialog()
  else if (file?.contentUrl) {
    const bytes = await (await fetch(file.contentUrl)).arrayBuffer()
    await context.sendActivity(`${file.name} is ${file.contentType} of ${bytes.byteLength} bytes`)
  } else if (Object.hasOwn(does, context.activity.text)) await does[context.activity.text](context)
  else await context.sendActivity(`Echo: ${context.activity.text}`)
}

const bot = new ActivityHandler()
bot.onMessage(async (context, next) => {
  await hear(context)
  await state.saveChanges(context)
  await next()
})

const app = express()
app.use(express.json())
app.post('/api/messages', (request, response) => adapter.process(request, response, context => bot.run(context)))
app.post('/now/:conversation', async (request, response) => {
  await promised.get(request.params.conversation)()
  response.end()
})
const server = app.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`))
