// The sequence diagram: a row for each message, with an arrow from sender to receiver.

const MESSAGE_ROW = 36;

class Sequence {
  constructor(transcript, { moved, open }) {
    this.transcript = transcript;
    this.indexes = null;
    this.shares = new Map(transcript.head.roles.map((role, at, all) => [role, ((at + 0.5) / all.length) * 100]));
    this.rows = new Rows({
      label: 'Messages', height: MESSAGE_ROW,
      row: (at) => this.row(this.indexAt(at)),
      moved: (at) => moved(this.indexAt(at)),
      open: (at) => open(this.indexAt(at)),
    });
    this.box = make('div', { class: 'list' }, this.lanes(), this.rows.box);
  }

  /** Shows these messages, or all messages that were read. */
  show(indexes = null, cursor = -1) {
    this.indexes = indexes;
    this.rows.reset(indexes ? indexes.length : this.transcript.known, cursor);
  }

  indexAt(at) { return this.indexes ? this.indexes[at] : at; }

  /** Moves to a message. Returns false if it is not shown. */
  go(index) {
    const at = this.indexes ? this.indexes.indexOf(index) : index;
    if (at < 0) return false;
    this.rows.go(at, true);
    return true;
  }

  lanes() {
    const names = [...this.shares].map(([role, share]) => {
      const name = make('span', { text: role, title: visible(role) });
      name.style.left = `${share}%`;
      name.style.maxWidth = `calc(${100 / this.shares.size}% - 4px)`;
      return name;
    });
    return make('div', { class: 'head message-row lanes-row', 'aria-hidden': 'true' }, make('span', { text: '#' }), make('span', { text: 'time' }),
      make('div', { class: 'lanes' }, ...names));
  }

  row(index) {
    const { transcript } = this;
    const flags = transcript.flags[index];
    const marks = [flags & FAULT && 'fault', flags & RETRY && 'retry'].filter(Boolean);
    const row = make('div', { class: ['message-row', ...marks].join(' '), 'aria-label': this.sentence(index) },
      make('span', { class: 'quiet number', text: index + 1 }),
      make('span', { class: 'quiet number', text: clock(transcript.time[index]) }),
      this.arrow(index));
    return row;
  }

  /** Describes a message for screen readers. */
  sentence(index) {
    const { transcript } = this;
    const [from, to] = transcript.between(index);
    const fault = transcript.flags[index] & FAULT ? `, fault at ${transcript.faultOf(index)}` : '';
    const retry = transcript.flags[index] & RETRY ? ', sent again' : '';
    return visible(`${index + 1}: ${from} to ${to}, ${transcript.kindOf(index)}, ${transcript.label[index]}${fault}${retry}. ${transcript.gist[index]}`);
  }

  arrow(index) {
    const { transcript } = this;
    const [from, to] = transcript.between(index).map((role) => this.shares.get(role) ?? 50);
    const flags = transcript.flags[index];
    const picture = draw('svg', { class: transcript.protocolOf(index), 'aria-hidden': 'true' });
    for (const share of this.shares.values()) picture.append(draw('line', { class: 'lane', x1: `${share}%`, x2: `${share}%`, y1: 0, y2: MESSAGE_ROW }));
    const right = to >= from;
    picture.append(
      draw('line', { class: `arrow ${transcript.kindOf(index)}`, x1: `${from}%`, x2: `${to}%`, y1: 25, y2: 25, 'stroke-width': 1.5 }),
      draw('text', { class: 'arrow head-of', x: `${to}%`, y: 29.5, 'text-anchor': right ? 'end' : 'start', text: right ? '▶' : '◀', stroke: 'none' }));
    const start = Math.min(from, to) <= 55;
    const label = draw('text', { class: 'over', x: `${start ? Math.min(from, to) : Math.max(from, to)}%`, dx: start ? 7 : -7, y: 15, 'text-anchor': start ? 'start' : 'end' });
    if (flags & FAULT) label.append(draw('tspan', { class: 'badge', text: `fault at ${transcript.faultOf(index)}  ` }));
    if (flags & RETRY) label.append(draw('tspan', { class: 'again', text: 'again  ' }));
    label.append(draw('tspan', { text: brief(short(transcript.label[index]), 60) }), draw('tspan', { class: 'gist', text: `  ${brief(transcript.gist[index], 90)}` }));
    picture.append(label);
    return picture;
  }
}
