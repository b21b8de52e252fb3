// What clients in JavaScript that show answers have in common; `shown.py` says what that is.

import { pathToFileURL } from "node:url";

// What is said to each agent.
const SAID = ["Hello", "again"];

// Clients and their packages say much that nobody here asked for.
const say = console.log;
console.log = () => {};

let failed = 0;

// A module cannot be found by `NODE_PATH`, so its file is named.
export const load = (file) => import(pathToFileURL(`${process.env.NODE_PATH}/${file}`).href);

// The agents, each with its address and what it is told, with the answer.
export function agents() {
  const all = Object.entries(JSON.parse(process.env.SHOWN));
  return all.map(([name, before]) => ({
    name,
    url: `${process.argv[2]}/a2a/${name}/`,
    turns: SAID.map((said) => [said, before + said]),
  }));
}

// One check: the answer stands in what is shown, and stands there once.
export function once(way, answer, shown) {
  const isOnce = shown.split(answer).length === 2;
  failed += isOnce ? 0 : 1;
  say(`${isOnce ? "ok   " : "WRONG"} ${way}: ${JSON.stringify(shown)}`);
}

export const done = () => process.exit(failed ? 1 : 0);
