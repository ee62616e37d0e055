// The flame graph: a canvas as large as its window, drawn anew when that scrolls, so
// that neither depth nor width of a graph costs memory.
const rowHeight = 19;

const graph = {
  canvas: document.getElementById("graph"),
  view: document.getElementById("view"),
  space: document.getElementById("space"),
  tree: null, rects: [], hover: -1, test: null,
};

function hash(s) {
  let h = 2166136261;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
  return h >>> 0;
}

const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

// colour is by module, with some variation by function.
function colour(f) {
  const dark = darkQuery.matches;
  if (f.synthetic) return dark ? "hsl(215 8% 32%)" : "hsl(215 12% 84%)";
  const h = hash(f.name), hue = (hash(f.module || "none") * 0.618034 + (h >>> 8) % 44) % 360, shade = h % 9;
  return dark ? `hsl(${hue} 34% ${30 + shade}%)` : `hsl(${hue} 62% ${72 + shade}%)`;
}

// changeOf gives what a box is in the earlier and the later recording.
function changeOf(n) {
  const { tree } = graph, shown = tree.total[n], other = tree.base[n];
  return choice.value === model.type("old") ? { was: shown, is: other } : { was: other, is: shown };
}

// heat is the colour of a change: red is slower, blue is faster, grey what chance explains.
function heat(n) {
  const dark = darkQuery.matches, { was, is } = changeOf(n), by = is - was;
  if (!changes.sure(is, was, model.diff.beyond)) return dark ? "hsl(215 6% 34%)" : "hsl(215 8% 86%)";
  const part = Math.min(1, Math.sqrt(Math.abs(by) / Math.max(is, was)));
  return `hsl(${by > 0 ? 8 : 212} ${40 + 45 * part}% ${dark ? 30 + 16 * part : 88 - 26 * part}%)`;
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
    for (const c of tree.children[n]) if (tree.total[c] >= least) todo.push([c, d + 1]);
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
  const { tree, view } = graph, { ctx, w, h } = resizeCanvas();
  const style = getComputedStyle(document.documentElement);
  const pen = {
    ctx, height: h, top: view.scrollTop, text: style.getPropertyValue("--text"), mark: style.getPropertyValue("--mark"),
    panel: style.getPropertyValue("--panel"), line: style.getPropertyValue("--text"),
  };
  ctx.font = `12px ${style.getPropertyValue("--mono")}`;
  ctx.textBaseline = "middle";
  pen.char = ctx.measureText("0").width;
  graph.rects = [];
  if (!tree.total[0]) {
    ctx.fillStyle = pen.text;
    ctx.fillText("Nothing here: choose another value or filter.", 12, 22);
    return;
  }
  const path = ancestors(choice.zoom);
  path.forEach((n, depth) => box(pen, n, 0, w, depth, n !== choice.zoom));
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
      todo.push([c, x, d + 1]);
      x += w;
    }
  }
}

function box(pen, n, x, w, depth, faint) {
  const y = depth * rowHeight - pen.top;
  if (y + rowHeight < 0 || y > pen.height) return;
  const { ctx } = pen, f = graph.tree.info(n), hit = graph.test && graph.tree.frame[n] >= 0 && graph.test(f);
  graph.rects.push({ n, x, y, w });
  ctx.globalAlpha = faint || (graph.test && !hit) ? 0.42 : 1;
  ctx.fillStyle = hit ? pen.mark : model.diff && n ? heat(n) : colour(f);
  const gap = w > 3 ? 1 : 0;
  ctx.fillRect(x, y, w - gap, rowHeight - 1);
  ctx.globalAlpha = faint ? 0.6 : 1;
  caption(pen, f, x, y, w, hit);
  ctx.globalAlpha = 1;
  if (n === graph.hover) {
    ctx.strokeStyle = pen.line;
    ctx.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - gap - 1), rowHeight - 2);
  }
}

// caption writes as much of a name as fits.
function caption(pen, f, x, y, w, hit) {
  const fit = Math.floor((w - 8) / pen.char);
  if (fit < 3) return;
  const name = f.name.length > fit ? f.name.slice(0, fit - 1) + "…" : f.name;
  pen.ctx.fillStyle = hit ? pen.panel : pen.text;
  pen.ctx.fillText(name, x + 4, y + rowHeight / 2);
}

// nodeAt finds what is drawn at a place of the canvas.
function nodeAt(event) {
  const at = graph.canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
  const r = graph.rects.find((r) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + rowHeight);
  return r ? r.n : -1;
}

// foundValue adds up what the search matches, each path once.
function foundValue() {
  const { tree, test } = graph;
  let sum = 0;
  const todo = [0];
  while (todo.length) {
    const n = todo.pop();
    if (tree.frame[n] >= 0 && test(tree.info(n))) { sum += tree.total[n]; continue; }
    for (const c of tree.children[n]) todo.push(c);
  }
  return sum;
}
