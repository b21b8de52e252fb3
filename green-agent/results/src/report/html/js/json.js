// Formats JSON for reading without parsing it, so that numbers, keys and their order stay as they were sent.

/** The deepest indentation; deeper values are not indented further. */
const DEEPEST = 40;

/** Returns the end of the string that begins at `at`: the position after its closing quote. */
function endOfString(text, at) {
  for (let end = at + 1; ; end += 1) {
    end = text.indexOf('"', end);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
}

/** Returns the text of a member of the outermost object, unchanged; undefined without such a member. */
function memberOf(text, wanted) {
  let depth = 0;
  let key = null;
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at];
    if (one === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && key === null) key = text.slice(at + 1, end - 1);
      at = end - 1;
    } else if (one === ':' && depth === 1) {
      if (key === wanted) return valueAt(text, at + 1);
    } else if (one === ',' && depth === 1) {
      key = null;
    } else if (one === '{' || one === '[') {
      depth += 1;
    } else if (one === '}' || one === ']') {
      depth -= 1;
    }
  }
  return undefined;
}

/** Returns the text of the value that begins at `start`, up to the comma or bracket after it. */
function valueAt(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const one = text[at];
    if (one === '"') at = endOfString(text, at) - 1;
    else if (one === '{' || one === '[') depth += 1;
    else if (one === '}' || one === ']') {
      if (depth === 0) return text.slice(start, at);
      depth -= 1;
    } else if (one === ',' && depth === 0) return text.slice(start, at);
  }
  return text.slice(start);
}

/** Formats JSON over several lines, in slices. `isCancelled()` says that the result is no longer needed. */
async function prettyPrint(text, isCancelled) {
  const out = [];
  let depth = 0;
  let until = performance.now() + SLICE;
  const line = () => `\n${'  '.repeat(Math.min(depth, DEEPEST))}`;
  for (let at = 0, steps = 0; at < text.length; at += 1, steps += 1) {
    const one = text[at];
    if (one === '"') {
      const end = endOfString(text, at);
      out.push(text.slice(at, end));
      at = end - 1;
    } else if (one === '{' || one === '[') {
      const close = one === '{' ? '}' : ']';
      if (text[at + 1] === close) {
        out.push(one + close);
        at += 1;
      } else {
        depth += 1;
        out.push(one, line());
      }
    } else if (one === '}' || one === ']') {
      depth = Math.max(0, depth - 1);
      out.push(line(), one);
    } else if (one === ',') {
      out.push(one, line());
    } else if (one === ':') {
      out.push(': ');
    } else if (one > ' ') {
      out.push(one);
    }
    if (steps % 512 === 0 && performance.now() > until) {
      await yieldToBrowser();
      if (isCancelled()) throw new Cancelled();
      until = performance.now() + SLICE;
    }
  }
  return out.join('');
}

/** Returns the texts of a message for a reader: text parts of A2A, and texts of tools and activities. */
function readableTexts(value, found = [], depth = 0) {
  if (depth > 24 || found.length > 400) return found;
  if (Array.isArray(value)) for (const item of value) readableTexts(item, found, depth + 1);
  else if (value && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      if (key === 'text' && typeof item === 'string') found.push(item);
      else if (key === 'history') continue;
      else readableTexts(item, found, depth + 1);
    }
  }
  return found;
}
