// Shows one message as it was sent.

/** The longest message that is parsed to collect its texts; a longer one would block the browser. */
const MOST_PARSED = 1_000_000;

class Message {
  constructor(transcript, go) {
    this.transcript = transcript;
    this.go = go;
    this.index = -1;
    this.mode = 'pretty';
    this.sought = '';
    this.viewer = new Viewer('The message');
    this.top = make('div', { class: 'message-top' });
    this.tabs = make('div', { class: 'tabs', role: 'group', 'aria-label': 'Form' }, ...[
      ['text', 'Text', 'The texts of the message'], ['pretty', 'Body', 'The formatted body'], ['raw', 'Raw', 'The body as it was recorded'],
      ['entry', 'Entry', 'The whole line of the transcript'],
    ].map(([mode, text, title]) => make('button', { type: 'button', 'data-mode': mode, text, title, onclick: () => this.as(mode) })));
    this.box = make('div', { class: 'list' }, this.top, make('div', { class: 'message-top' }, this.tabs, this.copying()), this.viewer.box);
    this.top.append(make('p', { class: 'empty', text: 'Choose a message.' }));
  }

  copying() {
    const button = make('button', { type: 'button', text: 'Copy' });
    button.addEventListener('click', async () => {
      await navigator.clipboard?.writeText(this.viewer.text);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    return button;
  }

  as(mode) {
    this.mode = mode;
    if (this.index >= 0) this.show(this.index);
  }

  async show(index) {
    this.index = index;
    this.title(index);
    for (const tab of this.tabs.children) tab.setAttribute('aria-pressed', String(tab.dataset.mode === this.mode));
    const isCancelled = () => this.index !== index || !this.box.isConnected;
    try {
      const line = await this.transcript.line(index);
      if (isCancelled()) return;
      const text = await this.textOf(line, isCancelled);
      if (!isCancelled()) await this.viewer.show(text, { sought: this.sought });
    } catch (error) {
      if (!(error instanceof Cancelled)) this.viewer.show(String(error));
    }
  }

  title(index) {
    const { transcript } = this;
    const [from, to] = transcript.between(index);
    const { first, last } = transcript.exchanges.get(transcript.exchange[index]);
    const step = (text, at, title) => (at === undefined ? null : make('button', { type: 'button', text, title, onclick: () => this.go(at) }));
    this.top.replaceChildren(
      make('h2', { class: 'said', text: `${index + 1}  ${from} → ${to}` }),
      make('span', { class: 'said', text: `${PROTOCOL_TITLES[transcript.protocolOf(index)]} ${transcript.kindOf(index)} · ${transcript.label[index]}` }),
      make('span', { class: 'quiet', text: `${transcript.time[index].toFixed(3)} s · ${bytes(transcript.bytes[index])} · exchange of ${seconds(transcript.time[last] - transcript.time[first]) || '0 ms'}` }),
      ...[transcript.flags[index] & FAULT ? ownerMark(transcript.faultOf(index)) : null,
        first === index ? null : step('Request', first, 'Its request'),
        last === index ? null : step('Last answer', last, 'The last message of this exchange')].filter(Boolean));
  }

  /** Returns the text of a line in the chosen form. */
  async textOf(line, isCancelled) {
    if (this.mode === 'entry') return prettyPrint(line, isCancelled);
    const body = memberOf(line, 'body');
    const plain = memberOf(line, 'text') ?? memberOf(line, 'error');
    if (body === undefined) {
      if (plain !== undefined) return String(JSON.parse(plain));
      const omitted = memberOf(line, 'omitted');
      return omitted === undefined ? '(no body)' : `(not kept) ${await prettyPrint(omitted, isCancelled)}`;
    }
    if (this.mode === 'raw') return body;
    if (this.mode === 'text') {
      if (body.length > MOST_PARSED) return '(too long to gather its texts; see its body)';
      return readableTexts(JSON.parse(body)).join('\n\n') || '(says no text; see its body)';
    }
    return prettyPrint(body, isCancelled);
  }
}
