// The transcript of one trial: an index of all messages in columns, and the messages in blocks.

const KINDS = ['request', 'reply', 'event', 'end', 'failure'];
const PROTOCOLS = ['a2a', 'mcp', 'agent-card', 'activity', 'registry', 'model', 'http'];
const PROTOCOL_TITLES = {
  'a2a': 'A2A', 'mcp': 'MCP', 'agent-card': 'agent card', 'activity': 'activity', 'registry': 'registry', 'model': 'model', 'http': 'HTTP',
};
const BACK = 1;
const FAULT = 2;
const RETRY = 4;

class Transcript {
  constructor(block, head) {
    const { events } = head;
    Object.assign(this, { block, head, length: events });
    this.hops = head.hops.map((hop) => {
      const [from, to] = hop.split(' -> ');
      return { from, to, name: hop };
    });
    this.time = new Float64Array(events);
    this.hop = new Uint16Array(events);
    this.exchange = new Float64Array(events);
    this.kind = new Uint8Array(events);
    this.protocol = new Uint8Array(events);
    this.flags = new Uint8Array(events);
    this.bytes = new Float64Array(events);
    this.label = new Array(events).fill('');
    this.gist = new Array(events).fill('');
    this.chunkEnds = [];
    head.chunks.reduce((sum, size) => { this.chunkEnds.push(sum + size); return sum + size; }, 0);
    this.exchanges = new Map();
    this.faults = [];
    this.retries = 0;
    this.known = 0;
  }

  static async of(block) {
    return new Transcript(block, await blocks.json(block));
  }

  /** Reads the index. `some()` is awaited after each part; `isCancelled()` says that the view is no longer shown. */
  async read(some, isCancelled) {
    for (let part = 0; part < this.head.parts; part += 1) {
      const columns = await blocks.json(`${this.block}.i${part}`);
      if (isCancelled()) throw new Cancelled();
      const first = this.known;
      await forEachInSlices(columns.time.length, (at) => this.take(first + at, columns, at));
      this.known = first + columns.time.length;
      if (isCancelled()) throw new Cancelled();
      await some();
    }
  }

  take(index, columns, at) {
    this.time[index] = columns.time[at] / 1e6;
    this.hop[index] = columns.hop[at];
    this.exchange[index] = columns.exchange[at];
    this.kind[index] = columns.kind[at];
    this.protocol[index] = columns.protocol[at];
    this.flags[index] = columns.flags[at];
    this.bytes[index] = columns.bytes[at];
    this.label[index] = columns.labels[columns.label[at]];
    this.gist[index] = columns.gist[at];
    if (this.flags[index] & FAULT) this.faults.push(index);
    if (this.flags[index] & RETRY) this.retries += 1;
    const known = this.exchanges.get(columns.exchange[at]);
    if (known) known.last = index;
    else this.exchanges.set(columns.exchange[at], { first: index, last: index });
  }

  /** Returns the sender and the receiver of a message. */
  between(index) {
    const { from, to } = this.hops[this.hop[index]];
    return this.flags[index] & BACK ? [to, from] : [from, to];
  }

  protocolOf(index) { return PROTOCOLS[this.protocol[index]] ?? 'http'; }
  kindOf(index) { return KINDS[this.kind[index]] ?? 'event'; }

  /** Returns the party responsible for a fault: the one that answered with it or did not answer. */
  faultOf(index) { return this.hops[this.hop[index]].to; }

  /** Returns a line of the transcript as the recorder wrote it. */
  async line(index) {
    const chunk = this.chunkEnds.findIndex((end) => index < end);
    const lines = (await blocks.text(`${this.block}.c${chunk}`)).split('\n');
    return lines[index - (chunk === 0 ? 0 : this.chunkEnds[chunk - 1])] ?? '';
  }

  /** Finds the messages that contain all words. Calls `some(indexes, share)` after each block. */
  async search(words, some, isCancelled) {
    let index = 0;
    for (let chunk = 0; chunk < this.chunkEnds.length; chunk += 1) {
      const text = await blocks.text(`${this.block}.c${chunk}`);
      if (isCancelled()) throw new Cancelled();
      const lines = text.split('\n');
      const base = index;
      const found = [];
      await forEachInSlices(this.chunkEnds[chunk] - base, (at) => {
        const line = (lines[at] ?? '').toLowerCase();
        if (words.every((word) => line.includes(word))) found.push(base + at);
      });
      index = this.chunkEnds[chunk];
      if (isCancelled()) throw new Cancelled();
      some(found, (chunk + 1) / this.chunkEnds.length);
    }
  }

  /** Summarises the traffic between each two parties: counts, bytes, faults, and the time of open requests. */
  handOffs() {
    const all = this.hops.map((hop) => ({ ...hop, requests: 0, messages: 0, bytes: 0, faults: 0, retries: 0, seconds: 0, protocols: new Set() }));
    for (let index = 0; index < this.known; index += 1) {
      const one = all[this.hop[index]];
      one.messages += 1;
      one.bytes += this.bytes[index];
      one.protocols.add(this.protocolOf(index));
      if (this.kind[index] === 0) one.requests += 1;
      if (this.flags[index] & FAULT) one.faults += 1;
      if (this.flags[index] & RETRY) one.retries += 1;
    }
    for (const { first, last } of this.exchanges.values()) all[this.hop[first]].seconds += this.time[last] - this.time[first];
    return all.filter((one) => one.messages > 0);
  }
}
