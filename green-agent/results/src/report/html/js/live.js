// A page that `green-agent view` serves asks the server for blocks, and for what is new. A file asks nobody.

const live = {
  on: document.documentElement.dataset.source === 'server',

  /** How long the server may take for an answer, in milliseconds. */
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
   * Asks again and again whether the records are as the page has them; `changed()` is called when they are not. A server that
   * gives no answer may be back later, and a run that has ended may be resumed.
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
        this.say('green-agent view gives no answer; asking again');
      }
      // Of a large run each reading takes a while; most of the time is left to whoever looks at it.
      await new Promise((done) => setTimeout(done, Math.max(1000, 5 * (performance.now() - begun))));
    }
  },

  /** Says something only once, for those who hear it. */
  say(text) {
    const said = document.getElementById('live');
    if (said.textContent !== text) said.textContent = text;
  },
};

/** Draws a part of the page anew, and gives the focus back to what has the same name there. */
function redrawn(place, draw) {
  const name = (element) => element.dataset.outcome ?? element.getAttribute('href') ?? element.getAttribute('aria-label');
  const held = place.contains(document.activeElement) ? name(document.activeElement) : null;
  draw();
  if (held !== null) [...place.querySelectorAll('a, button')].find((one) => name(one) === held)?.focus({ preventScroll: true });
}
