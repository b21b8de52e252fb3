// The first page: results by scenario and cell, failures with the party at fault, the most expensive trials.

function overviewPage(main) {
  const { run, other } = app;
  const [top, failed, cost, all] = [make('div'), make('div'), make('div'), wide('All figures')];
  const plot = new Scores(run, other);
  const empty = make('p', { class: 'empty', text: 'No trial has ended yet.' });
  const axes = make('div');
  const rest = make('div', {}, make('div', { class: 'columns' }, make('div', {}, plot.box, axes), make('div', {}, failed, cost)),
    make('section', { class: 'card' }, make('h2', { text: 'All figures' }), all));
  main.append(top, empty, rest);
  const parts = [
    [top, () => {
      const outcomes = run.outcomes();
      top.replaceChildren(figures(run, outcomes), gatesAndUnfinished(run), outcomeBar(outcomes));
      empty.hidden = run.length > 0;
      rest.hidden = run.length === 0;
    }],
    [plot.box, () => plot.draw()],
    [axes, () => axes.replaceChildren(...axisPairs(run))],
    [failed, () => failed.replaceChildren(faults(run))],
    [cost, () => cost.replaceChildren(costs(run))],
    [all, () => all.replaceChildren(groups(run))],
  ];
  let drawing = 0;
  /** Draws part by part, so that input is handled in between. A later call, or leaving the page, ends an earlier one. */
  const refresh = async () => {
    drawing += 1;
    const mine = drawing;
    for (const [place, draw] of parts) {
      if (mine !== drawing || !top.isConnected) return;
      redraw(place, draw);
      await yieldToBrowser();
    }
  };
  return { refresh };
}

function figure(value, text, title) {
  return make('div', { class: 'figure', title }, make('b', { text: value }), make('span', { class: 'quiet', text }));
}

function figures(run, outcomes) {
  const total = Object.values(outcomes).reduce((sum, one) => sum + one, 0);
  const scored = (outcomes.passed ?? 0) + (outcomes.failed ?? 0) + (outcomes['agent-error'] ?? 0);
  const { all } = run;
  const notNeeded = run.groups.reduce((sum, group) => sum + group.not_needed, 0);
  const range = all.rate && all.rate.lower !== null ? `${percent(all.rate.lower)} to ${percent(all.rate.upper)}` : '';
  const box = make('div', { class: 'figures' },
    figure(all.rate ? percent(all.rate.mean) : '–', `passed, of ${counted(scored, 'scored trial')}${range && `; ${range}`}`, '95 % interval'),
    figure(count(total), `trials of ${counted(run.scenarios.length, 'scenario')}`),
    figure(count(total - scored - notNeeded), 'not scored: errors of others, or not run', 'They are not included in rates and means'),
    figure(seconds(run.seconds), `from the beginning of the run; ${seconds(all.seconds)} for all trials`));
  if (notNeeded) box.append(figure(count(notNeeded), 'not needed: the interval was narrow enough'));
  if (all.tokens) box.append(figure(count(all.tokens), 'tokens reported by agents and models'));
  if (run.retried) box.append(figure(count(run.retried), 'repeated attempts, not counted'));
  return box;
}

/** Shows gates, the number of trials that have not ended, and notes. */
function gatesAndUnfinished(run) {
  const items = run.decisions.map(({ text, met }) => make('li', {},
    outcomeMark(met ? 'passed' : 'failed'), make('span', { text: ` ${text}` })));
  items.push(...run.notes.map((text) => make('li', { class: 'said', text: `Note: ${text}` })));
  return make('ul', { class: 'decisions', hidden: items.length === 0 }, ...items);
}

/** Shows all outcomes as one bar. */
function outcomeBar(outcomes) {
  const names = Object.keys(OUTCOMES).filter((name) => outcomes[name]);
  const total = names.reduce((sum, name) => sum + outcomes[name], 0);
  const bar = make('div', { class: 'share', role: 'img', 'aria-label': names.map((name) => `${count(outcomes[name])} ${titleOf(name)}`).join(', ') });
  const legend = make('p', { class: 'legend' });
  for (const name of names) {
    const part = make('span', { class: `fill ${name}`, title: `${titleOf(name)}: ${count(outcomes[name])}` });
    part.style.width = `${(outcomes[name] / total) * 100}%`;
    bar.append(part);
    legend.append(make('a', { href: `#/trials?outcome=${name}` }, outcomeMark(name), make('span', { text: ` ${count(outcomes[name])}` })));
  }
  return make('div', {}, ...(names.length ? [bar] : []), legend);
}

/** A plot of one measure, with a control to choose the measure. */
class Scores {
  constructor(run, other) {
    Object.assign(this, { run, other });
    this.place = make('div', { class: 'wide plot', tabindex: '0', role: 'region', 'aria-label': 'Plot of scores' });
    this.choice = make('select', { 'aria-label': 'Measure', onchange: () => this.show() });
    const bar = make('div', { class: 'bar' }, make('h2', { text: 'Scores' }), this.choice,
      make('span', { class: 'push', text: 'dot: mean; line: 95 % interval' }));
    this.box = make('section', { class: 'card' }, bar, this.place);
    // The plot is drawn for its actual width: in a picture that the browser scales, text would be unreadable.
    new ResizeObserver(() => this.show()).observe(this.place);
  }

  draw() {
    // Measures are only added, so that an open choice stays open.
    const known = [...this.choice.options].map(({ value }) => value);
    const fresh = measuresOf(this.run).filter((name) => !known.includes(name));
    this.choice.append(...fresh.map((name) => make('option', { value: name, text: name })));
    this.show();
  }

  show() {
    const width = this.place.clientWidth;
    if (!width || !this.choice.value) return;
    this.place.replaceChildren(plot(this.run, this.choice.value, this.other, width));
  }
}

/** Compares the values of each axis, paired by sample; nothing without a matrix. */
function axisPairs(run) {
  const most = 20;
  const compared = run.axes.filter(({ differences }) => differences.some(({ pairs }) => pairs > 0));
  if (compared.length === 0) return [];
  const head = ['figure', 'from', 'to', 'difference', '95 % interval', 'verdict'];
  const table = make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((name, at) => make('th', { scope: 'col', class: at === 0 || at === 5 ? null : 'number', text: name })))),
    ...compared.slice(0, most).map(axisPair));
  const rest = compared.length > most ? [make('p', { class: 'quiet', text: `and ${counted(compared.length - most, 'other pair')} of values, which green-agent diff RUN --by AXIS prints` })] : [];
  return [make('section', { class: 'card' }, make('h2', { text: 'Compared, paired by sample' }), wide('Compared, paired by sample', table), ...rest)];
}

function axisPair({ axis, value_a: a, value_b: b, differences }) {
  const name = make('th', { scope: 'rowgroup', colspan: '6', class: 'said', text: `${axis}: ${a} → ${b}` });
  return make('tbody', {}, make('tr', {}, name), ...differences.filter(({ pairs }) => pairs > 0).map(differenceRow));
}

function differenceRow({ figure: name, a, b, difference, pairs, greater, smaller, certain }) {
  const number = (text) => make('td', { class: 'number', text });
  const isKnown = difference.lower !== null && difference.lower !== undefined;
  const verdict = !isKnown ? 'too few to tell' : certain ? 'changed' : 'could be chance';
  return make('tr', {}, make('td', { class: 'said', text: name }), number(measure(a)), number(measure(b)),
    number(measure(difference.mean)), number(range(difference, measure)),
    make('td', { class: 'quiet', title: `of ${counted(pairs, 'pair')} ${count(greater)} greater, ${count(smaller)} smaller`, text: verdict }));
}

/** Shows the failures, grouped by place and cause, the most frequent first, each with a link to its first trial. */
function faults(run) {
  const found = new Map();
  for (let index = 0; index < run.length; index += 1) {
    if ((run.outcome(index) === 'passed' && !run.trials.problem[index]) || !run.trials.last[index]) continue;
    const problem = run.trials.problem[index] ?? titleOf(run.outcome(index));
    const kind = run.trials.kind[index] ?? problem;
    const one = found.get(kind) ?? { index, problem, number: 0, scenarios: new Set(), cells: new Set() };
    one.number += 1;
    one.scenarios.add(run.trials.scenario[index]);
    one.cells.add(run.cell(index));
    found.set(kind, one);
  }
  const all = [...found.values()].sort((a, b) => b.number - a.number);
  const rows = all.slice(0, 12).map(({ index, problem, number, scenarios, cells }) => make('tr', {},
    make('td', { class: 'number', text: count(number) }),
    make('td', {}, outcomeMark(run.outcome(index))),
    make('td', {}, make('a', { href: run.link(index), class: 'said', text: brief(withoutAddresses(problem), 160) }),
      make('div', { class: 'said quiet', text: placesOf(run, index, scenarios, cells) }))));
  const body = rows.length
    ? make('table', {}, make('tbody', {}, ...rows))
    : make('p', { class: 'empty', text: run.decisions.some(({ about }) => about === 'unended-trials') ? 'Every trial that has ended passed.' : 'Every trial passed.' });
  const rest = all.length > 12 ? make('p', {}, make('a', { href: '#/trials?outcome=not-passed', text: `and ${counted(all.length - 12, 'other kind')} of failures` })) : null;
  return make('section', { class: 'card' }, make('h2', { text: 'Failures' }), body, rest);
}

/** Returns where failures are found: the scenario with the cell, or how many there are. */
function placesOf(run, index, scenarios, cells) {
  if (scenarios.size > 1) return `in ${counted(scenarios.size, 'scenario')}`;
  const found = cells.size <= 3 ? [...cells].join(' and ') : counted(cells.size, 'cell');
  return [run.scenario(index), found].filter(Boolean).join(' · ');
}

/** Shows the longest trials and those with the most tokens. */
function costs(run) {
  const most = (column, said) => {
    return largest(column, 6).map((index) => make('tr', {}, make('td', { class: 'number', text: said(column[index]) }),
      make('td', {}, make('a', { href: run.link(index), class: 'said', text: run.title(index) }))));
  };
  const tokens = most(run.trials.tokens, count);
  const table = (title, rows) => make('table', {}, make('caption', { class: 'quiet', text: title }), make('tbody', {}, ...rows));
  return make('section', { class: 'card' }, make('h2', { text: 'Most expensive trials' }), table('longest', most(run.trials.seconds, seconds)),
    tokens.length ? table('most tokens', tokens) : make('p', { class: 'quiet', text: 'No agent or model reported tokens.' }));
}

/** Returns the indexes of the largest values above 0, the largest first. */
function largest(column, most) {
  const found = [];
  for (let index = 0; index < column.length; index += 1) {
    const value = column[index];
    if (!(value > 0) || (found.length === most && value <= column[found[most - 1]])) continue;
    const at = found.findIndex((other) => column[other] < value);
    found.splice(at < 0 ? found.length : at, 0, index);
    found.length = Math.min(found.length, most);
  }
  return found;
}

/** Shows all figures of all groups as a table. */
function groups(run) {
  const measures = measuresOf(run).slice(1);
  const ks = new Set(run.groups.flatMap(({ pass }) => (pass ? [pass.k] : [])));
  const [repeated, k] = [ks.size > 0, ks.size === 1 ? [...ks][0] : 'k'];
  const head = ['scenario', 'trials', 'pass rate', '95 % interval', ...(repeated ? [`pass@${k}`, `pass^${k}`] : []), ...measures, 'outcomes', 'seconds', 'tokens'];
  const passes = ({ pass }) => ['any', 'all'].map((of) => (pass ? `${percent(pass[of])}${ks.size > 1 ? ` (k=${pass.k})` : ''}` : ''));
  const row = (group) => make('tr', {},
    make('td', {}, make('a', { href: `#/trials?group=${groupId(group)}`, class: 'said', text: nameOf(run, group) })),
    make('td', { class: 'number', text: count(group.trials) }),
    make('td', { class: 'number', text: group.rate ? percent(group.rate.mean) : '' }),
    make('td', { class: 'number', text: range(group.rate, percent) }),
    ...(repeated ? passes(group).map((text) => make('td', { class: 'number', text })) : []),
    ...measures.map((name) => make('td', { class: 'number', title: range(group.metrics[name], measure), text: measure(group.metrics[name]?.mean) })),
    make('td', { text: outcomeCounts(group) }),
    make('td', { class: 'number', text: seconds(group.seconds) }),
    make('td', { class: 'number', text: group.tokens ? count(group.tokens) : '' }));
  const shown = run.groups.slice(0, 1000).map(row);
  return make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((name, at) => make('th', { scope: 'col', class: at === 0 || name === 'outcomes' ? null : 'number', text: name })))),
    make('tbody', {}, ...shown));
}

/** Returns the counts of outcomes of a group, with unneeded trials separately. */
function outcomeCounts({ outcomes, not_needed: notNeeded }) {
  const apart = Object.entries(outcomes).map(([name, number]) => [name, name === 'not-run' ? number - notNeeded : number]);
  const said = apart.filter(([, number]) => number > 0).map(([name, number]) => `${count(number)} ${titleOf(name)}`);
  return [...said, ...(notNeeded ? [`${count(notNeeded)} not needed`] : [])].join(', ');
}

function range(estimate, said) {
  if (!estimate || estimate.lower === null || estimate.lower === undefined) return '';
  return `${said(estimate.lower)} – ${said(estimate.upper)}`;
}
