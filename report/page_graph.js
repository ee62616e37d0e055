// SPDX-License-Identifier: Apache-2.0
// The flame graph: a canvas as large as its window, drawn anew when that scrolls, so
// that neither depth nor width of a graph costs memory.
const rowHeight = 19;

const graph = {
  canvas: document.getElementById("graph"),
  view: document.getElementById("view"),
  space: document.getElementById("space"),
  tree: null, rects: [], hover: -1, test: null,
  groups: null, others: null, // the values that the tree is of, by group and node
  rows: [], // the selected rows
  whole: 0, // the chosen value of all stacks, whatever is selected of them
};

function hash(s) {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return h >>> 0;
}

const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

// isDark: paper and pictures for other programs are light.
const isDark = () => darkQuery.matches && !document.documentElement.classList.contains("light");

// colour is by module, with some variation by function.
function colour(f) {
  const dark = isDark();
  if (f.synthetic) return dark ? "hsl(215 8% 32%)" : "hsl(215 12% 84%)";
  const h = hash(f.name), hue = (hash(f.module || "none") * 0.618034 + (h >>> 8) % 44) % 360, shade = h % 9;
  return dark ? `hsl(${hue} 34% ${30 + shade}%)` : `hsl(${hue} 62% ${72 + shade}%)`;
}

// changeOf gives what a box is in the earlier and the later recording.
function changeOf(n) {
  const { tree } = graph, shown = tree.total[n], other = tree.base[n];
  return choice.value === model.type("old") ? { was: shown, is: other } : { was: other, is: shown };
}

// changeSign is 1 for a box that surely took more, -1 for less, 0 for what chance explains.
function changeSign(n) {
  const { was, is } = changeOf(n), by = is - was, of = (which) => changes.verdict(graph.tree.frame[n], which, by);
  const sure = model.diff ? of(0) || (of(1) ?? changes.sure(is, was, model.diff.boxes)) : changes.sureInTime(is, was);
  return sure ? Math.sign(by) : 0;
}

// heat is the colour of a change: red is slower, blue is faster, grey what chance explains.
function heat(n, sign = changeSign(n)) {
  const dark = isDark(), { was, is } = changeOf(n), by = is - was;
  if (!sign) return dark ? "hsl(215 6% 34%)" : "hsl(215 8% 86%)";
  const part = Math.min(1, Math.sqrt(Math.abs(by) / Math.max(is, was)));
  return `hsl(${by > 0 ? 8 : 212} ${40 + 45 * part}% ${dark ? 30 + 16 * part : 88 - 26 * part}%)`;
}

// leastRun is from how many boxes on a run of single children is drawn as one.
const leastRun = 3;

// runEnd gives the last node of the run of single children that a node begins, if it is long enough; else the node. What
// the search has found is not hidden in a run.
function runEnd(n) {
  if (!choice.folded || folds() || n === 0) return n;
  const { tree, test } = graph, found = (i) => test && tree.frame[i] >= 0 && test(tree.info(i));
  let last = n, length = found(n) ? -Infinity : 1;
  for (let c = tree.children[n]; c.length === 1; c = tree.children[last]) {
    const same = tree.total[c[0]] === tree.total[n] && tree.base[c[0]] === tree.base[n];
    if (!same || found(c[0])) break;
    last = c[0];
    length++;
  }
  return length >= leastRun ? last : n;
}

// runOf lists a run's nodes from its first to its last.
function runOf(n) {
  const run = [], last = runEnd(n);
  for (let i = last; i !== n; i = graph.tree.parent[i]) run.push(i);
  return [n, ...run.reverse()];
}

// depthBelow gives the number of levels that can be seen below a node: those wide
// enough for a pixel.
function depthBelow(root) {
  const { tree } = graph, least = tree.total[root] / Math.max(1, graph.view.clientWidth);
  let deepest = 0;
  const todo = [[root, 0]];
  while (todo.length) {
    const [n, d] = todo.pop();
    deepest = Math.max(deepest, d);
    for (const c of tree.children[n]) if (tree.total[c] >= least) todo.push([runEnd(c), d + 1]);
  }
  return deepest;
}

function ancestors(n) {
  const path = [];
  for (; n >= 0; n = graph.tree.parent[n]) path.push(n);
  return path.reverse();
}

// layout sizes the scrolled space for the present zoom.
function layout() {
  const levels = ancestors(choice.zoom).length + depthBelow(choice.zoom);
  graph.space.style.height = levels * rowHeight + 2 + "px";
  draw();
}

function resizeCanvas() {
  const { canvas, view } = graph, dpr = window.devicePixelRatio || 1;
  const w = view.clientWidth, h = view.clientHeight;
  canvas.style.height = h + "px";
  if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
    canvas.width = Math.round(w * dpr);
    canvas.height = Math.round(h * dpr);
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.clearRect(0, 0, w, h);
  return { ctx, w, h };
}

function draw() {
  const { ctx, w, h } = resizeCanvas();
  ctx.font = `12px ${cssColour("mono")}`;
  ctx.textBaseline = "middle";
  paint({ ctx, height: h, top: graph.view.scrollTop, char: ctx.measureText("0").width }, w);
}

// paint draws the rows of boxes from pen.top to pen.height below that: on the screen, or into a file.
function paint(pen, w) {
  Object.assign(pen, { text: cssColour("text"), mark: cssColour("mark"), panel: cssColour("panel") });
  graph.rects = [];
  if (!graph.tree.total[0]) {
    pen.ctx.fillStyle = pen.text;
    pen.ctx.fillText("No samples: choose another value, filter or part of the time.", 12, 22);
    return;
  }
  const path = ancestors(choice.zoom);
  path.forEach((n, depth) => box(pen, n, 0, w, depth, n !== choice.zoom, true));
  below(pen, choice.zoom, w, path.length);
}

// below draws what a node called, as far as it can be seen.
function below(pen, root, width, depth) {
  const { tree } = graph, scale = width / tree.total[root];
  const todo = [[root, 0, depth]];
  while (todo.length) {
    const [n, x0, d] = todo.pop();
    if (d * rowHeight > pen.top + pen.height) continue;
    let x = x0;
    for (const c of tree.children[n]) {
      const w = tree.total[c] * scale;
      if (w < 0.4) break; // children are sorted: none of the others is wider
      box(pen, c, x, w, d, false);
      todo.push([runEnd(c), x, d + 1]);
      x += w;
    }
  }
}

// box draws a node, or the run that it begins; single: the node alone.
function box(pen, n, x, w, depth, faint, single) {
  const y = depth * rowHeight - pen.top;
  if (y + rowHeight < 0 || y > pen.height) return;
  const { ctx } = pen, f = graph.tree.info(n), hit = graph.test && graph.tree.frame[n] >= 0 && graph.test(f);
  const last = single ? n : runEnd(n), compared = graph.others && n > 0, sign = compared ? changeSign(n) : 0;
  graph.rects.push({ n, x, y, w, last });
  pen.about?.(n, last);
  ctx.globalAlpha = faint || (graph.test && !hit) ? 0.42 : 1;
  ctx.fillStyle = hit ? pen.mark : compared ? heat(n, sign) : colour(f);
  const gap = w > 3 ? 1 : 0;
  ctx.fillRect(x, y, w - gap, rowHeight - 1);
  ctx.globalAlpha = faint ? 0.6 : 1;
  const room = Math.floor((w - 8) / pen.char), mark = compared ? signs[sign + 1] : "";
  if (room > mark.length) caption(pen, mark + (last === n ? shorten(f.name, room - mark.length) : runName(n, last, room - mark.length)), x, y, hit);
  ctx.globalAlpha = 1;
  if (n === graph.hover) {
    ctx.strokeStyle = pen.text;
    ctx.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - gap - 1), rowHeight - 2);
  }
  pen.done?.();
}

const signs = ["− ", "≈ ", "+ "]; // what became of a box, said without a colour

// signOf is the sign of a box in a comparison.
const signOf = (n) => (graph.others && n ? signs[changeSign(n) + 1] : "");

// runName is what stands in the box of a run: of little room, its first and last names cut, or the first alone.
function runName(n, last, room = Infinity) {
  const { tree } = graph, calls = ` (${runOf(n).length} calls)`, half = (room - calls.length - 3) / 2;
  if (half < 8) return shorten(tree.info(n).name, room - 2) + " …";
  return `${shorten(tree.info(n).name, Math.max(half, room - calls.length - 3 - tree.info(last).name.length))} … ${shorten(tree.info(last).name, half)}${calls}`;
}

// shorten fits a name into so many characters as the terminal's tables do: without arguments, then without outer names. What is
// too long then is cut at its end.
function shorten(full, room) {
  let name = full;
  if (name.length > room) name = name.replace(/([^\s.:(])\((?:[^()]|\([^()]*\))*\)(?: const)?[ &]*$/, "$1(…)");
  if (name.length > room) {
    const parts = nameParts(name), fits = parts.find((at) => name.length - at < room) ?? parts.at(-1) ?? 0;
    name = fits && name.length - fits < room ? "…" + name.slice(fits) : name.slice(fits);
  }
  return name.length <= room ? name : room < (name[0] === "…" ? 4 : 2) ? "" : name.slice(0, room - 1) + "…";
}

// nameParts are the places after dots, colons and slashes outside of brackets, at which an inner name begins.
function nameParts(name) {
  const at = [];
  let depth = 0;
  for (let i = 1; i < Math.min(name.length, 4096); i++) {
    const c = name[i - 1];
    if ("(<{[".includes(c)) depth++;
    else if (")>}]".includes(c)) depth = Math.max(0, depth - 1);
    else if (depth === 0 && ".:/".includes(c) && /[\p{L}_~(]/u.test(name[i])) at.push(i);
  }
  return at;
}

// caption writes a name that fits.
function caption(pen, name, x, y, hit) {
  if (name.length < 2) return;
  pen.ctx.fillStyle = hit ? pen.panel : pen.text;
  pen.ctx.fillText(name, x + 4, y + rowHeight / 2);
}

// nodeAt gives the node that is drawn at a place of the canvas, -1 if there is none.
function nodeAt(event) { return rectAt(event)?.n ?? -1; }

// rectAt finds what is drawn at a place of the canvas.
function rectAt(event) {
  const at = graph.canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
  return graph.rects.find((r) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + rowHeight);
}

// foundNodes tells for each node whether the search matches a frame on the path to it, also what is folded.
function foundNodes() {
  const hit = model.frames.map(graph.test), found = new Uint8Array(model.count);
  for (let i = 1; i < model.count; i++) found[i] = hit[model.frame[i]] || found[model.parent[i]] ? 1 : 0;
  return found;
}

// foundValue adds up the stacks that the search matches.
function foundValue() {
  const found = foundNodes();
  let sum = 0;
  for (const values of graph.groups.values()) for (const [node, v] of values) if (found[node]) sum += v;
  return sum;
}
