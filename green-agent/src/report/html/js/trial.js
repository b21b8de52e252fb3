// One trial: its problems, its messages as a sequence, one message or log or its summary beside.

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

  /** A link to the same trial in the other run. */
  elsewhere() {
    const other = this.run === app.run ? app.other : app.run;
    const at = other?.lastOf.get(this.run.trials.key[this.index]);
    if (at === undefined) return null;
    return make('a', { href: other.link(at), text: `the same in ${other.name}: ${titleOf(other.outcome(at))}` });
  }

  /** Finds its trial again among those that were added. What it shows of it does not change. */
  refresh() { this.index = this.run.byKey.get(this.id) ?? this.index; }

  isGone() { return app.view !== this && app.opening !== this; }

  async open(main, block) {
    app.opening = this;
    this.transcript = await Transcript.of(block);
    if (this.isGone()) return;
    const { head } = this.transcript;
    this.problems.append(...head.problems.map(problemOf));
    this.message = new Message(this.transcript, (index) => this.go(index));
    this.timeline = new Timeline(this.transcript, (index) => this.go(index));
    this.sequence = new Sequence(this.transcript, {
      moved: (index) => this.choose(index),
      open: (index) => { this.choose(index); },
    });
    this.pane = new Pane(this, head);
    main.querySelector('.wait')?.remove();
    main.append(make('div', { class: 'split' },
      make('section', { 'aria-label': 'Messages' }, this.filters(), this.timeline.box, this.sequence.box), this.pane.box));
    await this.transcript.read(() => {
      this.refilter();
      this.timeline.draw();
    }, () => this.isGone());
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

  /** Searches the index at once, and then the whole messages, block by block. */
  seek() {
    const sought = this.search.value.trim().toLowerCase();
    this.sought = sought;
    this.inText = null;
    this.message.sought = sought;
    this.refilter(true);
    if (!sought) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.seekInText(sought), 250);
  }

  async seekInText(sought) {
    const found = new Set();
    const isGone = () => this.isGone() || this.sought !== sought;
    try {
      await this.transcript.search(sought.split(/\s+/), (indexes, share) => {
        for (const index of indexes) found.add(index);
        this.inText = found;
        this.refilter(false);
        if (share < 1) this.status.textContent += `, ${Math.round(share * 100)} % searched`;
      }, isGone);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
  }

  refilter(top = false) {
    const { transcript } = this;
    const hop = this.onHop.value;
    const protocol = this.onProtocol.value;
    const faults = this.onFaults.getAttribute('aria-pressed') === 'true';
    const words = (this.sought ?? '').split(/\s+/).filter(Boolean);
    if (hop === '' && protocol === '' && !faults && !words.length) {
      this.sequence.show(null, this.chosen ?? -1);
    } else {
      const indexes = [];
      for (let index = 0; index < transcript.known; index += 1) {
        if (hop !== '' && transcript.hop[index] !== Number(hop)) continue;
        if (protocol !== '' && transcript.protocol[index] !== Number(protocol)) continue;
        if (faults && !(transcript.flags[index] & (FAULT | RETRY))) continue;
        if (words.length && !this.inText?.has(index)) {
          const said = `${transcript.label[index]} ${transcript.gist[index]}`.toLowerCase();
          if (!words.every((word) => said.includes(word))) continue;
        }
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
    this.status.textContent = `${all}${more}`;
    this.onFaults.textContent = `Faults ${count(transcript.faults.length)}${transcript.retries ? `, again ${count(transcript.retries)}` : ''}`;
  }

  /** Shows a message beside the sequence. */
  choose(index) {
    this.chosen = index;
    this.timeline.point(index);
    this.pane.choose('message');
    this.message.show(index);
  }

  /** Moves to a message, also one that the filters hide. */
  go(index) {
    if (this.sequence.go(index)) return;
    this.search.value = '';
    this.sought = '';
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
