// The timeline, with a lane for each hop. A light bar shows an open request, a dark bar a message.

const STEPS = 800;

class Timeline {
  /** `chosen(index)` is called with the message that is nearest to the pointer. */
  constructor(transcript, chosen) {
    this.transcript = transcript;
    this.chosen = chosen;
    this.box = make('div', { class: 'timeline', role: 'img' });
    this.cursors = [];
  }

  draw() {
    const { transcript } = this;
    // Before the first message the agents only start, which can take longer than everything after it.
    this.first = transcript.known ? transcript.time[0] : 0;
    this.total = transcript.known ? Math.max(transcript.time[transcript.known - 1] - this.first, 0.001) : 1;
    const step = (time) => Math.min(STEPS - 1, Math.floor(((time - this.first) / this.total) * STEPS));
    const lanes = transcript.hops.map(() => ({ open: new Uint8Array(STEPS), said: new Int8Array(STEPS).fill(-1), fault: new Uint8Array(STEPS), any: false }));
    for (const { first, last } of transcript.exchanges.values()) {
      lanes[transcript.hop[first]].open.fill(1, step(transcript.time[first]), step(transcript.time[last]) + 1);
    }
    for (let index = 0; index < transcript.known; index += 1) {
      const lane = lanes[transcript.hop[index]];
      const at = step(transcript.time[index]);
      lane.any = true;
      lane.said[at] = transcript.protocol[index];
      if (transcript.flags[index] & FAULT) lane.fault[at] = 1;
    }
    this.cursors = [];
    const drawn = lanes.flatMap((lane, hop) => (lane.any ? [this.lane(lane, hop)] : []));
    this.box.setAttribute('aria-label', `Timeline of ${seconds(this.total)}: ${transcript.hops.map((hop) => hop.name).join(', ')}`);
    this.box.replaceChildren(...drawn, make('div', { class: 'lane-row quiet' }, make('span'), make('span', { class: 'ends' },
      make('span', { text: clock(this.first) }), make('span', { text: clock(this.first + this.total) }))));
  }

  lane(lane, hop) {
    const picture = draw('svg', { width: '100%', height: 14, viewBox: `0 0 ${STEPS} 14`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    picture.append(...bars(lane.open, 0, 5, 4, () => 'open'), ...bars(lane.said, -1, 1, 12, (value) => PROTOCOLS[value]),
      ...bars(lane.fault, 0, 0, 14, () => 'fault'));
    const cursor = draw('line', { class: 'cursor', x1: 0, x2: 0, y1: 0, y2: 14, visibility: 'hidden' });
    this.cursors.push(cursor);
    picture.append(cursor);
    picture.addEventListener('click', (event) => {
      const box = picture.getBoundingClientRect();
      this.chosen(this.nearest(hop, this.first + ((event.clientX - box.left) / box.width) * this.total));
    });
    return make('div', { class: 'lane-row' }, make('span', { class: 'said', text: this.transcript.hops[hop].name, title: visible(this.transcript.hops[hop].name) }), picture);
  }

  nearest(hop, time) {
    const { transcript } = this;
    let best = 0;
    let distance = Infinity;
    for (let index = 0; index < transcript.known; index += 1) {
      const away = Math.abs(transcript.time[index] - time);
      if (transcript.hop[index] === hop && away < distance) [best, distance] = [index, away];
    }
    return best;
  }

  point(index) {
    const at = ((this.transcript.time[index] - this.first) / this.total) * STEPS;
    for (const cursor of this.cursors) {
      cursor.setAttribute('x1', at);
      cursor.setAttribute('x2', at);
      cursor.setAttribute('visibility', 'visible');
    }
  }
}

/** Returns the runs of equal values as start, end and value, without those of `none`. */
function runsOfEqualValues(values, none) {
  const found = [];
  for (let from = 0; from < values.length;) {
    let to = from + 1;
    while (to < values.length && values[to] === values[from]) to += 1;
    if (values[from] !== none) found.push([from, to, values[from]]);
    from = to;
  }
  return found;
}

/** Draws the bars of a lane, with one path for each kind, because a lane can have hundreds of bars. */
function bars(values, none, y, height, kindOf) {
  const paths = new Map();
  for (const [from, to, value] of runsOfEqualValues(values, none)) {
    const kind = kindOf(value);
    paths.set(kind, `${paths.get(kind) ?? ''}M${from} ${y}H${to}V${y + height}H${from}Z`);
  }
  return [...paths].map(([kind, d]) => draw('path', { class: kind, d }));
}
