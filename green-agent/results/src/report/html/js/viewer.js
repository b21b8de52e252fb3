// Shows a text of any length as a virtual list of lines; long lines are folded.

const LINE = 18;

/** The average width of a character of the viewer's font, in pixels. */
const CHARACTER = 7.6;

class Viewer {
  constructor(label) {
    this.label = label;
    this.text = '';
    this.starts = [0];
    this.sought = '';
    this.all = make('div', { class: 'all' });
    this.box = make('div', { class: 'rows viewer', tabindex: '0', role: 'region', 'aria-label': label }, this.all);
    this.box.addEventListener('scroll', () => this.draw(), { passive: true });
    this.width = 0;
    new ResizeObserver(() => this.fold()).observe(this.box);
  }

  /** Shows a text from its beginning, or from its end. */
  show(text, { end = false, sought = '' } = {}) {
    this.text = text;
    this.sought = sought.toLowerCase();
    this.width = 0;
    this.box.scrollTop = 0;
    return this.fold().then(() => {
      if (end) this.box.scrollTop = this.box.scrollHeight;
    });
  }

  /** Finds the beginnings of lines for the current width. */
  async fold() {
    const columns = Math.max(30, Math.floor((this.box.clientWidth - 24) / CHARACTER));
    if (columns === this.width) return this.draw();
    this.width = columns;
    const { text } = this;
    const isCancelled = () => this.text !== text || this.width !== columns;
    const starts = [];
    let until = performance.now() + SLICE;
    for (let at = 0, steps = 0; at <= text.length; steps += 1) {
      const feed = text.indexOf('\n', at);
      const end = feed < 0 ? text.length : feed;
      for (let start = at; ; start += columns) {
        starts.push(start);
        if (start + columns >= end) break;
      }
      at = end + 1;
      if (steps % 256 === 0 && performance.now() > until) {
        await yieldToBrowser();
        if (isCancelled()) return;
        until = performance.now() + SLICE;
      }
    }
    this.starts = starts;
    this.all.style.height = `${starts.length * LINE + 8}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / LINE) - 4);
    const end = Math.min(this.starts.length, first + Math.ceil(this.box.clientHeight / LINE) + 8);
    const lines = [];
    for (let index = first; index < end; index += 1) {
      const from = this.starts[index];
      const to = Math.min(this.starts[index + 1] ?? this.text.length, from + this.width);
      const said = this.text.slice(from, to).replace(/\n$/, '');
      const found = this.sought && said.toLowerCase().includes(this.sought);
      const line = make('div', { class: found ? 'line found' : 'line', text: said });
      line.style.top = `${index * LINE + 4}px`;
      lines.push(line);
    }
    this.all.replaceChildren(...lines);
  }
}
