// SPDX-License-Identifier: Apache-2.0
"use strict";
// How many digits a figure bears, and which changes are more than chance: as the tables in the terminal have it
// (internal/base/tabular, Precision).
const precision = (() => {
  const decade = (err) => Math.floor(Math.log10(err) + 1e-9); // of an error's first digit
  // error is the standard error of a share of n samples, 0 if it is not known.
  const error = (share, n) => (n ? Math.sqrt(Math.max(share * (1 - share), 0.25 / n) / n) : 0);
  const wholes = data.types.map((_, i) => model.rows.reduce((sum, row) => sum + Math.abs(model.value(row, i)), 0));
  // samples is the number that a part of a type of values comes from.
  const samples = (part, type) => (data.effective && wholes[type] ? Math.max(1, data.effective[type] * part / wholes[type]) : 0);
  const known = (type) => data.effective && data.effective[type] > 0;
  return {
    decade, error, samples,
    // digits is how many a share in per cent of so much has behind its point.
    digits(share, of) {
      const e = known(choice.value) ? error(share, samples(of, choice.value)) : 0;
      return e > 0 ? Math.min(Math.max(-decade(100 * e), 0), 2) : 2;
    },
    // step is what the last digit of a value that is a part of so much stands for, 0 if it is not known.
    step(v, of) {
      const e = known(choice.value) && of > 0 ? error(Math.min(1, Math.abs(v) / of), samples(of, choice.value)) * of : 0;
      if (!e || !v) return 0;
      let step = 10 ** decade(e);
      while (step > Math.abs(v)) step /= 10; // one digit is always shown
      return step;
    },
  };
})();

// changes says what of a change between two recordings the samples explain.
const changes = (() => {
  const whole = model.diff ? model.diff.whole : [0, 0], samples = data.effective || [];
  const told = samples.every((n) => n > 0) && whole.every((v) => v > 0);
  // tail is statistics.FisherTail, with the new side first.
  const tail = (count, odds) => {
    const sum = count[0] + count[1], rest = samples[1] - sum;
    const rise = (x) => (odds * (samples[0] - x) * (sum - x)) / ((x + 1) * (rest + x + 1));
    let above = 0, below = 0;
    for (let x = count[0], p = 1; x + 1 <= Math.min(sum, samples[0]) && (p *= rise(x)) > 1e-15 * above; x++) above += p;
    for (let x = count[0] - 1, p = 1; x >= Math.max(0, -rest) && (p /= rise(x)) > 1e-15 * below; x--) below += p;
    return Math.min(1, (2 * (1 + Math.min(above, below))) / (1 + above + below));
  };
  // pooled is the best estimate if the sides are equal.
  const pooled = (is, was) => {
    const n = samples.map((k, i) => k / whole[i]);
    return (n[0] * is + n[1] * was) / (n[0] + n[1]);
  };
  // exact: few samples, and at most half of the wholes, are expected (sampleComparison.isTestedExactly).
  const exact = (same) => 2 * same <= Math.min(...whole) && Math.max(...samples) <= 1e15 &&
    Math.min(...samples.map((k, i) => (k * same) / whole[i])) <= 1e4;
  // chance is the probability of such values if the sides are equal.
  const chance = (is, was) => {
    const same = pooled(is, was), odds = whole.map((w) => same / (w - same));
    return same > 0 ? tail([is, was].map((v, i) => samples[i] * Math.min(v / whole[i], 1)), odds[0] / odds[1]) : 1;
  };
  // explained is a value's part of the whole's change.
  const explained = (is, was) => {
    const most = model.diff.between_runs * whole[1], change = Math.min(Math.max(whole[0] - whole[1], -most), most);
    return Math.min(1, (is + was) / (whole[0] + whole[1])) * change;
  };
  // margin is what a change must exceed to be sure (ComparedValue.decide).
  const margin = (is, was, bound) => {
    const same = pooled(is, was), error = whole.map((w, i) => w * precision.error(Math.min(1, same / w), samples[i]));
    return bound * Math.hypot(...error) + Math.max(0, explained(is, was) * Math.sign(is - was));
  };
  const verdicts = model.diff && model.diff.verdicts;
  return {
    // sureInTime: between two parts of the time, the second scaled by timesLonger, the numbers of samples differ by more
    // than three standard errors.
    sureInTime(is, was) {
      if (is === was) return false;
      const by = timesLonger(), type = choice.value, n = is && precision.samples(is, type), m = was && precision.samples(was / by, type);
      return data.effective?.[type] > 0 ? Math.abs(n - by * m) > 3 * Math.sqrt(n + by * by * m) : true;
    },
    // margin of a box's change; 0: unknown.
    margin: (is, was) => (told && !verdicts ? margin(is, was, model.diff.boxes.bound) : 0),
    // sure: beyond what the samples explain if nothing has changed, also without the noise between runs.
    sure(is, was, { bound, level }) {
      if (!told || is === was) return is !== was;
      if (Math.abs(is - was) <= margin(is, was, bound) + 1e-9 * Math.abs(is)) return false;
      return !exact(pooled(is, was)) || (chance(is, was) < level && chance(Math.max(is - explained(is, was), 0), was) < level);
    },
    // verdict of several runs: whether the change of a function's self (0) or total time (1) is sure, in the direction of by;
    // null with one run a side.
    verdict: (frame, which, by) => (verdicts ? frame >= -1 && verdicts.at(2 * frame + which) === Math.sign(by) && by !== 0 : null),
  };
})();
