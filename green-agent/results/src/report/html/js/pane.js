// The pane beside the messages of a trial: a summary, one message, the logs of the agents, the comparison with the other run.

class Pane {
  constructor(view, head) {
    this.summary = new Summary(view.run, view.index, view.transcript);
    const tabs = [['summary', 'Summary', () => this.summary.box], ['message', 'Message', () => view.message.box]];
    for (const [at, log] of head.logs.entries()) tabs.push([`log-${at}`, `Log: ${log.name}`, () => logOf(view.transcript.block, log, at)]);
    if (view.run === app.run && changesOf(view)) tabs.push(['changes', 'Changes', () => changesOf(view)()]);
    this.tabs = tabs.map(([name, text, content]) => {
      const tab = make('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'pane', text, onclick: () => this.choose(name) });
      return { name, tab, content };
    });
    this.place = make('div', { class: 'list', role: 'tabpanel', id: 'pane', tabindex: '-1' });
    this.box = make('section', { 'aria-label': 'Details' }, make('div', { class: 'bar tabs', role: 'tablist' }, ...this.tabs.map(({ tab }) => tab)), this.place);
    this.choose('summary');
  }

  choose(name) {
    if (this.chosen === name) return;
    this.chosen = name;
    for (const one of this.tabs) {
      one.tab.setAttribute('aria-selected', String(one.name === name));
      if (one.name !== name) continue;
      one.kept ??= one.content();
      this.place.setAttribute('aria-labelledby', one.tab.id);
      this.place.replaceChildren(one.kept);
    }
  }
}

/** Shows an agent's log, which is read when it is opened. */
function logOf(block, log, at) {
  const viewer = new Viewer(`Log of ${log.name}`);
  const search = make('input', { type: 'search', placeholder: 'Mark in the log', 'aria-label': 'Mark in the log',
    oninput: (event) => { viewer.sought = event.target.value.toLowerCase(); viewer.draw(); } });
  const note = log.cut ? `the last ${bytes(log.bytes)}` : bytes(log.bytes);
  const read = async () => {
    let text = '';
    for (let chunk = 0; chunk < log.chunks; chunk += 1) text += await blocks.text(`${block}.l${at}.${chunk}`);
    await viewer.show(text, { end: true });
  };
  read().catch((error) => viewer.show(String(error)));
  return make('div', { class: 'list' }, make('div', { class: 'bar' }, search, make('span', { class: 'push', text: note })), viewer.box);
}

/** The summary of a trial: parties, traffic between them, cost. */
class Summary {
  constructor(run, index, transcript) {
    Object.assign(this, { run, index, transcript });
    this.box = make('div', { class: 'summary' });
  }

  draw() {
    const { head } = this.transcript;
    this.box.replaceChildren(...[this.parties(), this.handOffs(), this.measures(head), this.results(head)].filter(Boolean));
  }

  parties() {
    const handOffs = this.transcript.handOffs();
    const { head } = this.transcript;
    const sum = (all, name) => all.reduce((total, one) => total + one[name], 0);
    const rows = head.roles.map((role) => {
      const [asked, answered] = [handOffs.filter((one) => one.from === role), handOffs.filter((one) => one.to === role)];
      const tokens = head.usage?.by_role?.[role]?.total_tokens;
      return [role, count(sum(asked, 'requests')), count(sum(answered, 'requests')), answered.length ? seconds(sum(answered, 'seconds')) : '', tokens ? count(tokens) : '',
        some(sum(answered, 'faults'))];
    });
    return tableOf('Requests of each party', ['party', 'sent', 'received', 'answering', 'tokens', 'faults'], rows);
  }

  handOffs() {
    const rows = this.transcript.handOffs().sort((a, b) => b.seconds - a.seconds).map((one) => [
      `${one.name}, ${[...one.protocols].map((name) => PROTOCOL_TITLES[name]).join(', ')}`, count(one.requests), count(one.messages), bytes(one.bytes),
      seconds(one.seconds), some(one.faults), some(one.retries)]);
    return tableOf('Traffic', ['hop', 'requests', 'messages', 'size', 'open', 'faults', 'retries'], rows);
  }

  measures(head) {
    const rows = [...Object.entries(head.metrics).map(([name, value]) => [name, measure(value)]),
      ...Object.entries(head.phases).map(([name, value]) => [`time ${name}`, seconds(value)])];
    if (head.usage) {
      rows.push(['tokens in', count(head.usage.input_tokens)], ['tokens out', count(head.usage.output_tokens)]);
    }
    rows.push(['folder', head.folder ?? '']);
    return tableOf('Measures', ['measure', 'value'], rows.filter(([, value]) => value !== ''));
  }

  results(head) {
    if (!head.results.length) return null;
    const viewer = new Viewer('Results');
    prettyPrint(JSON.stringify(head.results), () => !this.box.isConnected).then((text) => viewer.show(text)).catch(() => {});
    viewer.box.classList.add('low');
    return make('section', {}, make('h3', { text: 'Results' }), viewer.box);
  }
}

/** Formats a count; 0 becomes an empty text. */
function some(number) {
  return number ? count(number) : '';
}

function tableOf(title, head, rows) {
  const isNumber = (at) => at > 0 && head.length > 2;
  return make('section', {}, make('h3', { text: title }), wide(title, make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((name, at) => make('th', { scope: 'col', class: isNumber(at) ? 'number' : null, text: name })))),
    make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell, at) => make('td', { class: isNumber(at) ? 'number' : at === 0 || head.length === 2 ? 'said' : null, text: cell }))))))));
}
