// SPDX-License-Identifier: Apache-2.0
"use strict";
// The program's own functions of a managed language: libraries and the interpreter are folded into what called them.

// folds: only the program's own functions are shown. A chosen function of another kind needs all.
const folds = () => choice.own && (choice.focus < 0 || model.frames[choice.focus].own);

// sortForView begins with the largest total of own functions, as the terminal's table.
function sortForView() {
  if (!model.diff) Object.assign(sorting, { key: folds() ? "total" : "self", down: true });
}

// calledAs names what an own function called, of whose frames the innermost is first, as view.CalledAs does.
function calledAs(frames) {
  const outer = frames.findLast((f) => model.frames[f].module !== data.interpreter) ?? frames.at(-1), f = model.frames[outer];
  if (f.builtIn && !f.synthetic) return f.name;
  return f.module.replace(/^(?:lib|_)?([^.]{3,}?)(?:\..*)?\.so(?:\.[\d.]+)?$/, "$1") || f.name;
}

const foldedFrames = new Map(); // by name, their numbers
const givenFrames = model.frames.length;
const isFold = (f) => f >= givenFrames;

// foldedFrame is a box that stands for all that was called in a library.
function foldedFrame(library) {
  if (!foldedFrames.has(library)) {
    foldedFrames.set(library, model.frames.length);
    model.frames.push({ name: `…in ${library}`, module: "", file: "", line: 0, synthetic: true, support: true, own: false, builtIn: false });
  }
  return foldedFrames.get(library);
}

const foldedStacks = new Map(); // by node

// foldedStack lists own frames, innermost first, below them one for what the innermost called. Without own ones there
// is that of the innermost frame's library.
function foldedStack(node) {
  let stack = foldedStacks.get(node);
  if (!stack) {
    const frames = framesTo(node), inner = frames.findIndex((f) => model.frames[f].own);
    const within = frames.slice(0, inner < 0 ? 1 : inner);
    stack = frames.filter((f) => model.frames[f].own);
    if (within.length) stack.unshift(foldedFrame(calledAs(within)));
    foldedStacks.set(node, stack);
  }
  return stack;
}

// All folded frames have the same numbers whenever the page is opened: the address has them.
if (data.own) for (let n = 1; n < model.count; n++) foldedStack(n);

// addFolded adds stacks in the order in which they are drawn; "self" is of the innermost frame.
function addFolded(tree, root, values, total, self) {
  for (const [node, v] of values) {
    const frames = framesOf(node);
    let at = root;
    frames.forEach((f, i) => {
      at = tree.child(at, f);
      if (i === (choice.inverted ? 0 : frames.length - 1)) self[at] += v;
    });
    total[at] += v;
  }
}

// oftenText says whether an own function calls a library often, if nothing narrows the selection: it is of all of it.
function oftenText(caller, library) {
  if (choice.range || choice.thread || choice.state !== "all" || choice.focus >= 0 || choice.zoom) return "";
  return data.often?.[`${caller} ${library}`] ?? "";
}

// withFolds keeps own functions, and says of each in which libraries its time was; "outside" has the rest.
function withFolds(rows, groups) {
  const of = new Map(), all = [...groups.values()].reduce((sum, values) => [...values.values()].reduce((a, b) => a + b, sum), 0);
  for (const values of groups.values()) for (const [node, v] of values) {
    const [first, caller = -1] = foldedStack(node);
    if (first === undefined || model.frames[first].own) continue;
    if (!of.has(caller)) of.set(caller, new Map());
    of.get(caller).set(first, (of.get(caller).get(first) || 0) + v);
  }
  const text = (caller) => [...(of.get(caller) || [])].sort((a, b) => b[1] - a[1]).filter(([, v]) => v * 100 >= all).slice(0, 3)
    .map(([f, v]) => [model.frames[f].name.slice("…in ".length), v])
    .map(([library, v]) => `${library} (${share(v, all)})${oftenText(caller, library)}`).join(", ");
  const kept = rows.filter((r) => r.info.own).map((r) => ({ ...r, folds: text(r.frame) }));
  return Object.assign(kept, { outside: text(-1) });
}
