// The page of one trial: its problems, its messages as a sequence, and a pane beside it.

async function trialPage(main, run, index) {
  main.classList.add('fixed');
  const view = new TrialView(run, index);
  main.append(view.top);
  const block = run.trials.block[index];
  if (block === null) {
    main.append(make('p', { class: 'empty', text: 'This file does not contain the transcript of this trial (there was none, or the report would have become too large).' }));
    return view;
  }
  main.append(make('p', { class: 'wait', text: 'Reading the transcript…' }));
  await view.open(main, block);
  return view;
}

/** The interval at which a view is drawn while more is read, in milliseconds. */
const DRAWN_EVERY = 300;

class TrialView {
  constructor(run, index) {
    this.run = run;
    this.index = index;
    this.id = run.id(index);
    const { trials } = run;
    this.problems = make('div', {});
    this.top = make('div', {}, make('div', { class: 'trial-top' }, outcomeMark(run.outcome(index)),
      make('h2', { class: 'said', text: run.title(index) }),
      make('span', { class: 'quiet', text: [seconds(trials.seconds[index]), trials.tokens[index] ? `${count(trials.tokens[index])} tokens` : null,
        `seed ${trials.seed[index]}`].filter(Boolean).join(' · ') }),
      this.elsewhere()), this.problems);
  }

  /** Returns a link to the same trial in the other run. */
  elsewhere() {
    const other = this.run === app.run ? app.other : app.run;
    const at = other?.sameAs(this.run, this.index);
    if (at === undefined) return null;
    return make('a', { href: other.link(at), text: `the same in ${other.name}: ${titleOf(other.outcome(at))}` });
  }

  /** Updates the index of the trial after others were added. The shown content does not change. */
  refresh() { this.index = this.run.byKey.get(this.id) ?? this.index; }

  isCancelled() { return app.view !== this && app.opening !== this; }

  async open(main, block) {
    app.opening = this;
    this.transcript = await Transcript.of(block);
    if (this.isCancelled()) return;
    const { head } = this.transcript;
    this.problems.append(...head.problems.map(problemOf));
    if (head.about) this.problems.append(make('p', { class: 'said', text: `Note: this trial ${head.about}` }));
    this.message = new Message(this.transcript, (index) => this.go(index));
    this.seekFor('');
    this.timeline = new Timeline(this.transcript, (index) => this.go(index));
    this.sequence = new Sequence(this.transcript, {
      moved: (index) => this.choose(index),
      open: (index) => { this.choose(index); },
    });
    this.pane = new Pane(this, head);
    main.querySelector('.wait')?.remove();
    main.append(make('div', { class: 'split' },
      make('section', { 'aria-label': 'Messages' }, this.filters(), this.timeline.box, this.sequence.box), this.pane.box));
    let drawn = -Infinity;
    await this.transcript.read(async () => {
      await this.judge();
      this.refilter();
      await yieldToBrowser();
      if (performance.now() - drawn < DRAWN_EVERY) return;
      this.timeline.draw();
      drawn = performance.now();
    }, () => this.isCancelled());
    this.timeline.draw();
    await yieldToBrowser();
    if (this.isCancelled()) return;
    this.pane.summary.draw();
    this.tell();
    this.sequence.rows.box.focus({ preventScroll: true });
  }

  filters() {
    const { transcript } = this;
    this.search = make('input', { type: 'search', id: 'search', placeholder: 'Search messages', 'aria-label': 'Search messages',
      oninput: () => this.seek(), onkeydown: (event) => { if (event.key === 'Enter' || event.key === 'ArrowDown') { event.preventDefault(); this.sequence.rows.box.focus(); this.sequence.rows.go(0); } } });
    const changed = () => this.refilter(true);
    this.onHop = make('select', { 'aria-label': 'Hop', onchange: changed }, make('option', { value: '', text: 'all hops' }),
      ...transcript.hops.map((hop, at) => make('option', { value: at, text: hop.name })));
    this.onProtocol = make('select', { 'aria-label': 'Protocol', onchange: changed }, make('option', { value: '', text: 'all protocols' }),
      ...PROTOCOLS.map((name, at) => make('option', { value: at, text: PROTOCOL_TITLES[name] })));
    this.onFaults = make('button', { type: 'button', 'aria-pressed': 'false', text: 'Faults', onclick: () => {
      this.onFaults.setAttribute('aria-pressed', String(this.onFaults.getAttribute('aria-pressed') !== 'true'));
      changed();
    } });
    this.status = make('span', { class: 'push', role: 'status' });
    return make('div', { class: 'bar' }, this.search, this.onHop, this.onProtocol, this.onFaults, this.status);
  }

  /** Searches labels and beginnings of messages first, and then the complete messages, block by block. */
  async seek() {
    const sought = this.search.value.trim().toLowerCase();
    clearTimeout(this.waiting);
    this.seekFor(sought);
    if (!sought) return this.refilter(true);
    const { hits } = this;
    this.waiting = setTimeout(() => this.seekInText(hits), 250);
    await this.judge();
    if (this.hits === hits) this.refilter(true);
  }

  /** Begins a search: `hits` has a 1 for each message that contains the words, `judged` is the number of searched messages. */
  seekFor(sought) {
    this.message.sought = sought;
    Object.assign(this, { words: sought.split(/\s+/).filter(Boolean), hits: sought ? new Uint8Array(this.transcript.length) : null,
      judged: 0, searched: sought ? 0 : 1 });
  }

  /** Searches the labels and beginnings of new messages. */
  async judge() {
    const { transcript, hits, words } = this;
    if (!hits) return;
    const first = this.judged;
    await forEachInSlices(transcript.known - first, (at) => {
      if (this.hits !== hits) return false;
      const said = `${transcript.label[first + at]} ${transcript.gist[first + at]}`.toLowerCase();
      if (words.every((word) => said.includes(word))) hits[first + at] = 1;
      this.judged = Math.max(this.judged, first + at + 1);
      return true;
    });
  }

  async seekInText(hits) {
    let drawn = -Infinity;
    try {
      await this.transcript.search(this.words, (indexes, share) => {
        for (const index of indexes) hits[index] = 1;
        this.searched = share;
        if (share < 1 && performance.now() - drawn < DRAWN_EVERY) return;
        this.refilter();
        drawn = performance.now();
      }, () => this.isCancelled() || this.hits !== hits);
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
    }
  }

  refilter(top = false) {
    const { transcript, hits } = this;
    const [hop, protocol] = [this.onHop, this.onProtocol].map(({ value }) => (value === '' ? null : Number(value)));
    const faults = this.onFaults.getAttribute('aria-pressed') === 'true';
    if (hop === null && protocol === null && !faults && !hits) {
      this.sequence.show(null, this.chosen ?? -1);
    } else {
      const indexes = [];
      for (let index = 0; index < transcript.known; index += 1) {
        if (hop !== null && transcript.hop[index] !== hop) continue;
        if (protocol !== null && transcript.protocol[index] !== protocol) continue;
        if (faults && !(transcript.flags[index] & (FAULT | RETRY))) continue;
        if (hits && !hits[index]) continue;
        indexes.push(index);
      }
      this.sequence.show(indexes, indexes.indexOf(this.chosen ?? -1));
    }
    if (top) this.sequence.rows.box.scrollTop = 0;
    this.tell();
  }

  tell() {
    const { transcript } = this;
    const shown = this.sequence.rows.length;
    const all = shown === transcript.known ? counted(transcript.known, 'message') : `${count(shown)} of ${counted(transcript.known, 'message')}`;
    const more = transcript.known < transcript.length ? `, reading ${count(transcript.length)}` : '';
    const searched = this.searched < 1 ? `, ${Math.round(this.searched * 100)} % searched` : '';
    this.status.textContent = `${all}${more}${searched}`;
    this.onFaults.textContent = `Faults ${count(transcript.faults.length)}${transcript.retries ? `, again ${count(transcript.retries)}` : ''}`;
  }

  /** Shows a message beside the sequence. */
  choose(index) {
    this.chosen = index;
    this.timeline.point(index);
    this.pane.choose('message');
    this.message.show(index);
  }

  /** Moves to a message, even if the filters hide it. */
  go(index) {
    if (this.sequence.go(index)) return;
    this.search.value = '';
    this.seekFor('');
    this.onHop.value = '';
    this.onProtocol.value = '';
    this.onFaults.setAttribute('aria-pressed', 'false');
    this.refilter();
    this.sequence.go(index);
  }

  nextFault() {
    const { faults } = this.transcript ?? { faults: [] };
    if (!faults.length) return;
    this.go(faults.find((index) => index > (this.chosen ?? -1)) ?? faults[0]);
  }
}

function problemOf({ title, owner, message }) {
  return make('div', { class: 'problem' }, make('strong', { class: 'said', text: title }), ' ', ownerMark(owner), make('pre', { text: message }));
}
