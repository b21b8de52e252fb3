// A run: its trials in columns, as in the block `run`, with indexes over them.

/** Returns the identity of a trial, which is the same in every run of its scenario. It pairs the trials of two runs. */
function taskOf({ scenarios, cells, trials }, index) {
  return JSON.stringify([scenarios[trials.scenario[index]], cells[trials.cell[index]], trials.sample[index], trials.trial[index]]);
}

/** Indexes the columns, in slices: the position of each trial, its last attempt, the counts of outcomes. */
async function indexTrials(data) {
  const { trials } = data;
  const found = { byKey: new Map(), lastOf: new Map(), ends: {} };
  await forEachInSlices(trials.outcome.length, (index) => {
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
    run.take(data, await indexTrials(data));
    return run;
  }

  /** Sets the data of the block. While the run goes on this happens again; trials then have other indexes and the same names. */
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

  /** Returns the name of a trial for people. */
  title(index) {
    const { trial, attempt } = this.trials;
    const parts = [this.scenario(index), this.cell(index), this.sample(index) && `sample ${this.sample(index)}`, `trial ${trial[index]}`];
    if (attempt[index] > 1) parts.push(`try ${attempt[index]}`);
    return parts.filter(Boolean).join(' · ');
  }

  /** Returns the name that identifies a trial. */
  id(index) { return `${this.trials.key[index]} ${this.trials.attempt[index]}`; }

  /** Returns the index of the last attempt at the trial that a trial of another run is paired with; undefined without one. */
  sameAs(other, index) { return this.lastOf.get(taskOf(other, index)); }

  /** Returns the link to a trial. */
  link(index) {
    return `#/trial/${this.prefix}${this.trials.key[index]}/${this.trials.attempt[index]}`;
  }

  /** Returns the text in which a trial is searched: name, problem, key. */
  haystack(index) {
    this.hay ??= new Array(this.length);
    this.hay[index] ??= [this.title(index), this.outcome(index), this.trials.owner[index], this.trials.problem[index],
      this.trials.key[index]].join('\n').toLowerCase();
    return this.hay[index];
  }

  /** Counts the trials by outcome, without repeated attempts. */
  outcomes() { return this.ends; }
}
