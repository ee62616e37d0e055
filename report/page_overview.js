// SPDX-License-Identifier: Apache-2.0
"use strict";
// The overview: threads on a CPU and queued over time, below it the heat of the chosen clock; a drag selects.

const overview = { canvas: byId("overview"), drag: null, bins: null, of: null };
const barHeight = 44, heatHeight = 12;

// cssColour gives a colour, or another property, of the present theme.
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// sizedCanvas sets a canvas to its size on the screen and gives its context.
function sizedCanvas(canvas, w, h) {
  const dpr = Math.max(onPaper() ? 3 : 1, window.devicePixelRatio || 1);
  if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
    canvas.width = Math.round(w * dpr);
    canvas.height = Math.round(h * dpr);
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.clearRect(0, 0, w, h);
  return ctx;
}

// overviewBins are of all times, and of the chosen threads.
function overviewBins(n) {
  const key = `${n} ${choice.thread}`;
  if (overview.of === key) return overview.bins;
  const bins = new Bins([times.from, times.to], n, classes.length);
  for (const [thread, [from, to]] of times.of) if (!choice.threads || choice.threads[thread]) addTo(bins, from, to);
  overview.of = key;
  return (overview.bins = bins.finish());
}

const timeAt = (canvas, range, event) => {
  const r = canvas.getBoundingClientRect();
  return range[0] + (range[1] - range[0]) * Math.max(0, Math.min(1, (event.clientX - r.left) / r.width));
};

// niceStep is the distance of marks on an axis.
function niceStep(length, most) {
  for (let step = 1e3; ; step *= 10) for (const by of [1, 2, 5]) if (length / (step * by) <= most) return step * by;
}

function drawOverview() {
  if (!times) return;
  const { canvas } = overview, w = canvas.clientWidth, h = barHeight + heatHeight + 16;
  if (!w) return;
  const ctx = sizedCanvas(canvas, w, h), n = Math.max(50, Math.floor(w)), bins = overviewBins(n), [cpu, queue] = bins.sums;
  const text = cssColour("soft"), x = (ns) => (w * (ns - times.from)) / (times.to - times.from);
  let most = 0;
  for (let i = 0; i < n; i++) most = Math.max(most, cpu[i] + queue[i]);
  const clock = data.types[choice.value][0], heatOf = { cpu: [0], runqueue: [1], wall: classes.keys().toArray(), samples: classes.keys().toArray() }[clock] || [...classes.keys()].slice(2);
  const heat = new Float64Array(n);
  for (const c of heatOf) for (let i = 0; i < n; i++) heat[i] += bins.sums[c][i];
  const hottest = Math.max(1, ...heat), colours = classes.map((c) => cssColour(c.id)), heatColour = cssColour({ cpu: "cpu", runqueue: "queue" }[clock] || "lock");
  byId("heat-legend").textContent = ` · below: ${clock}, darker is more`;
  for (let i = 0; i < n; i++) {
    const a = (barHeight * cpu[i]) / (most || 1), b = (barHeight * queue[i]) / (most || 1), x0 = (i * w) / n, x1 = w / n + 0.3;
    ctx.fillStyle = colours[0]; ctx.fillRect(x0, barHeight - a, x1, a);
    ctx.fillStyle = colours[1]; ctx.fillRect(x0, barHeight - a - b, x1, b);
    ctx.globalAlpha = Math.sqrt(heat[i] / hottest); // small parts are seen as well
    ctx.fillStyle = heatColour; ctx.fillRect(x0, barHeight + 2, x1, heatHeight - 2);
    ctx.globalAlpha = 1;
  }
  axis(ctx, [times.from, times.to], w, h - 5, text);
  ctx.fillStyle = text;
  ctx.fillText(`${(most / bins.width).toFixed(1)} threads`, 4, 11);
  for (const [range, name] of [[choice.range, ""], [choice.other, "compared"], [overview.drag?.range, ""]]) {
    if (!range) continue;
    ctx.fillStyle = name ? cssColour("mark") : cssColour("accent");
    ctx.globalAlpha = 0.16; ctx.fillRect(x(range[0]), 0, x(range[1]) - x(range[0]), barHeight + heatHeight);
    ctx.globalAlpha = 1;
    for (const t of range) ctx.fillRect(x(t) - 0.75, 0, 1.5, barHeight + heatHeight);
    if (name) ctx.fillText(name, x(range[0]) + 4, 11);
  }
}

// axis writes times below a picture.
function axis(ctx, range, w, y, colour) {
  ctx.fillStyle = colour;
  ctx.font = "10.5px system-ui, sans-serif";
  const step = niceStep(range[1] - range[0], Math.max(2, w / 90));
  for (let t = Math.ceil(range[0] / step) * step; t <= range[1]; t += step) {
    const at = (w * (t - range[0])) / (range[1] - range[0]), s = writeTime(t);
    if (at + ctx.measureText(s).width + 3 > w) break;
    ctx.fillRect(at, y - 10, 1, 4);
    ctx.fillText(s, at + 3, y);
  }
}

// selectTime selects a part of the time, null for all.
function selectTime(range, other) {
  const part = range && onGrid(range);
  if (other) choice.other = part;
  else choice.range = part;
  if (!choice.range) choice.other = null;
  refresh();
}

// dragOn lets a drag on a canvas select a part of the time that it shows. A click is what moved by less than 4 pixels.
function dragOn(canvas, shown, click) {
  canvas.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    overview.drag = { start: timeAt(canvas, shown(), e), x: e.clientX, range: null, other: e.shiftKey && !!choice.range };
    canvas.setPointerCapture(e.pointerId);
    e.preventDefault();
  });
  canvas.addEventListener("pointermove", (e) => {
    const { drag } = overview;
    if (!drag || !canvas.hasPointerCapture(e.pointerId) || (!drag.range && Math.abs(e.clientX - drag.x) < 4)) return;
    const t = timeAt(canvas, shown(), e);
    drag.range = onGrid([Math.min(t, drag.start), Math.max(t, drag.start)]);
    showRange();
    drawOverview();
  });
  const end = (e) => {
    const { drag } = overview;
    overview.drag = null;
    if (drag?.range) selectTime(drag.range, drag.other);
    else if (drag && e.type === "pointerup") click(e);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
}

// showRange says what is selected by time.
function showRange() {
  const range = overview.drag?.range || choice.range, near = (ns, [a, b]) => { const unit = 10 ** Math.max(0, Math.floor(Math.log10((b - a) / 1000))); return writeTime(Math.round(ns / unit) * unit); };
  const span = (r) => `${near(r[0], r)} to ${near(r[1], r)}`;
  const box = byId("range");
  if (!range) { box.replaceChildren(element("span", `all ${show(times.to - times.from, times.wall)}: drag over the picture, or press ← and →, to select a part`)); return; }
  box.replaceChildren(element("b", span(range)), element("span", ` (${show(range[1] - range[0], times.wall)})`));
  if (choice.other) box.append(element("span", ` compared with ${span(choice.other)} (${show(choice.other[1] - choice.other[0], times.wall)})`));
  else if (!overview.drag) box.append(element("small", " shift and drag: a part to compare with"));
  const all = element("button", "✕ all times", { type: "button" });
  all.addEventListener("click", () => selectTime(null));
  box.append(all);
}

// stepRange moves the selection with the arrow keys; with shift its end.
function stepRange(by, onlyEnd) {
  const length = times.to - times.from, [from, to] = choice.range || [times.from, times.from + length / 10], step = (to - from) / 2;
  if (!choice.range) { selectTime([from, to]); return; }
  const move = Math.max(times.from - from, Math.min(times.to - to, by * step));
  if (onlyEnd) selectTime([from, Math.max(from + Math.max(times.grid, 1e6), Math.min(times.to, to + by * step))]);
  else selectTime([from + move, to + move]);
}

function legendOf(c) {
  const entry = element("span");
  entry.append(element("i", "", { class: c.id }), c.text);
  return entry;
}

function startOverview() {
  byId("time").hidden = !times;
  if (!times) return;
  const legend = byId("times-legend");
  for (const c of classes.slice(0, 2)) legend.append(legendOf(c));
  legend.append(element("span", "", { id: "heat-legend" }));
  dragOn(overview.canvas, () => [times.from, times.to], () => selectTime(null));
  overview.canvas.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
    e.preventDefault();
    stepRange(e.key === "ArrowRight" ? 1 : -1, e.shiftKey);
  });
  new ResizeObserver(drawOverview).observe(overview.canvas);
}
