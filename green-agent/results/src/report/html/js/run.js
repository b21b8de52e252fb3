// A run as the page knows it: its trials in columns, as the block `run` has them, and what is found in them.

/** The name of what a trial tries, which is the same in every run of its scenario: by it the trials of two runs are paired. */
function taskOf({ scenarios, cells, trials }, index) {
  return JSON.stringify([scenarios[trials.scenario[index]], cells[trials.cell[index]], trials.sample[index], trials.trial[index]]);
}

/** What is found in the columns, in slices: where each trial is, which of its attempts counts, how many ended in which way. */
async function lookedUp(data) {
  const { trials } = data;
  const found = { byKey: new Map(), lastOf: new Map(), ends: {} };
  await sliced(trials.outcome.length, (index) => {
    found.byKey.set(`${trials.key[index]} ${trials.attempt[index]}`, index);
    if (!trials.last[index]) return;
    found.lastOf.set(taskOf(data, index), index);
    const outcome = trials.outcome[index];
    found.ends[outcome] = (found.ends[outcome] ?? 0) + 1;
  });
  return found;
}

class Run {
  constructor(prefix) { this.prefix = prefix; }

  static async of(data, prefix) {
    const run = new Run(prefix);
    run.take(data, await lookedUp(data));
    return run;
  }

  /** Takes the data of the block, also anew while the run goes on. Trials then have other indexes; their names stay. */
  take(data, found) {
    Object.assign(this, data, found);
    this.hay = undefined;
    this.score = scoreColumn(this);
    this.length = this.trials.outcome.length;
  }

  scenario(index) { return this.scenarios[this.trials.scenario[index]]; }
  cell(index) { return this.cells[this.trials.cell[index]]; }
  sample(index) { return this.trials.sample[index] ?? ''; }
  outcome(index) { return this.trials.outcome[index]; }

  /** The name of a trial for people. */
  title(index) {
    const { trial, attempt } = this.trials;
    const parts = [this.scenario(index), this.cell(index), this.sample(index) && `sample ${this.sample(index)}`, `trial ${trial[index]}`];
    if (attempt[index] > 1) parts.push(`try ${attempt[index]}`);
    return parts.filter(Boolean).join(' · ');
  }

  /** The name by which a trial is found again. */
  id(index) { return `${this.trials.key[index]} ${this.trials.attempt[index]}`; }

  /** Where this run has what a trial of another one tries, as the attempt that counts; undefined if it does not. */
  sameAs(other, index) { return this.lastOf.get(taskOf(other, index)); }

  /** Where the page shows a trial. */
  link(index) {
    return `#/trial/${this.prefix}${this.trials.key[index]}/${this.trials.attempt[index]}`;
  }

  /** What is searched for a trial's name, problem, key. */
  haystack(index) {
    this.hay ??= new Array(this.length);
    this.hay[index] ??= [this.title(index), this.outcome(index), this.trials.owner[index], this.trials.problem[index],
      this.trials.key[index]].join('\n').toLowerCase();
    return this.hay[index];
  }

  /** The numbers of trials by outcome, of those that count. */
  outcomes() { return this.ends; }
}
