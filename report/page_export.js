// SPDX-License-Identifier: Apache-2.0
"use strict";
// What is seen, for others: on paper, as a picture, and as folded stacks.

const paperWidth = 718; // of A4 within margins of 10 mm, in CSS pixels
const paperRows = 40;
const onPaper = () => document.documentElement.classList.contains("paper");

// escaped is text for XML, which has no control characters and no halves of characters, as a cut name or the search can
// have.
const escaped = (s) => s.replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd").replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// SVGContext writes what is drawn on it as elements. Colours become those that any reader of SVG knows.
class SVGContext {
  constructor() { this.parts = []; this.globalAlpha = 1; this.colours = document.createElement("canvas").getContext("2d"); }
  set fillStyle(colour) { this.colours.fillStyle = colour; }
  fill() { return `fill="${this.colours.fillStyle}"${this.globalAlpha < 1 ? ` fill-opacity="${this.globalAlpha}"` : ""}`; }
  fillRect(x, y, w, h) { this.parts.push(`<rect x="${x.toFixed(1)}" y="${y}" width="${w.toFixed(1)}" height="${h}" ${this.fill()}/>`); }
  fillText(text, x, y) { this.parts.push(`<text x="${x.toFixed(1)}" y="${y + 4}" ${this.fill()}>${escaped(text)}</text>`); }
  strokeRect() { /* the box below the pointer is not marked */ }
}

// svgOf gives the whole graph as it is drawn, below lines of text, in light colours.
function svgOf(width, lines) {
  const ctx = new SVGContext(), { rects, tree } = graph, root = document.documentElement, light = root.classList.contains("light");
  const about = (n, last) => ctx.parts.push(`<g><title>${escaped(last === n ? tree.info(n).name : runName(n, last))}: ${part(tree.total[n], tree.total[0])}, ${share(tree.total[n], tree.total[0])}</title>`);
  root.classList.add("light");
  ctx.fillStyle = cssColour("text");
  lines.forEach((line, i) => ctx.fillText(line, 4, i * rowHeight + 9));
  const top = lines.length * rowHeight;
  paint({ ctx, height: Infinity, top: -top, char: 7.3, about, done: () => ctx.parts.push("</g>") }, width);
  const height = Math.max(2 * rowHeight, ...graph.rects.map((r) => r.y + rowHeight));
  root.classList.toggle("light", light);
  graph.rects = rects;
  const namespace = document.createRange().createContextualFragment("<svg></svg>").firstChild.namespaceURI;
  return `<svg xmlns="${namespace}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-size="12" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">
<rect width="100%" height="100%" fill="#ffffff"/>
${ctx.parts.join("\n")}
</svg>
`;
}

// seenText says what the graph shows, for a reader who has the picture alone.
function seenText() {
  const span = (r) => r.map(writeTime).join(" to ");
  const parts = [data.types[choice.value][0], choice.inverted ? "callers of the innermost functions" : "", choice.range ? span(choice.range) : "",
    choice.thread && `only ${choice.thread}`, choice.state !== "all" && `only ${choice.state}`, choice.focus >= 0 && `only stacks with ${model.frames[choice.focus].name}`,
    folds() && "own functions", choice.zoom > 0 && "zoomed", graph.test && `${choice.search}: ${byId("found").textContent}`,
    choice.hidden.length > 0 && `without ${choice.hidden.map((f) => model.frames[f].name).join(", ")}`,
    model.diff && "+ slower (red), − faster (blue), ≈ not significant (grey)", choice.other && `compared with ${span(choice.other)}: + took more, − less, ≈ may be chance`];
  return [`${data.title}: ${parts.filter(Boolean).join(" · ")}`, byId("totals").textContent];
}

// foldedText has a line for each stack that is seen: that the zoom and the search leave, of frames as they are drawn. A
// comparison has two values, the earlier or the other one first.
function foldedText() {
  const lines = new Map(), shown = zoomTest(), found = graph.test && foundNodes(), plain = (name) => name.replaceAll(";", ":");
  const sides = graph.others ? [graph.others, graph.groups] : [graph.groups];
  if (choice.value === model.type("old")) sides.reverse();
  sides.forEach((groups, side) => {
    for (const [group, values] of groups) for (const [node, v] of values) {
      if (!shown(group, node) || (found && !found[node])) continue;
      const line = [...(group === null ? [] : [group]), ...framesOf(node).map((f) => model.frames[f].name)].map(plain).join(";");
      if (!lines.has(line)) lines.set(line, sides.map(() => 0));
      lines.get(line)[side] += v;
    }
  });
  return [...lines].map(([line, sums]) => `${line} ${sums.map(Math.round).join(" ")}\n`).sort().join("");
}

function save(text, type, ending) {
  const url = URL.createObjectURL(new Blob([text], { type })), name = data.title.replace(/[^\w.-]+/g, "_").slice(0, 80) || "prywalk";
  element("a", "", { href: url, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60e3); // the browser reads it first
}

const saveSVG = () => save(svgOf(Math.max(600, graph.view.clientWidth), seenText()), "image/svg+xml", "svg");
const saveFolded = () => save(foldedText(), "text/plain", "folded");

// setPaper lays the page out for paper, of which a canvas is a picture, or for the screen again.
function setPaper(on) {
  document.documentElement.classList.toggle("paper", on);
  document.documentElement.classList.toggle("light", on);
  const flame = on && choice.view === "flame";
  byId("paper").replaceChildren(...(flame ? [new DOMParser().parseFromString(svgOf(paperWidth, []), "image/svg+xml").documentElement] : []));
  const { limit } = sorting;
  if (on) sorting.limit = Math.min(limit, paperRows);
  functions();
  sorting.limit = limit;
  drawOverview();
  drawTracks();
}

addEventListener("beforeprint", () => setPaper(true));
addEventListener("afterprint", () => setPaper(false));
