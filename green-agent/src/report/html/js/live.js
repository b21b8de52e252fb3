// A page that `green-agent view` serves asks the server for blocks, and for what is new. A file asks nobody.

const live = {
  on: document.documentElement.dataset.source === 'server',

  async text(name) {
    const reply = await fetch(`blocks/${encodeURIComponent(name)}`);
    if (!reply.ok) throw new Error(`the server has no block ${name}: ${reply.status}`);
    return reply.text();
  },

  /** Asks again and again whether there are new records; `changed()` is called when there are. */
  async follow(changed) {
    if (!this.on) return;
    const said = document.getElementById('live');
    said.hidden = false;
    for (let seen = null; ;) {
      const state = await fetch('state').then((reply) => reply.json()).catch(() => null);
      if (!state) {
        said.textContent = 'the server has ended';
        return;
      }
      if (seen !== null && state.bytes !== seen) {
        blocks.read.delete('run');
        await changed();
      }
      seen = state.bytes;
      said.textContent = `live: ${counted(app.run.length, 'trial')}`;
      await new Promise((done) => setTimeout(done, 1000));
    }
  },
};
