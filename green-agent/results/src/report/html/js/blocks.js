// The data of the page: compressed blocks, each of which is read when it is first needed.

/** The time after which a loop yields to the browser, in milliseconds. */
const SLICE = 12;

/** Lets the browser draw and handle input. */
function yieldToBrowser() {
  return globalThis.scheduler?.yield ? globalThis.scheduler.yield() : new Promise((done) => setTimeout(done));
}

/** Calls `each` for the numbers below `end`, in slices, until it returns false. */
async function forEachInSlices(end, each) {
  let until = performance.now() + SLICE;
  for (let at = 0; at < end; at += 1) {
    if (each(at) === false) return;
    if ((at & 63) === 63 && performance.now() > until) {
      await yieldToBrowser();
      until = performance.now() + SLICE;
    }
  }
}

/** Ends the work of a view that is no longer shown. */
class Cancelled extends Error {}

const blocks = {
  /** The texts of the blocks that were read last, at most `MOST`. */
  read: new Map(),
  MOST: 24,

  /** Returns the text of a block; fails if there is none of that name. */
  text(name) {
    const known = this.read.get(name);
    if (known) {
      this.read.delete(name);
      this.read.set(name, known);
      return known;
    }
    const text = live.on ? live.text(name) : this.unpacked(name);
    this.read.set(name, text);
    text.catch(() => this.read.delete(name));
    if (this.read.size > this.MOST) this.read.delete(this.read.keys().next().value);
    return text;
  },

  async json(name) {
    const value = JSON.parse(await this.text(name));
    await yieldToBrowser();
    return value;
  },

  async unpacked(name) {
    let element = document.getElementById(`block-${name}`);
    if (!element && document.readyState === 'loading') {
      // Transcripts are at the end of the file, which the browser may still be reading.
      await new Promise((done) => document.addEventListener('DOMContentLoaded', done, { once: true }));
      element = document.getElementById(`block-${name}`);
    }
    if (!element) throw new Error(`the report has no block ${name}: the file is incomplete`);
    const packed = await fromBase64(element.textContent);
    // Unlike a blob, the body of a response stays within this page's process.
    const stream = new Response(packed).body.pipeThrough(new DecompressionStream('deflate'));
    return new Response(stream).text();
  },
};

async function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  // In older browsers base64 is decoded here, in pieces. A piece whose length is a multiple of four can be decoded alone.
  const PIECE = 1 << 18;
  const whole = text.trim();
  const bytes = new Uint8Array(Math.floor(whole.length / 4) * 3);
  let end = 0;
  for (let at = 0; at < whole.length; at += PIECE) {
    const piece = atob(whole.slice(at, at + PIECE));
    for (let index = 0; index < piece.length; index += 1) bytes[end + index] = piece.charCodeAt(index);
    end += piece.length;
    await yieldToBrowser();
  }
  return bytes.subarray(0, end);
}
