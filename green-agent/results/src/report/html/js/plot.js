// Plots rates and means with their intervals, with a row for each scenario and cell.

const PLOT = { row: 20, gap: 8, top: 26 };

/** The approximate width of a letter, and the distance between the labels of two ticks. */
const LETTER = 7;
const TICK = 46;

/** Returns the layout of a plot of this width. A narrow plot does not show the numbers of trials. */
function shapeOf(width) {
  const isWide = width >= 560;
  const names = Math.round(Math.min(250, width * 0.34));
  return { ...PLOT, width, names, letters: Math.floor((names - 12) / LETTER), values: isWide ? 150 : 72, isWide };
}

/** The largest number of rows that are drawn; the table below the plot has all rows. */
const MOST_ROWS = 400;

/** Returns the measures that can be plotted: the rate first. */
function measuresOf(run) {
  const names = new Set();
  for (const group of run.groups) for (const name of Object.keys(group.metrics)) names.add(name);
  return ['pass rate', ...[...names].sort()];
}

/** Returns a group's estimate of a measure: mean, low, high. */
function estimateOf(group, measured) {
  return measured === 'pass rate' ? group.rate : group.metrics[measured];
}

/** Draws a measure of the groups. The same groups of another run are drawn below in another colour. */
function plot(run, measured, other, width) {
  const groups = run.groups.filter((group) => estimateOf(group, measured)).slice(0, MOST_ROWS);
  const [low, high] = rangeOf(run, measured, other);
  const shape = shapeOf(width);
  const left = shape.names;
  const room = shape.width - shape.names - shape.values;
  const x = (value) => left + (high === low ? 0.5 : (value - low) / (high - low)) * room;
  const picture = draw('svg', { role: 'group', 'aria-label': `${measured} with 95 % intervals, by scenario and cell` });
  const earlier = new Map((other?.groups ?? []).map((one) => [nameOf(other, one), one]));
  let y = shape.top;
  let scenario = null;
  for (const group of groups) {
    if (scenario !== null && group.scenario !== scenario) y += shape.gap;
    const name = group.scenario === scenario && group.cell !== 0 ? run.cells[group.cell] : nameOf(run, group);
    scenario = group.scenario;
    const before = earlier.get(nameOf(run, group));
    picture.append(rowOf({ shape, run, group, name, measured, x, y, colour: run.cells.length > 1 ? group.cell % 8 : 0 }));
    y += shape.row;
    if (before && estimateOf(before, measured)) {
      picture.append(rowOf({ shape, run: other, group: before, name: beforeName(other, shape), measured, x, y, colour: 7, quiet: true }));
      y += shape.row;
    }
  }
  const all = ticks(low, high);
  const each = Math.max(1, Math.ceil((all.length * TICK) / room));
  all.forEach((value, at) => {
    picture.prepend(draw('line', { class: 'grid', x1: x(value), x2: x(value), y1: shape.top - 8, y2: y }));
    if (at % each) return;
    picture.append(draw('text', { class: 'quiet', x: x(value), y: 12, 'text-anchor': 'middle', text: measured === 'pass rate' ? `${Math.round(value * 100)} %` : tick(value) }));
  });
  picture.setAttribute('viewBox', `0 0 ${shape.width} ${y + 6}`);
  picture.setAttribute('width', shape.width);
  return picture;
}

/** Returns the name of a row of the other run, with the name of the run if there is room. */
function beforeName(other, { letters }) {
  const whole = `before (${other.name})`;
  return whole.length > letters ? 'before' : whole;
}

function nameOf(run, group) {
  return [run.scenarios[group.scenario], run.cells[group.cell]].filter(Boolean).join(' · ');
}

function rowOf({ shape, run, group, name, measured, x, y, colour, quiet }) {
  const estimate = estimateOf(group, measured);
  const said = measured === 'pass rate' ? percent : measure;
  const range = estimate.lower === null || estimate.lower === undefined ? '' : ` (${said(estimate.lower)} to ${said(estimate.upper)})`;
  const title = `${nameOf(run, group)}: ${measured} ${said(estimate.mean)}${range}, ${counted(group.trials, 'trial')}`;
  const row = draw('a', { href: quiet ? null : `#/trials?group=${groupId(group)}`, class: `series-${colour}`, 'aria-label': title },
    draw('title', { text: title }),
    draw('rect', { x: 0, y: y - 4, width: shape.width, height: shape.row, fill: 'transparent' }),
    draw('text', { x: shape.names - 12, y: y + 10, 'text-anchor': 'end', class: quiet ? 'quiet' : null, text: tail(name, shape.letters) }));
  if (range) {
    row.append(draw('line', { class: 'range', x1: x(estimate.lower), x2: x(estimate.upper), y1: y + 6, y2: y + 6 }));
    for (const end of [estimate.lower, estimate.upper]) {
      row.append(draw('line', { class: 'range', x1: x(end), x2: x(end), y1: y + 2, y2: y + 10 }));
    }
  }
  row.append(draw('circle', { class: 'dot', cx: x(estimate.mean), cy: y + 6, r: 4.5 }),
    draw('text', { x: shape.width - shape.values + 14, y: y + 10, class: quiet ? 'quiet' : null, text: said(estimate.mean) }));
  if (shape.isWide) row.append(draw('text', { class: 'quiet', x: shape.width - 4, y: y + 10, 'text-anchor': 'end', text: `n = ${count(group.counted)}` }));
  return row;
}

/** Shortens a long name to its end, which distinguishes names more often than the beginning. */
function tail(text, most) {
  const letters = [...text];
  return letters.length > most ? `…${letters.slice(1 - most).join('')}` : text;
}

function rangeOf(run, measured, other) {
  if (measured === 'pass rate') return [0, 1];
  const all = [...run.groups, ...(other?.groups ?? [])].map((group) => estimateOf(group, measured)).filter(Boolean);
  const values = all.flatMap((one) => [one.mean, one.lower, one.upper]).filter(Number.isFinite);
  return values.length ? [Math.min(0, ...values), Math.max(...values)] : [0, 1];
}

/** Returns about five round numbers between two numbers. */
function ticks(low, high) {
  const step = high > low ? 10 ** Math.floor(Math.log10((high - low) / 2)) : 1;
  const width = [1, 2, 5, 10].map((factor) => factor * step).find((one) => (high - low) / one <= 6) ?? step * 10;
  const found = [];
  for (let value = Math.ceil(low / width) * width; value <= high + width / 1e6; value += width) found.push(value);
  return found;
}

function tick(value) {
  return String(Number(value.toPrecision(6)));
}
