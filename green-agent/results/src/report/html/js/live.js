// A page that `green-agent view` serves gets blocks and updates from the server. A report in a file makes no requests.

const live = {
  on: document.documentElement.dataset.source === 'server',

  /** The time limit of a request, in milliseconds. */
  LIMIT: 60_000,

  async ask(path) {
    const reply = await fetch(path, { signal: AbortSignal.timeout(this.LIMIT) });
    if (!reply.ok) throw new Error(`${path}: the server answered ${reply.status}`);
    return reply;
  },

  async text(name) {
    return (await this.ask(`blocks/${encodeURIComponent(name)}`)).text();
  },

  /**
   * Polls the state of the run, and calls `changed()` when there are new records. Polling never ends: a server that does not answer
   * can come back, and a run that has ended can be resumed.
   */
  async follow(changed) {
    if (!this.on) return;
    document.getElementById('live').hidden = false;
    for (;;) {
      const begun = performance.now();
      try {
        const state = await (await this.ask('state')).json();
        if (state.bytes !== app.run.bytes) {
          blocks.read.delete('run');
          await changed();
        }
        const done = app.run.lastOf.size;
        const all = state.total === null ? counted(done, 'trial') : `${count(done)} of ${counted(state.total, 'trial')}`;
        this.say(`${state.running ? 'running' : 'ended'}: ${all}`);
      } catch {
        this.say('green-agent view does not answer; trying again');
      }
      // Reading a large run takes a while. The pause leaves most of the time to the user.
      await new Promise((done) => setTimeout(done, Math.max(1000, 5 * (performance.now() - begun))));
    }
  },

  /** Announces a text to screen readers, once. */
  say(text) {
    const said = document.getElementById('live');
    if (said.textContent !== text) said.textContent = text;
  },
};

/** Draws a part of the page again, and returns the focus to the element with the same name. */
function redraw(place, draw) {
  const name = (element) => element.dataset.outcome ?? element.getAttribute('href') ?? element.getAttribute('aria-label');
  const held = place.contains(document.activeElement) ? name(document.activeElement) : null;
  draw();
  if (held !== null) [...place.querySelectorAll('a, button')].find((one) => name(one) === held)?.focus({ preventScroll: true });
}
