// The comparison of two runs, by scenario and cell, with the trials whose outcomes differ.

async function comparePage(main) {
  const { run, other } = app;
  if (!other) {
    main.append(make('p', { class: 'empty', text: 'This report has one run. To compare two: green-agent report RUN --against EARLIER --report html=FILE' }));
    return;
  }
  const wait = make('p', { class: 'wait', text: 'Comparing…' });
  main.append(wait);
  const { pairs, flips, changed, better } = await pairTrials(run, other);
  if (!wait.isConnected) return;
  const table = differences(run, other);
  await yieldToBrowser();
  if (!wait.isConnected) return;
  wait.remove();
  const outside = run.lastOf.size + other.lastOf.size - 2 * pairs.length;
  main.append(make('p', {}, 'What changed from ', make('b', { class: 'said', text: other.name }), ' to ', make('b', { class: 'said', text: run.name })),
    make('div', { class: 'figures' }, figure(count(pairs.length), 'trials in both runs, paired by scenario, cell, sample and number'),
      figure(count(better), 'newly passing'), figure(count(flips.length - better), 'no longer passing'),
      figure(count(outside), 'trials in one run only')),
    table);
  const choice = make('select', { 'aria-label': 'Which trials' },
    make('option', { value: 'flips', text: `${counted(flips.length, 'flip')}` }),
    make('option', { value: 'changed', text: `${counted(changed.length, 'changed outcome')}` }),
    make('option', { value: 'all', text: `${counted(pairs.length, 'pair')}` }));
  let shown = flips;
  const head = make('div', { class: 'head changed-row', role: 'row' }, ...['scenario', 'cell', 'sample', 'trial', 'before', 'now', 'problem'].map((name) =>
    make('span', { role: 'columnheader', class: { cell: 'extra', trial: 'number', problem: 'extra' }[name], text: name })));
  const rows = new Rows({ label: 'Trials that changed', height: 30, head,
    row: (at) => pairRow(run, other, shown[at]),
    open: (at) => { location.hash = run.link(shown[at].now); } });
  choice.addEventListener('change', () => {
    shown = { flips, changed, all: pairs }[choice.value];
    rows.reset(shown.length);
  });
  rows.reset(shown.length);
  const list = make('section', { class: 'card pairs' }, make('div', { class: 'bar' }, make('h2', { text: 'Trials' }), choice), head, rows.box);
  main.append(list);
}

/**
 * Pairs the trials that both runs have (with the same scenario, cell, sample and number), and finds those with different outcomes.
 */
async function pairTrials(run, other) {
  const found = { pairs: [], flips: [], changed: [], better: 0 };
  const all = [...run.lastOf];
  await forEachInSlices(all.length, (at) => {
    const [task, now] = all[at];
    const before = other.lastOf.get(task);
    if (before === undefined) return;
    const pair = { now, before };
    found.pairs.push(pair);
    if (run.outcome(now) === other.outcome(before)) return;
    found.changed.push(pair);
    const passes = run.outcome(now) === 'passed';
    if (passes || other.outcome(before) === 'passed') found.flips.push(pair);
    if (passes) found.better += 1;
  });
  return found;
}

/** Shows the differences by scenario and cell over the pairs, as the report has them. A rate without pairs is that of all trials. */
function differences(run, other) {
  const known = new Map((run.comparison ?? []).map((one) => [[one.scenario, one.cell].filter(Boolean).join(' · '), one]));
  const names = new Map(other.groups.map((group) => [nameOf(other, group), group]));
  const rows = run.groups.map((group) => {
    const name = nameOf(run, group);
    const before = names.get(name);
    const pairs = known.get(name);
    const difference = pairs?.difference;
    const mean = difference?.mean ?? null;
    const colour = pairs?.certain ? (mean > 0 ? 'added' : 'removed') : '';
    const row = make('tr', {}, make('td', { class: 'said', text: name }),
      make('td', { class: 'number', text: percent(pairs?.before ?? before?.rate?.mean) }),
      make('td', { class: 'number', text: percent(pairs?.now ?? group.rate?.mean) }),
      make('td', { class: `number ${colour}`, text: points(mean) }),
      make('td', { class: 'number', text: difference && difference.lower !== null ? `${points(difference.lower)} to ${points(difference.upper)}` : '' }),
      make('td', { class: 'number', text: count(pairs?.pairs ?? 0) }),
      make('td', { class: 'number', text: before ? `${seconds(before.seconds)} → ${seconds(group.seconds)}` : '' }),
      make('td', { class: 'number', text: before && (before.tokens || group.tokens) ? `${count(before.tokens ?? 0)} → ${count(group.tokens ?? 0)}` : '' }));
    return { row, size: Math.abs(mean ?? 0) };
  });
  rows.sort((a, b) => b.size - a.size);
  const head = ['scenario', 'before', 'now', 'difference', '95 % interval', 'pairs', 'seconds', 'tokens'];
  return make('section', { class: 'card' }, make('h2', { text: 'Differences' }), wide('Differences', make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((name, at) => make('th', { scope: 'col', class: at ? 'number' : null, text: name })))),
    make('tbody', {}, ...rows.slice(0, 1000).map(({ row }) => row)))));
}

/** Formats a difference of rates in percentage points. */
function points(value) {
  if (value === null || value === undefined) return '';
  return `${value > 0 ? '+' : ''}${(value * 100).toFixed(1)}`;
}

function pairRow(run, other, { now, before }) {
  const cell = (text, more = '') => make('span', { role: 'gridcell', class: more, text });
  const mark = (outcome) => make('span', { role: 'gridcell' }, outcomeMark(outcome));
  return make('div', { class: 'changed-row' }, cell(run.scenario(now)), cell(run.cell(now), 'extra'), cell(run.sample(now)),
    cell(run.trials.trial[now], 'number'), mark(other.outcome(before)), mark(run.outcome(now)),
    cell(brief(run.trials.problem[now] ?? other.trials.problem[before] ?? '', 200), 'extra'));
}

/** Shows how the messages of a trial differ from those of the other run; null if there is no other run. */
function changesOf(view) {
  const at = app.other?.sameAs(view.run, view.index);
  const block = at === undefined ? null : app.other.trials.block[at];
  if (block === null) return null;
  return () => {
    const place = make('div', { class: 'diff', text: 'Reading the other transcript…' });
    transcriptChanges(view, block).then((lines) => place.replaceChildren(...lines), (error) => { place.textContent = String(error); });
    return place;
  };
}

/** The largest number of messages of a hop that are compared. */
const MOST_COMPARED = 1500;

async function transcriptChanges(view, block) {
  const before = await Transcript.of(block);
  await before.read(() => {}, () => view.isCancelled());
  const names = [...new Set([...before.hops, ...view.transcript.hops].map((hop) => hop.name))];
  const lines = [];
  for (const name of names) {
    const [old, fresh] = [messagesOn(before, name), messagesOn(view.transcript, name)];
    const changes = await different(old, fresh);
    if (changes.every(([sign]) => sign === ' ')) continue;
    lines.push(make('h3', { text: name }));
    for (const [sign, text] of folded(changes)) {
      lines.push(make('div', { class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'quiet', text: `${sign} ${text}` }));
    }
  }
  return lines.length ? lines : [make('p', { class: 'empty', text: 'No difference: the beginnings of all messages are equal on every hop.' })];
}

/** Returns the messages of a hop, each as its label and the beginning of its text. */
function messagesOn(transcript, name) {
  const found = [];
  for (let index = 0; index < transcript.known && found.length < MOST_COMPARED; index += 1) {
    if (transcript.hops[transcript.hop[index]].name !== name) continue;
    const said = withoutPorts([transcript.label[index], transcript.gist[index]].map(short).join('  '));
    found.push(`${transcript.flags[index] & BACK ? '←' : '→'} ${said}`);
  }
  return found;
}

/** Compares two lists by their longest common subsequence. Returns lines with a sign. */
async function different(old, fresh) {
  const width = fresh.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  await forEachInSlices(old.length, (step) => {
    const row = old.length - 1 - step;
    for (let at = fresh.length - 1; at >= 0; at -= 1) {
      table[row * width + at] = old[row] === fresh[at] ? table[(row + 1) * width + at + 1] + 1
        : Math.max(table[(row + 1) * width + at], table[row * width + at + 1]);
    }
  });
  const lines = [];
  let [row, at] = [0, 0];
  while (row < old.length || at < fresh.length) {
    if (row < old.length && at < fresh.length && old[row] === fresh[at]) {
      lines.push([' ', old[row]]);
      row += 1;
      at += 1;
    } else if (row < old.length && (at === fresh.length || table[(row + 1) * width + at] >= table[row * width + at + 1])) {
      lines.push(['-', old[row]]);
      row += 1;
    } else {
      lines.push(['+', fresh[at]]);
      at += 1;
    }
  }
  return lines;
}

/** Omits equal lines that are far from a change. */
function folded(lines) {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - 2), at + 3).some(([sign]) => sign !== ' '));
  return lines.flatMap((line, at) => {
    if (near[at]) return [line];
    return at === 0 || near[at - 1] ? [[' ', '…']] : [];
  });
}
