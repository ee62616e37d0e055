// SPDX-License-Identifier: Apache-2.0
"use strict";
// What is selected: the stacks with the chosen function, of those the ones that the zoom shows. The table, the callers
// and callees and the totals are of them.

// stackHas tells for each node whether a frame is on the path to it.
function stackHas(frame) {
  const has = new Uint8Array(model.count);
  for (let i = 1; i < model.count; i++) has[i] = model.frame[i] === frame || has[model.parent[i]] ? 1 : 0;
  return has;
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

// focused gives the values on stacks with the chosen function; all without one.
function focused(groups) {
  if (choice.focus < 0) return groups;
  const has = stackHas(choice.focus);
  return keep(groups, (_, node) => has[node] === 1);
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
  const { path, group } = zoomPath(), known = new Map();
  const begins = (node) => {
    if (!known.has(node)) {
      const frames = framesOf(node);
      known.set(node, path.every((f, i) => frames[i] === f));
    }
    return known.get(node);
  };
  return (name, node) => (group === null || name === group) && begins(node);
}

// zoomed gives the values that the zoom shows.
const zoomed = (groups) => (choice.zoom === 0 ? groups : keep(groups, zoomTest()));

// totals sums the types of values of the selected stacks.
function totals() {
  const sums = data.types.map(() => 0), has = choice.focus >= 0 ? stackHas(choice.focus) : null, shown = zoomTest();
  for (const row of model.rows) {
    const c = model.contexts[row.context];
    if (!chosen(c) || (has && !has[row.node]) || !shown(groupName(c), row.node)) continue;
    for (let type = 0; type < sums.length; type++) sums[type] += model.value(row, type);
  }
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
