// SPDX-License-Identifier: Apache-2.0
"use strict";
// The intervals of the recording, and the sums of a part of the time.
const data = JSON.parse(document.getElementById("data").textContent);

// inflate decodes a deflate stream (RFC 1951) to so many bytes, at once: an asynchronous page would show an empty one first.
function inflate(input, size) {
  const out = new Uint8Array(size), order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  let at = 0, bits = 0, held = 0, n = 0;
  const need = (k) => { while (held < k) { bits |= input[at++] << held; held += 8; } };
  const take = (k) => {
    if (k === 0) return 0;
    need(k);
    const v = bits & ((1 << k) - 1);
    bits >>>= k; held -= k;
    return v;
  };
  // table maps the next bits to symbol × 16 + length.
  const table = (lengths) => {
    const longest = Math.max(1, ...lengths), count = new Uint16Array(17), next = new Uint16Array(17);
    for (const l of lengths) if (l) count[l]++;
    for (let l = 1, code = 0; l <= 15; l++) next[l] = code = (code + (l > 1 ? count[l - 1] : 0)) << 1;
    const codes = new Uint16Array(1 << longest);
    lengths.forEach((l, symbol) => {
      if (!l) return;
      let code = next[l]++, turned = 0;
      for (let i = 0; i < l; i++, code >>= 1) turned = (turned << 1) | (code & 1);
      for (let i = turned; i < codes.length; i += 1 << l) codes[i] = (symbol << 4) | l;
    });
    return { codes, longest, mask: codes.length - 1 };
  };
  const symbol = (t) => {
    while (held < t.longest) { bits |= (input[at++] || 0) << held; held += 8; }
    const code = t.codes[bits & t.mask], l = code & 15;
    bits >>>= l; held -= l;
    return code >> 4;
  };
  const fixed = () => [table([...Array(288)].map((_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))), table(Array(30).fill(5))];
  const dynamic = () => {
    const literals = take(5) + 257, distances = take(5) + 1, some = take(4) + 4, lengths = Array(19).fill(0);
    for (let i = 0; i < some; i++) lengths[order[i]] = take(3);
    const t = table(lengths), all = [];
    while (all.length < literals + distances) {
      const s = symbol(t);
      if (s < 16) { all.push(s); continue; }
      const [value, times] = s === 16 ? [all.at(-1), 3 + take(2)] : s === 17 ? [0, 3 + take(3)] : [0, 11 + take(7)];
      for (let i = 0; i < times; i++) all.push(value);
    }
    return [table(all.slice(0, literals)), table(all.slice(literals))];
  };
  for (let last = 0; !last;) {
    last = take(1);
    const kind = take(2);
    if (kind === 0) {
      at -= held >> 3; bits = held = 0;
      const length = input[at] | (input[at + 1] << 8);
      out.set(input.subarray(at + 4, at + 4 + length), n);
      at += 4 + length; n += length;
      continue;
    }
    const [literals, distances] = kind === 1 ? fixed() : dynamic();
    for (let s; (s = symbol(literals)) !== 256;) {
      if (s < 256) { out[n++] = s; continue; }
      const a = s - 257, more = a < 8 || a === 28 ? 0 : (a >> 2) - 1;
      const length = a === 28 ? 258 : a < 8 ? a + 3 : ((4 + (a & 3)) << more) + 3 + take(more);
      const d = symbol(distances), far = d < 4 ? 0 : (d >> 1) - 1;
      let from = n - (d < 4 ? d + 1 : ((2 + (d & 1)) << far) + 1 + take(far));
      for (let i = 0; i < length; i++) out[n++] = out[from++];
    }
  }
  return out;
}

// times has all intervals, by thread and time: row, begin and end in ns of the recording, and values, interleaved. null
// without time stamps. The order of its columns is that of pageTimes.Columns.
const times = (() => {
  const t = data.times, types = data.types.length;
  if (!t) return null;
  const bytes = inflate(Uint8Array.from(atob(t.columns), (c) => c.charCodeAt(0)), t.size);
  let at = 0;
  const next = () => {
    let v = 0, scale = 1, b;
    do { b = bytes[at++]; v += (b & 127) * scale; scale *= 128; } while (b > 127);
    return v % 2 ? -(v + 1) / 2 : v / 2;
  };
  const index = (name) => data.types.findIndex((x) => x[0] === name);
  const [wall, queue, cpu, blocked] = ["wall", "runqueue", "cpu", "blocked"].map(index);
  const nodes = new Int32Array(t.rows), contexts = new Int32Array(t.rows);
  for (const column of [nodes, contexts]) for (let i = 0, before = 0; i < t.rows; i++) before = column[i] = before + next();
  const row = new Int32Array(t.count), begin = new Float64Array(t.count), end = new Float64Array(t.count);
  for (let i = 0; i < t.count; i++) row[i] = next();
  for (let i = 0; i < t.count; i++) begin[i] = next();
  const length = new Float64Array(t.count);
  for (let i = 0, before = 0; i < t.count; i++) { begin[i] += before; length[i] = next(); before = end[i] = begin[i] + length[i]; }
  const running = data.strings.indexOf("running"), values = new Float64Array(t.count * types);
  for (let type = 0; type < types; type++) {
    for (let i = 0; i < t.count; i++) {
      const v = i * types;
      let expected = 0;
      if (type === wall) expected = length[i];
      else if (type === cpu && data.contexts[4 * contexts[row[i]] + 1] === running) expected = values[v + wall] - values[v + queue];
      else if (type === blocked) expected = values[v + wall] - values[v + queue] - values[v + cpu];
      values[v + type] = expected + next();
    }
  }
  // first and last interval of each thread
  const thread = (i) => data.contexts[4 * contexts[row[i]]], of = new Map();
  for (let i = 0; i < t.count; i++) {
    const r = of.get(thread(i));
    if (r) r[1] = i + 1; else of.set(thread(i), [i, i + 1]);
  }
  return { count: t.count, nodes, contexts, row, begin, end, values, types, wall, queue, cpu, blocked, of, from: t.begin, to: t.begin + t.length, grid: t.grid };
})();

// portion is view.Portion: v × part ÷ whole, with the same rounding.
function portion(v, part, whole) {
  if (whole <= 0 || part >= whole) return v;
  return Math.trunc(v / whole) * part + Math.trunc((v % whole) * (part / whole));
}

// sumsBetween adds up each row's values between two times, as report --from and --to; all without times.
function sumsBetween(range, row = times.row, rows = times.nodes.length) {
  const { count, begin, end, values, types, wall, queue, cpu, blocked } = times, sums = new Float64Array(rows * types);
  const part = new Float64Array(types);
  for (let i = 0; i < count; i++) {
    const b = begin[i], e = end[i], v = i * types, to = row[i] * types, w = values[v + wall];
    if (range && (w === 0 || b < range[0] || e > range[1])) {
      if (w === 0) { // a moment belongs to the part that it ends
        if (e <= range[0] || e > range[1]) continue;
      } else {
        const from = Math.max(b, range[0]) - b, until = Math.min(e, range[1]) - b;
        if (from >= until) continue;
        for (let k = 0; k < types; k++) part[k] = portion(values[v + k], until, w) - portion(values[v + k], from, w);
        const slept = w - values[v + cpu] - values[v + queue]; // the clocks of a part add up as well: view.clip
        if (slept === 0) part[queue] = part[wall] - part[cpu];
        if (slept >= 0 && blocked >= 0) part[blocked] = part[wall] - part[cpu] - part[queue];
        for (let k = 0; k < types; k++) sums[to + k] += part[k];
        continue;
      }
    }
    for (let k = 0; k < types; k++) sums[to + k] += values[v + k];
  }
  return sums;
}

// onGrid moves a range to the times at which a part can begin.
function onGrid([from, to]) {
  const g = times.grid || 1, clamp = (v) => Math.max(times.from, Math.min(times.to, v));
  const range = [Math.floor(from / g) * g, Math.ceil(to / g) * g].map(clamp);
  return range[0] < range[1] && (range[0] > times.from || range[1] < times.to) ? range : null;
}

// timesLonger is how many times longer the selected part is than the one that it is compared with.
const timesLonger = () => (choice.range[1] - choice.range[0]) / (choice.other[1] - choice.other[0]);

// Bins divide a range of time into equal parts, and add up in each, for each class, the time that intervals have there.
// Of an interval over many bins only the ends are touched, until finish.
class Bins {
  constructor(range, n, classes) {
    this.range = range; this.n = n; this.width = (range[1] - range[0]) / n;
    this.sums = Array.from({ length: classes }, () => new Float64Array(n + 2));
    this.steps = Array.from({ length: classes }, () => new Float64Array(n + 2));
  }
  add(cls, b, e, v) {
    if (v <= 0) return;
    const { n, width } = this, sums = this.sums[cls];
    let x0 = (b - this.range[0]) / width, x1 = (e - this.range[0]) / width;
    if (x1 < 0 || x0 >= n) return;
    if (x1 - x0 <= 0) { sums[Math.floor(Math.max(0, x0))] += v; return; }
    const rate = v / (x1 - x0);
    x0 = Math.max(0, x0); x1 = Math.min(n, x1);
    const j0 = Math.floor(x0), j1 = Math.floor(x1);
    if (j0 === j1) { sums[j0] += rate * (x1 - x0); return; }
    sums[j0] += rate * (j0 + 1 - x0);
    sums[j1] += rate * (x1 - j1);
    this.steps[cls][j0 + 1] += rate; this.steps[cls][j1] -= rate;
  }
  finish() {
    this.sums.forEach((sums, c) => { for (let i = 0, r = 0; i < this.n; i++) { r += this.steps[c][i]; sums[i] += r; } });
    return this;
  }
}

// The classes of what a thread does: on a CPU, queued for one, and what it is blocked by; the first whose test fits.
const classes = [
  { id: "cpu", text: "on a CPU" }, { id: "queue", text: "queued for a CPU" },
  { id: "idle", text: "waits for work", test: /\[idle: / },
  { id: "timer", text: "blocked by a timer", test: /^((clock_)?nanosleep(?!: SQLite)|sleep|hrtimer|alarm|pause)|^\w+(: |\.)sleep\b/i },
  { id: "lock", text: "by a lock or another thread", test: /futex|mutex|lock\b|monitor|park|cond|semaphore|sem_|^(chan|sync|select of channels)/i },
  { id: "disk", text: "by a disk", test: /^disk|fsync|fdatasync|io_schedule|msync|sync_file/i },
  { id: "child", text: "by a child", test: /wait4|waitid|do_wait/i },
  { id: "descriptor", text: "by a descriptor", test: /poll|select|accept|recv|send|\bp?(read|write)(v2?|64)?\b|connect|socket|pipe|io_uring|io_getevents|^IO wait/i },
  { id: "other", text: "otherwise" },
];

// Where threads are joined, as they are too many, none has a number.
const numbered = (data.threads || []).some((v, i) => i % 4 === 2 && v);

const classOf = Uint8Array.from({ length: (data.contexts || []).length / 4 }, (_, i) => {
  const [state, given] = [1, 2].map((k) => data.strings[data.contexts[4 * i + k]]);
  const goroutine = numbered && !data.threads[4 * data.contexts[4 * i] + 2]; // has no number of a thread
  const wait = state === "disk" ? state : goroutine && /^select\b(?!.*\[idle)/.test(given) ? "select of channels" : given;
  const c = classes.findIndex((x) => x.test && x.test.test(wait));
  return c < 0 ? classes.length - 1 : c;
});

// addTo adds the intervals from..to to bins.
function addTo(bins, from, to) {
  const { row, begin, end, values, types, queue, cpu, blocked, contexts } = times;
  for (let i = from; i < to; i++) {
    if (end[i] < bins.range[0] || begin[i] > bins.range[1]) continue;
    const v = i * types;
    bins.add(0, begin[i], end[i], values[v + cpu]);
    bins.add(1, begin[i], end[i], values[v + queue]);
    bins.add(classOf[contexts[row[i]]], begin[i], end[i], values[v + blocked]);
  }
}
