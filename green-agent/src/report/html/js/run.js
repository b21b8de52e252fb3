// A run as the page knows it: its trials in columns, as the block `run` has them, and what is found in them.

class Run {
  constructor(data, prefix) {
    this.prefix = prefix;
    this.take(data);
  }

  /** Takes the data of the block, also anew while the run goes on. Trials then have other indexes; their names stay. */
  take(data) {
    Object.assign(this, data);
    this.hay = undefined;
    this.score = scoreColumn(this);
    this.length = this.trials.outcome.length;
    this.byKey = new Map(this.trials.key.map((_, index) => [this.id(index), index]));
    this.lastOf = new Map();
    for (let index = 0; index < this.length; index += 1) if (this.trials.last[index]) this.lastOf.set(this.trials.key[index], index);
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
  outcomes() {
    const found = {};
    for (let index = 0; index < this.length; index += 1) {
      if (this.trials.last[index]) found[this.outcome(index)] = (found[this.outcome(index)] ?? 0) + 1;
    }
    return found;
  }
}
