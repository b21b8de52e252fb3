// Text for people. All data of a run pass through `visible` and reach the page as text, never as markup.

/** Control characters and characters that change the direction of text. They are shown by their code, so that no text can disguise itself. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** Makes invisible characters visible. Line feeds and tabs remain. */
function visible(text) {
  return String(text).replace(HIDDEN, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

/** Returns the first `most` characters of a text on one line. */
function brief(text, most) {
  const line = visible(text).replace(/\s+/g, ' ').trim();
  // Not half a letter that has two code units.
  return line.length > most ? `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

/**
 * Makes an element. `properties` are attributes, except `text` (its text, made visible), `class` and handlers such as `onclick`.
 * No text becomes markup, and no attribute contains a script: handlers are functions in properties.
 */
function make(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** Makes a region that is scrolled sideways if it is wider than the page, by the keyboard, too. */
function wide(label, ...children) {
  return make('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': label }, ...children);
}

/** Makes a paragraph with an error of the page itself, which the console gets too. */
function errorBox(error) {
  console.error(error);
  return make('p', { class: 'problem', text: String(error) });
}

/** Makes an SVG element. */
function draw(name, properties = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'text') element.textContent = visible(value);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Removes local port numbers, which differ in every trial. */
function withoutPorts(text) {
  return text.replace(/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, '$1');
}

/** Removes the addresses of this machine after "at", which say nothing after the run. */
function withoutAddresses(text) {
  return text.replace(/ at https?:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+[^\s:]*(?=:)/g, '');
}

/** Formats seconds. */
function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '';
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 99.95) return `${value.toFixed(value < 9.95 ? 2 : 1)} s`;
  const minutes = Math.floor(Math.round(value) / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(value) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a time within a trial, with milliseconds for short times. */
function clock(value) {
  return value >= 1 && value < 100 ? `${value.toFixed(3)} s` : seconds(value) || '0';
}

/** Shortens the label of a message: the id of an artifact without a name differs in every trial and is omitted. */
function short(label) {
  return label.replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…');
}

/** Formats a count, with thin spaces between thousands. */
function count(value) {
  if (value === null || value === undefined) return '';
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** Formats a number of bytes. */
function bytes(value) {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

/** Formats a measure: whole numbers unchanged, others with three digits. */
function measure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '';
  return Number.isInteger(value) ? count(value) : value.toFixed(3);
}

function percent(value) {
  return value === null || value === undefined ? '' : `${(value * 100).toFixed(1)} %`;
}

/** Formats a count with its noun: "1 trial", "2 trials". */
function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

const OUTCOMES = {
  'passed': ['✓', 'passed'], 'failed': ['✗', 'failed'], 'agent-error': ['!', 'agent error'], 'model-error': ['◆', 'model error'],
  'evaluator-error': ['▲', 'evaluator error'], 'environment-error': ['■', 'environment error'], 'harness-error': ['●', 'harness error'],
  'not-run': ['–', 'not run'], 'interrupted': ['‖', 'interrupted'],
};

/** Returns the title of an outcome; an unknown outcome is its own title. */
function titleOf(outcome) {
  return (OUTCOMES[outcome] ?? ['?', outcome])[1];
}

/** Shows an outcome with its sign and colour. */
function outcomeMark(outcome) {
  const [sign, title] = OUTCOMES[outcome] ?? ['?', outcome];
  const known = Object.hasOwn(OUTCOMES, outcome) ? outcome : 'not-run';
  return make('span', { class: `outcome ${known}` }, make('span', { 'aria-hidden': 'true', text: sign }), make('span', { text: title }));
}

/** Shows the party at fault as a badge. */
function ownerMark(owner) {
  return make('span', { class: 'owner', text: `fault: ${owner}` });
}
