// The list of trials, with filters, search and sorting.

const COLUMNS = [
  { name: 'outcome', value: (run, index) => run.outcome(index) },
  { name: 'scenario', value: (run, index) => run.scenario(index) },
  { name: 'cell', extra: true, value: (run, index) => run.cell(index) },
  { name: 'sample', value: (run, index) => run.sample(index) },
  { name: 'trial', number: true, value: (run, index) => run.trials.trial[index] },
  { name: 'score', extra: true, number: true, value: (run, index) => run.score?.[index] ?? null },
  { name: 'seconds', extra: true, number: true, value: (run, index) => run.trials.seconds[index] },
  { name: 'tokens', extra: true, number: true, value: (run, index) => run.trials.tokens[index] },
  { name: 'problem', extra: true, value: (run, index) => run.trials.problem[index] ?? '' },
];

/** The height of a row, in pixels. */
const TRIAL_ROW = 30;

/** The state of the list. It is kept while other pages are shown, so that the user returns to the same place. */
const listed = { outcome: '', group: '', sought: '', sorted: null, down: false, indexes: [], cursor: 0, top: 0 };

/** Updates the list after new data of the run. Listed, chosen and current trials stay the same although their indexes may change. */
function updateList(run, data, looked) {
  const held = (at) => (at in listed.indexes ? run.id(listed.indexes[at]) : null);
  const first = Math.floor(listed.top / TRIAL_ROW);
  const [cursor, top] = [held(listed.cursor), held(first)];
  const chosen = run.groups.find((group) => groupId(group) === listed.group);
  const name = chosen && nameOf(run, chosen);
  run.take(data, looked);
  if (chosen) listed.group = groupId(run.groups.find((group) => nameOf(run, group) === name));
  listed.indexes = found(run);
  const now = (id, before) => (id === null ? before : Math.max(0, listed.indexes.indexOf(run.byKey.get(id))));
  listed.cursor = now(cursor, listed.cursor);
  // New rows above do not move the visible ones, except at the top of the list, where they are shown.
  if (listed.top > 0) listed.top += (now(top, first) - first) * TRIAL_ROW;
}

function groupId(group) { return `${group.scenario}.${group.cell}`; }

function trialsPage(main, query) {
  const { run } = app;
  if (query.has('outcome') || query.has('group')) {
    Object.assign(listed, { outcome: query.get('outcome') ?? '', group: query.get('group') ?? '', sought: '', cursor: 0, top: 0 });
  }
  main.classList.add('fixed');
  const said = make('span', { class: 'push', role: 'status' });
  const head = headOf(() => show());
  const rows = new Rows({
    label: 'Trials', height: TRIAL_ROW, head,
    row: (at) => trialRow(run, listed.indexes[at]),
    open: (at) => { location.hash = run.link(listed.indexes[at]); },
    moved: (at) => { listed.cursor = at; },
  });
  const show = () => {
    listed.indexes = found(run);
    draw();
  };
  const draw = () => {
    rows.reset(listed.indexes.length, Math.min(listed.cursor, listed.indexes.length - 1));
    const trials = listed.indexes.filter((index) => run.trials.last[index]).length;
    const repeated = listed.indexes.length - trials;
    said.textContent = `${count(trials)} of ${counted(run.length - run.retried, 'trial')}${repeated ? `, ${counted(repeated, 'repeated attempt')}` : ''}`;
  };
  const search = make('input', { type: 'search', id: 'search', placeholder: 'Search names and problems', 'aria-label': 'Search trials',
    oninput: (event) => { listed.sought = event.target.value; listed.cursor = 0; rows.box.scrollTop = 0; show(); } });
  search.value = listed.sought;
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === 'ArrowDown') { event.preventDefault(); rows.box.focus(); rows.go(Math.max(0, rows.cursor)); }
  });
  const filter = new Filters(run, () => { listed.cursor = 0; rows.box.scrollTop = 0; show(); });
  main.append(make('div', { class: 'bar' }, search, filter.outcomes, filter.group, said),
    make('div', { class: 'list' }, head, rows.box));
  show();
  rows.box.scrollTop = listed.top;
  rows.box.addEventListener('scroll', () => { listed.top = rows.box.scrollTop; }, { passive: true });
  rows.box.focus({ preventScroll: true });
  if (rows.length && listed.cursor > 0) rows.go(listed.cursor);
  // The texts are prepared before the first search.
  forEachInSlices(run.length, (index) => rows.box.isConnected && Boolean(run.haystack(index)));
  return { refresh: () => { filter.draw(); draw(); rows.box.scrollTop = listed.top; } };
}

function scoreColumn(run) {
  const at = run.metrics.findIndex((name) => name === 'score' || name === 'success' || name === 'reward');
  return at < 0 ? null : run.trials.metric[at];
}

/** The filters: a button for each outcome that occurs, and a choice of scenario and cell. */
class Filters {
  constructor(run, changed) {
    Object.assign(this, { run, changed, groups: -1 });
    this.outcomes = make('div', { class: 'tabs', role: 'group', 'aria-label': 'Outcome' });
    this.group = make('select', { 'aria-label': 'Scenario and cell', onchange: (event) => { listed.group = event.target.value; changed(); } });
    this.draw();
  }

  draw() {
    const outcomes = this.run.outcomes();
    const names = ['', ...(Object.keys(outcomes).some((name) => name !== 'passed') ? ['not-passed'] : []),
      ...Object.keys(OUTCOMES).filter((name) => outcomes[name])];
    const buttons = names.map((name) => this.button(name, outcomes[name]));
    redraw(this.outcomes, () => this.outcomes.replaceChildren(...buttons));
    // The choice is drawn only if there are new groups, because drawing it would close it.
    if (this.groups === this.run.groups.length) return;
    this.groups = this.run.groups.length;
    this.group.replaceChildren(make('option', { value: '', text: 'all scenarios' }),
      ...this.run.groups.map((group) => make('option', { value: groupId(group), text: nameOf(this.run, group) })));
    this.group.value = listed.group;
  }

  button(name, number) {
    const button = make('button', { type: 'button', 'data-outcome': name || 'all', 'aria-pressed': String(listed.outcome === name) });
    if (name === '') button.textContent = 'all';
    else if (name === 'not-passed') button.textContent = 'not passed';
    else button.append(outcomeMark(name), ` ${count(number)}`);
    button.addEventListener('click', () => {
      listed.outcome = name;
      for (const one of this.outcomes.children) one.setAttribute('aria-pressed', String(one === button));
      this.changed();
    });
    return button;
  }
}

/** Returns the trials that match the filters, in order. */
function found(run) {
  const { trials } = run;
  const [scenario, cell] = listed.group.split('.').map(Number);
  const words = listed.sought.toLowerCase().split(/\s+/).filter(Boolean);
  const indexes = [];
  for (let index = 0; index < run.length; index += 1) {
    const outcome = trials.outcome[index];
    if (listed.outcome && (listed.outcome === 'not-passed' ? outcome === 'passed' : outcome !== listed.outcome)) continue;
    if (listed.group && (trials.scenario[index] !== scenario || trials.cell[index] !== cell)) continue;
    if (words.length && !words.every((word) => run.haystack(index).includes(word))) continue;
    indexes.push(index);
  }
  const column = COLUMNS.find(({ name }) => name === listed.sorted);
  return column ? sorted(indexes, (index) => column.value(run, index)) : indexes;
}

function sorted(indexes, valueOf) {
  const values = indexes.map(valueOf);
  const sign = listed.down ? -1 : 1;
  const compare = (a, b) => {
    const [left, right] = [values[a], values[b]];
    if (left === right) return a - b;
    if (left === null || left === '') return 1;
    if (right === null || right === '') return -1;
    return left < right ? -sign : sign;
  };
  return indexes.map((_, at) => at).sort(compare).map((at) => indexes[at]);
}

function headOf(changed) {
  const cells = COLUMNS.map(({ name, number, extra }) => {
    const button = make('button', { type: 'button', text: name });
    const cell = make('div', { role: 'columnheader', class: [number && 'number', extra && 'extra'].filter(Boolean).join(' ') }, button);
    button.addEventListener('click', () => {
      listed.down = listed.sorted === name ? !listed.down : Boolean(number);
      listed.sorted = name;
      mark();
      changed();
    });
    return { name, button, cell };
  });
  const mark = () => cells.forEach(({ name, button, cell }) => {
    const is = listed.sorted === name;
    cell.setAttribute('aria-sort', is ? (listed.down ? 'descending' : 'ascending') : 'none');
    button.toggleAttribute('data-sorted', is);
    button.textContent = is ? `${name} ${listed.down ? '↓' : '↑'}` : name;
  });
  mark();
  return make('div', { class: 'head trial-columns', role: 'row' }, ...cells.map(({ cell }) => cell));
}

function trialRow(run, index) {
  // A name that is cut off is read under the pointer.
  const cell = (text, more = '') => make('span', { role: 'gridcell', class: more, title: visible(text), text });
  const { trials } = run;
  const tried = trials.attempt[index] > 1 || !trials.last[index] ? ` / ${trials.attempt[index]}` : '';
  const mark = make('span', { role: 'gridcell' }, outcomeMark(run.outcome(index)));
  return make('div', { class: trials.last[index] ? 'trial-columns' : 'trial-columns quiet' }, mark,
    cell(run.scenario(index)), cell(run.cell(index), 'extra'), cell(run.sample(index)),
    cell(`${trials.trial[index]}${tried}`, 'number'), cell(measure(run.score?.[index]), 'number extra'),
    cell(seconds(trials.seconds[index]), 'number extra'), cell(count(trials.tokens[index]), 'number extra'),
    cell(trials.problem[index] ? `${trials.owner[index] ? `${trials.owner[index]}: ` : ''}${brief(withoutAddresses(trials.problem[index]), 200)}` : '', 'extra'));
}
