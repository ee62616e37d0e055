// SPDX-License-Identifier: Apache-2.0
"use strict";
const byId = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

// functionTree joins the given nodes that differ in lines only: what is drawn and added up has no lines, and a page with
// them is as quick as one without. "of" has each given node's.
function functionTree(nodes, given) {
  const parent = new Int32Array(given), frame = new Int32Array(given).fill(-1), of = new Int32Array(given), known = new Map();
  let count = 1;
  for (let i = 1; i < given; i++) {
    const above = of[nodes[2 * i - 2]], f = nodes[2 * i - 1], key = above * 4194304 + f;
    let n = data.lines ? known.get(key) : undefined;
    if (n === undefined) {
      n = count++;
      if (data.lines) known.set(key, n);
      parent[n] = above;
      frame[n] = f;
    }
    of[i] = n;
  }
  return { count, parent: parent.subarray(0, count), frame: frame.subarray(0, count), of };
}

// rowsOf are the rows of the joined nodes: their nodes and contexts, and for each given row the number of its own.
function rowsOf(nodes, contexts) {
  if (!data.lines) return { nodes, contexts, to: null };
  const known = new Map(), first = [], to = nodes.map((n, i) => {
    const key = n * 4194304 + contexts[i];
    if (!known.has(key)) { known.set(key, first.length); first.push(i); }
    return known.get(key);
  });
  return { nodes: Int32Array.from(first, (i) => nodes[i]), contexts: Int32Array.from(first, (i) => contexts[i]), to };
}

// The data of the page as typed arrays, and what is computed from them.

const model = (() => {
  const list = (flat, stride) => (flat ? flat.length / stride : 0);
  const types = data.types.length, stride = 2 + types;
  const frames = data.frames || [], nodes = data.nodes || [], rows = data.rows || [];
  const { count, parent, frame, of } = functionTree(nodes, list(nodes, 2) + 1);
  const text = (i) => data.strings[i];
  // support is not the program's; own and builtIn are of a program in a managed language.
  const flagsOf = (bits) => ({ synthetic: (bits & 1) > 0, support: (bits & 2) > 0, own: (bits & 4) > 0, builtIn: (bits & 8) > 0 });
  const column = (k) => Int32Array.from({ length: list(rows, stride) }, (_, i) => rows[i * stride + k]);
  const given = times ? { nodes: times.nodes, contexts: times.contexts, row: times.row } : { nodes: column(0), contexts: column(1) };
  const joined = rowsOf(given.nodes.map((n) => of[n]), given.contexts), to = joined.to || given.nodes.map((_, i) => i);
  const untimed = (to, n) => {
    const sums = new Float64Array(n * types);
    to.forEach((r, i) => { for (let k = 0; k < types; k++) sums[r * types + k] += rows[i * stride + 2 + k]; });
    return sums;
  };
  if (times) Object.assign(times, { nodes: joined.nodes, contexts: joined.contexts, row: joined.to ? times.row.map((r) => to[r]) : times.row });
  const whole = times ? sumsBetween(null) : untimed(to, joined.nodes.length);
  return {
    // the given rows, whose stacks have lines; their sums are added up when they are needed
    given: { ...given, of, sums: () => (times ? sumsBetween(choice.range, given.row, given.nodes.length) : untimed(to.map((_, i) => i), to.length)) },
    whole, sums: whole, // of each row, what is selected by time
    count, parent, frame, types, diff: data.diff || null,
    frames: Array.from({ length: list(frames, 5) }, (_, i) => ({
      name: text(frames[5 * i]), module: text(frames[5 * i + 1]), file: text(frames[5 * i + 2]),
      line: frames[5 * i + 3], ...flagsOf(frames[5 * i + 4]),
    })),
    threads: Array.from({ length: list(data.threads, 4) }, (_, i) => ({
      name: text(data.threads[4 * i]), comm: text(data.threads[4 * i + 1]), tid: data.threads[4 * i + 2], pid: data.threads[4 * i + 3],
    })),
    contexts: Array.from({ length: list(data.contexts, 4) }, (_, i) => ({
      thread: data.contexts[4 * i], state: text(data.contexts[4 * i + 1]), wait: text(data.contexts[4 * i + 2]), owner: text(data.contexts[4 * i + 3]),
    })),
    rows: Array.from(joined.nodes, (node, i) => ({ node, context: joined.contexts[i], at: i * types })),
    value: (row, type) => model.sums[row.at + type],
    type: (name) => data.types.findIndex((t) => t[0] === name),
  };
})();

// What the reader has chosen.
const choice = {
  value: data.value, inverted: false, hidden: [], // functions whose stacks are left out
  state: "all", group: "none", thread: "", search: "", zoom: 0, focus: -1, folded: true,
  own: data.own === true, // only the program's own functions
  view: "flame", range: null, // [from, to] in ns of the recording
};

function threadName(t) {
  if (!t.tid && !t.name) return t.pid ? `[no thread] ${processName(t)}` : "[no thread]";
  const name = t.name || t.comm || "thread";
  return t.tid ? `${name} (${t.tid})` : name;
}

function processName(t) {
  return t.pid ? `${t.comm || "process"} (${t.pid})` : t.comm || "process";
}

// stem is a thread's name without its numbers.
const stem = (t) => (t.name || t.comm || "thread").replace(/\d+/g, "*");

// threadTest is of a thread's name, number, or name without numbers; else of any part of the name.
function threadTest(text) {
  if (!text) return null;
  const is = (t) => t.name === text || threadName(t) === text || String(t.tid) === text || stem(t) === text;
  if (model.threads.some(is)) return model.threads.map(is);
  const matches = matcher(text);
  return model.threads.map((t) => matches({ name: threadName(t), module: "" }));
}

// groupName names the group that a context belongs to, null without grouping.
function groupName(c) {
  const t = model.threads[c.thread];
  switch (choice.group) {
    case "thread": return threadName(t);
    case "process": return processName(t);
    case "state": return c.state || "no state";
    case "wait": return c.wait || c.state || "no state";
  }
  return null;
}

function chosen(c) {
  if (choice.threads && !choice.threads[c.thread]) return false;
  if (choice.state === "all") return true;
  return (c.state === "running") === (choice.state === "running");
}

// selfValues adds the chosen rows up, by group and node.
function selfValues(type = choice.value) {
  const groups = new Map();
  for (const row of model.rows) {
    const v = model.value(row, type), c = model.contexts[row.context];
    if (v === 0 || !chosen(c)) continue;
    const name = groupName(c);
    let self = groups.get(name);
    if (!self) groups.set(name, (self = new Map()));
    self.set(row.node, (self.get(row.node) || 0) + v);
  }
  return groups;
}

// Tree is a call tree in arrays; node 0 is its root. A frame number below -1 names a
// group.
class Tree {
  constructor() {
    this.parent = [-1]; this.frame = [-1]; this.total = [0]; this.self = [0];
    this.groups = []; this.children = []; this.index = new Map();
    this.base = [0]; this.baseSelf = [0]; // of two recordings: the other's values
  }
  child(parent, frame) {
    const key = parent * 4194304 + (frame + 1048576);
    let n = this.index.get(key);
    if (n === undefined) {
      n = this.parent.length;
      this.index.set(key, n);
      this.parent.push(parent); this.frame.push(frame); this.total.push(0); this.self.push(0);
      this.base.push(0); this.baseSelf.push(0);
    }
    return n;
  }
  group(name) {
    if (!this.groups.includes(name)) this.groups.push(name);
    return this.child(0, -2 - this.groups.indexOf(name));
  }
  // finish adds the values up from the leaves and sorts children by value.
  finish() {
    const n = this.parent.length;
    for (let i = n - 1; i > 0; i--) {
      this.total[this.parent[i]] += this.total[i];
      this.base[this.parent[i]] += this.base[i];
    }
    this.children = Array.from({ length: n }, () => []);
    for (let i = 1; i < n; i++) this.children[this.parent[i]].push(i);
    for (const c of this.children) c.sort((a, b) => this.total[b] - this.total[a]);
    this.index = null;
    return this;
  }
  info(i) {
    const f = this.frame[i];
    if (f >= 0) return model.frames[f];
    return { name: f === -1 ? "all" : this.groups[-2 - f], module: "", file: "", line: 0, synthetic: true };
  }
}

// buildTree makes the tree that is drawn: from the outermost frames, or inverted. Of two recordings it has the values of
// the other, too.
function buildTree(groups, others) {
  const tree = new Tree();
  const grow = (from, total, self) => {
    for (const [name, values] of from) {
      const root = name === null ? 0 : tree.group(name);
      if (folds()) addFolded(tree, root, values, total, self);
      else if (choice.inverted) addCallers(tree, root, values, total, self);
      else addCalls(tree, root, values, total, self);
    }
  };
  grow(groups, tree.total, tree.self);
  if (others) grow(others, tree.base, tree.baseSelf);
  return tree.finish();
}

function addCalls(tree, root, values, total, self) {
  const memo = new Map([[0, root]]);
  // Of a chosen function's stacks, what it called is drawn, and not its callers: each outermost call begins at the root.
  if (choice.focus >= 0) for (const node of outermost(values)) memo.set(node, tree.child(root, choice.focus));
  for (const [node, v] of values) {
    const path = [];
    let n = node;
    while (!memo.has(n)) { path.push(n); n = model.parent[n]; }
    let at = memo.get(n);
    while (path.length) {
      n = path.pop();
      at = tree.child(at, model.frame[n]);
      memo.set(n, at);
    }
    total[at] += v; self[at] += v;
  }
}

// addCallers puts the innermost frame at the root; "self" stays with it.
function addCallers(tree, root, values, total, self) {
  for (const [node, v] of values) {
    let at = root, n = node;
    // Of a chosen function's stacks, its callers are drawn, and not what it called.
    if (choice.focus >= 0) while (model.frame[n] !== choice.focus) n = model.parent[n];
    for (const first = n; n !== 0; n = model.parent[n]) {
      at = tree.child(at, model.frame[n]);
      if (n === first) self[at] += v;
    }
    total[at] += v;
  }
}

// functionTable gives self and total for each frame; recursion counts once.
function functionTable(groups) {
  const total = new Float64Array(model.count), own = new Float64Array(model.count);
  for (const self of groups.values()) for (const [node, v] of self) { total[node] += v; own[node] += v; }
  for (let i = model.count - 1; i > 0; i--) total[model.parent[i]] += total[i];
  const result = model.frames.map((f, frame) => ({ frame, info: f, self: 0, total: 0, used: false }));
  for (let i = 1; i < model.count; i++) {
    const r = result[model.frame[i]];
    r.self += own[i];
    if (total[i] === 0 && own[i] === 0) continue;
    r.used = true;
    r.first ??= i;
    if (!recursive[i]) r.total += total[i];
  }
  const rows = result.filter((r) => r.used);
  return { rows: folds() ? withFolds(rows, groups) : rows, total: total[0] };
}

// compared puts what each function took in the other recording beside it. The figures are old, new and what changed,
// whichever of the two is drawn.
function compared(now, other) {
  const was = new Map(other.rows.map((r) => [r.frame, r])), none = { self: 0, total: 0 };
  const swap = choice.value === model.type("old");
  const add = (r, o) => {
    const [a, b] = swap ? [r, o] : [o, r];
    return { ...r, self: r.self, selfOld: a.self, selfNew: b.self, change: b.self - a.self, totalOld: a.total, totalNew: b.total, totalChange: b.total - a.total };
  };
  const rows = now.rows.map((r) => add(r, was.get(r.frame) || none)), here = new Set(now.rows.map((r) => r.frame));
  for (const o of other.rows) if (!here.has(o.frame)) rows.push(add({ ...o, self: 0, total: 0 }, o));
  return { rows, total: now.total };
}

// recursive marks nodes whose frame is on the path to them already.
const recursive = (() => {
  const mark = new Uint8Array(model.count), depth = new Int32Array(model.frames.length);
  const children = Array.from({ length: model.count }, () => []);
  for (let i = 1; i < model.count; i++) children[model.parent[i]].push(i);
  const todo = [...children[0]];
  while (todo.length) {
    const n = todo.pop();
    if (n < 0) { depth[model.frame[-n]]--; continue; }
    if (depth[model.frame[n]]++ > 0) mark[n] = 1;
    todo.push(-n);
    for (const c of children[n]) todo.push(c);
  }
  return mark;
})();

// matcher turns the search into a test of frames.
function matcher(text) {
  if (!text) return null;
  let re;
  try { re = new RegExp(text, "i"); } catch { re = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
  return (f) => re.test(f.name) || re.test(f.module);
}

// decimals writes three digits, or fewer where fewer decimals are borne.
function decimals(v, most) {
  const a = Math.abs(v);
  return v.toFixed(Math.min(most, a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2));
}

const unitScales = {
  nanoseconds: [[3600e9, 3600e9, "h"], [120e9, 60e9, "min"], [1e9, 1e9, "s"], [1e6, 1e6, "ms"], [1e3, 1e3, "µs"]],
  bytes: [[2 ** 40, 2 ** 40, "TiB"], [2 ** 30, 2 ** 30, "GiB"], [2 ** 20, 2 ** 20, "MiB"], [1024, 1024, "KiB"]],
};

// show writes a value in its unit. Where it is a part of so much that samples stand for, it has the digits that these
// bear.
function show(v, type = choice.value, of = 0) {
  let unit = data.types[type][1];
  const per = { microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 }[unit] || 1;
  if (per > 1) unit = "nanoseconds";
  const step = unit === "nanoseconds" ? precision.step(v, of) * per : 0;
  v *= per;
  if (step) v = Math.round(v / step) * step;
  const digits = (scale) => (step ? Math.max(-precision.decade(step / scale), 0) : 2);
  for (const [from, scale, name] of unitScales[unit] || []) {
    if (Math.abs(v) >= from * 0.9995) return decimals(v / scale, digits(scale)) + " " + name;
  }
  const n = Math.round(v).toLocaleString("en-US");
  return unit === "nanoseconds" ? (v ? n + " ns" : "0 s") : unit === "bytes" ? n + " B" : unit === "count" || !unit ? n : n + " " + unit;
}

// part writes a value that is a part of another.
const part = (v, of) => show(v, choice.value, of);

// halfToEven rounds as the terminal's tables do.
function halfToEven(v, digits) {
  const at = v * 10 ** digits, low = Math.floor(at);
  return (at - low === 0.5 && low % 2 === 0 ? low / 10 ** digits : v).toFixed(digits);
}

function share(v, of) {
  if (!of) return "–";
  const digits = v === 0 || v === of ? 0 : precision.digits(v / of, of);
  return halfToEven(100 * v / of, digits) + "%";
}
