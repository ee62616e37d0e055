// SPDX-License-Identifier: Apache-2.0
"use strict";
// What is selected: the stacks with the chosen function, of those the ones that the zoom shows. The table, the callers
// and callees and the totals are of them.

// selectedStacks tests a node: its stack has the chosen function, and none of those that are left out.
function selectedStacks() {
  const { focus, hidden } = choice, marks = new Uint8Array(model.count);
  if (focus < 0 && !hidden.length) return () => true;
  for (let i = 1; i < model.count; i++) {
    const f = model.frame[i];
    marks[i] = marks[model.parent[i]] | (f === focus ? 1 : 0) | (hidden.includes(f) ? 2 : 0);
  }
  return (node) => marks[node] === (focus < 0 ? 0 : 1);
}

// outermost lists the nodes at which the chosen function is called first, on the paths to nodes with values.
function outermost(values) {
  const found = new Set();
  for (const node of values.keys()) {
    let first = 0;
    for (let n = node; n !== 0; n = model.parent[n]) if (model.frame[n] === choice.focus) first = n;
    if (first) found.add(first);
  }
  return found;
}

// keep gives the nodes that pass, by group.
function keep(groups, pass) {
  const kept = new Map();
  for (const [name, values] of groups) {
    const some = new Map([...values].filter(([node]) => pass(name, node)));
    if (some.size) kept.set(name, some);
  }
  return kept;
}

// focused gives the values on the stacks with the chosen function, and without those that are left out.
function focused(groups) {
  const selected = selectedStacks();
  return choice.focus < 0 && !choice.hidden.length ? groups : keep(groups, (_, node) => selected(node));
}

// zoomPath gives the frames from the root of the graph to the zoomed box, and the group that it is in, if there are any.
function zoomPath() {
  const path = [], { tree } = graph;
  let group = null;
  for (let n = choice.zoom; n > 0; n = tree.parent[n]) {
    if (tree.frame[n] >= 0) path.unshift(tree.frame[n]);
    else group = tree.info(n).name;
  }
  return { path, group };
}

// framesTo lists a node's frames, innermost first.
function framesTo(node) {
  const frames = [];
  for (let n = node; n !== 0; n = model.parent[n]) frames.push(model.frame[n]);
  return frames;
}

// framesOf lists a node's stack in the order in which the graph draws it.
function framesOf(node) {
  const frames = folds() ? [...foldedStack(node)] : framesTo(node);
  if (choice.focus < 0) return choice.inverted ? frames : frames.reverse();
  if (choice.inverted) return frames.slice(frames.indexOf(choice.focus));
  return frames.slice(0, frames.lastIndexOf(choice.focus) + 1).reverse();
}

// zoomTest tells of a group and a node whether the zoom shows them.
function zoomTest() {
  if (choice.zoom === 0) return () => true;
  const { path, group } = zoomPath(), begins = folds() || choice.inverted ? drawnTest(path) : callsTest(path);
  return (name, node) => (group === null || name === group) && begins(node);
}

// callsTest tells of all nodes at once whether their stacks begin with a path, outermost first, or do so from the chosen
// function on.
function callsTest(path) {
  const apart = -1, before = -2, same = new Int32Array(model.count); // frames that are those of the path
  same[0] = choice.focus < 0 ? 0 : before;
  for (let i = 1; i < model.count; i++) {
    const f = model.frame[i];
    let n = same[model.parent[i]];
    if (n === before && f === choice.focus) n = 0;
    if (n >= 0 && n < path.length) n = path[n] === f ? n + 1 : apart;
    same[i] = n;
  }
  return (node) => same[node] === path.length;
}

// drawnTest tells of a node whether its stack, as it is drawn, begins with a path.
function drawnTest(path) {
  const known = new Int8Array(model.count);
  return (node) => {
    if (!known[node]) {
      const frames = framesOf(node);
      known[node] = path.every((f, i) => frames[i] === f) ? 1 : -1;
    }
    return known[node] > 0;
  };
}

// zoomed gives the values that the zoom shows.
const zoomed = (groups) => (choice.zoom === 0 ? groups : keep(groups, zoomTest()));

// shownTest tells of a node and a context whether they are selected.
function shownTest() {
  const selected = selectedStacks(), shown = zoomTest();
  return (node, context) => {
    const c = model.contexts[context];
    return chosen(c) && selected(node) && shown(groupName(c), node);
  };
}

// shownRows lists the rows that are selected.
function shownRows() {
  const test = shownTest();
  return model.rows.filter((row) => test(row.node, row.context));
}

// totals sums the types of values of the selected stacks.
function totals() {
  const sums = data.types.map(() => 0);
  for (const row of graph.rows) for (let type = 0; type < sums.length; type++) sums[type] += model.value(row, type);
  return sums;
}

// around sums the direct callers and callees of a function on the selected stacks. A stack counts once for each of them.
function around(frame, groups) {
  const callers = new Map(), callees = new Map();
  const add = (to, set, v) => { for (const f of set) to.set(f, (to.get(f) || 0) + v); };
  for (const values of groups.values()) {
    for (const [node, v] of values) {
      const above = new Set(), below = new Set();
      for (let n = node, inner = -1; n !== 0; inner = model.frame[n], n = model.parent[n]) {
        if (model.frame[n] !== frame) continue;
        if (inner !== frame) below.add(inner); // -1: the function itself
        const outer = model.frame[model.parent[n]];
        if (outer !== frame) above.add(outer); // -1: nothing has called it
      }
      add(callers, above, v);
      add(callees, below, v);
    }
  }
  const sorted = (m) => [...m].sort((a, b) => b[1] - a[1]);
  return { callers: sorted(callers), callees: sorted(callees) };
}
