// Virtual lists: of any number of rows of equal height, only the visible ones exist.

/** The number of additional rows above and below the visible ones, so that scrolling shows no gap. */
const BEYOND = 6;

class Rows {
  /**
   * `label` names the list; `height` is that of a row in pixels; `row(index)` returns the row's element; `open(index)` is
   * called when a row is chosen by mouse or Enter; `moved(index)` when the cursor moves to it. With `head`, a row of column
   * headers that stands above the rows, the list is a grid.
   */
  constructor({ label, height, row, open, moved, head }) {
    Object.assign(this, { height, row, open, moved, head, length: 0, cursor: -1, shown: new Map(), drawn: '' });
    this.all = make('div', { class: 'all', role: 'presentation' });
    this.box = make('div', { class: 'rows', role: head ? 'grid' : 'listbox', tabindex: '0', 'aria-label': label }, this.all);
    this.name = `rows-${(Rows.made = (Rows.made ?? 0) + 1)}`;
    if (head) {
      // The headers do not scroll with the rows and are therefore outside of the box.
      head.id = `${this.name}-head`;
      head.setAttribute('aria-rowindex', 1);
      this.box.setAttribute('aria-owns', head.id);
    }
    this.box.addEventListener('scroll', () => this.draw(), { passive: true });
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.all.addEventListener('click', (event) => {
      const index = Number(event.target.closest('.row')?.dataset.index ?? -1);
      if (index < 0) return;
      this.go(index);
      this.open?.(index);
    });
    this.watcher = new ResizeObserver(() => { this.drawn = ''; this.draw(true); });
    this.watcher.observe(this.box);
  }

  /** Sets the number of rows and draws all of them again. */
  reset(length, cursor = -1) {
    this.length = length;
    this.cursor = Math.min(cursor, length - 1);
    this.all.style.height = `${length * this.height}px`;
    if (this.head) this.box.setAttribute('aria-rowcount', length + 1);
    this.draw(true);
  }

  /** Adds rows without drawing the present ones again. */
  grow(length) {
    this.length = length;
    this.all.style.height = `${length * this.height}px`;
    this.draw();
  }

  draw(anew = false) {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - BEYOND);
    const end = Math.min(this.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + BEYOND);
    const drawn = `${first} ${end} ${this.cursor}`;
    if (!anew && drawn === this.drawn) return;
    this.drawn = drawn;
    for (const [index, element] of this.shown) {
      if (!anew && index >= first && index < end) continue;
      element.remove();
      this.shown.delete(index);
    }
    const fresh = [];
    for (let index = first; index < end; index += 1) {
      if (!this.shown.has(index)) fresh.push(this.place(index));
      this.shown.get(index).setAttribute('aria-selected', String(index === this.cursor));
    }
    this.all.append(...fresh);
    if (this.shown.has(this.cursor)) this.box.setAttribute('aria-activedescendant', `${this.name}-${this.cursor}`);
    else this.box.removeAttribute('aria-activedescendant');
  }

  place(index) {
    const element = this.row(index);
    element.classList.add('row');
    element.id = `${this.name}-${index}`;
    element.dataset.index = index;
    element.setAttribute('role', this.head ? 'row' : 'option');
    if (this.head) element.setAttribute('aria-rowindex', index + 2);
    else {
      element.setAttribute('aria-posinset', index + 1);
      element.setAttribute('aria-setsize', this.length);
    }
    element.style.top = `${index * this.height}px`;
    element.style.height = `${this.height}px`;
    this.shown.set(index, element);
    return element;
  }

  /** Moves the cursor to a row and scrolls it into view. */
  go(index, middle = false) {
    if (!this.length) return;
    this.cursor = Math.max(0, Math.min(this.length - 1, index));
    const top = this.cursor * this.height;
    const room = this.box.clientHeight;
    if (middle) this.box.scrollTop = top - room / 2;
    else if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.height > this.box.scrollTop + room) this.box.scrollTop = top + this.height - room;
    this.draw();
    this.moved?.(this.cursor);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (Object.hasOwn(steps, event.key)) {
      event.preventDefault();
      const to = this.cursor + steps[event.key];
      this.go(to === Infinity ? this.length - 1 : Math.max(0, to));
    } else if (event.key === 'Enter' && this.cursor >= 0) {
      event.preventDefault();
      this.open?.(this.cursor);
    }
  }
}
