// SPDX-License-Identifier: Apache-2.0
"use strict";
// The tracks: what each thread did over the selected time. Threads of one process whose names differ in numbers only are
// one track that can be opened; those with one stack for most of the recording are apart from the others.

const tracks = { open: new Set(), limit: 60, shown: [] };
const fewThreads = 24; // so many have a track each
const fewAlike = 5; // so do fewer of one name

function put(groups, key, thread) {
  if (!groups.has(key)) groups.set(key, { key, threads: [] });
  groups.get(key).threads.push(thread);
}

// trackGroups are lists of threads.
const trackGroups = (() => {
  if (!times) return [];
  const alone = (t) => ({ key: String(t), threads: [t] });
  if (times.of.size <= fewThreads) return [...times.of.keys()].map(alone);
  const groups = new Map(), others = new Map();
  for (const [thread, [from, to]] of times.of) {
    const t = model.threads[thread], walls = new Map();
    let wall = 0, most = 0, stack = 0;
    for (let i = from; i < to; i++) {
      const node = times.nodes[times.row[i]], v = times.values[i * times.types + times.wall];
      const sum = (walls.get(node) || 0) + v;
      walls.set(node, sum);
      wall += v;
      if (sum > most) { most = sum; stack = node; }
    }
    put(groups, `${t.pid} ${stem(t)} ${most >= 0.99 * wall && 2 * wall >= times.to - times.from ? stack : ""}`, thread);
  }
  // Those of a name that share their stack with few others are one track, if they are not few themselves.
  for (const g of groups.values()) {
    if (g.threads.length >= fewAlike) continue;
    groups.delete(g.key);
    for (const t of g.threads) put(others, `${model.threads[t].pid} ${stem(model.threads[t])}`, t);
  }
  const single = (g) => (g.threads.length < fewAlike ? g.threads.map(alone) : [g]);
  return [...groups.values(), ...[...others.values()].flatMap(single)];
})();

const shownRange = () => choice.range || [times.from, times.to];

// trackSums are the parts of the shown time that a track's threads spent in each class.
function trackSums(threads) {
  const bins = new Bins(shownRange(), 1, classes.length);
  for (const t of threads) addTo(bins, ...times.of.get(t));
  return bins.finish().sums.map((s) => s[0]);
}

function trackName(track) {
  const first = model.threads[track.threads[0]];
  return track.threads.length === 1 ? threadName(first) : `${stem(first)} × ${track.threads.length}`;
}

// trackLabel is a track's name in two parts: the name, which may be cut, and the thread's number or how many there are.
function trackLabel(track) {
  const full = trackName(track), end = / (\(\d+\)|× \d+)$/.exec(full), name = end ? full.slice(0, end.index) : full;
  return [element("span", shorten(name, 30)), ...(end ? [element("span", end[0].slice(1))] : [])];
}

// trackThread is what the address says of a track.
const trackThread = (track) => (track.threads.length === 1 ? threadName(model.threads[track.threads[0]]) : stem(model.threads[track.threads[0]]));

function showTracks() {
  byId("threads").hidden = !times || choice.view !== "tracks";
  if (byId("threads").hidden) return;
  const list = [];
  for (const g of trackGroups) {
    const wanted = (t) => (!choice.threads || choice.threads[t]) && (!graph.test || !threadsMatch() || graph.test({ name: threadName(model.threads[t]), module: "" }));
    const threads = g.threads.filter(wanted);
    if (!threads.length) continue;
    const add = (threads, inner) => list.push({ key: g.key, threads, inner, many: !inner && g.threads.length > 1, sums: trackSums(threads) });
    add(threads, false);
    if (tracks.open.has(g.key) && g.threads.length > 1) list.at(-1).children = threads.map((t) => ({ key: g.key, threads: [t], inner: true, sums: trackSums([t]) })).sort(byTime);
  }
  list.sort(byTime);
  const all = list.flatMap((t) => [t, ...(t.children || [])]), shown = all.slice(0, tracks.limit);
  tracks.shown = shown;
  byId("tlist").replaceChildren(...shown.map(trackRow));
  byId("tmore").hidden = all.length <= shown.length;
  byId("tcount").textContent = `${times.of.size} in ${trackGroups.length} tracks${all.length > shown.length ? `, first ${shown.length} shown` : ""}; a click on a name selects, a drag zooms in time`;
  drawTracks();
}

// byTime: CPU time first, then the queue's, then what is blocked within work.
const within = (t) => t.sums.reduce((sum, v, i) => sum + (["cpu", "queue", "idle", "timer"].includes(classes[i].id) ? 0 : v), 0);
const byTime = (a, b) => b.sums[0] - a.sums[0] || b.sums[1] - a.sums[1] || within(b) - within(a) || a.threads[0] - b.threads[0];

// threadsMatch: the search is of threads if it matches one of them.
const threadsMatch = () => graph.test && model.threads.some((t) => graph.test({ name: threadName(t), module: "" }));

function trackRow(track) {
  const row = element("div", undefined, { class: "track" + (track.inner ? " inner" : ""), "data-thread": trackThread(track) });
  const selected = choice.thread === trackThread(track);
  const opener = element("button", track.many ? (tracks.open.has(track.key) ? "▾" : "▸") : "", { type: "button", class: "opener", "aria-label": "show each thread" });
  opener.disabled = !track.many;
  opener.addEventListener("click", () => { if (!tracks.open.delete(track.key)) tracks.open.add(track.key); showTracks(); });
  const name = element("button", undefined, { type: "button", class: "name", "aria-pressed": String(selected), title: `${trackName(track)}, ${processName(model.threads[track.threads[0]])}` });
  name.append(...trackLabel(track));
  name.addEventListener("click", () => { choice.thread = selected ? "" : trackThread(track); refresh(); });
  const canvas = element("canvas", undefined, { role: "img", "aria-label": `${trackName(track)}: ${sumsText(track.sums)}` });
  dragOn(canvas, shownRange, () => {});
  canvas.addEventListener("mousemove", (e) => trackTip(track, canvas, e));
  canvas.addEventListener("mouseleave", () => { byId("tip").hidden = true; });
  track.canvas = canvas;
  row.append(opener, name, canvas, element("span", sumsText(track.sums), { class: "what" }));
  return row;
}

// sumsText names the two classes with most time.
function sumsText(sums) {
  const all = sums.reduce((a, b) => a + b, 0), most = sums.map((v, i) => [v, i]).filter(([v]) => v > 0.005 * all).sort((a, b) => b[0] - a[0]);
  return most.length ? most.slice(0, 2).map(([v, i]) => `${Math.round((100 * v) / all)}% ${classes[i].id}`).join(", ") : "not observed";
}

function drawTracks() {
  if (!times || byId("threads").hidden) return;
  const range = shownRange(), colours = classes.map((c) => cssColour(c.id)), height = 18;
  const width = tracks.shown[0]?.canvas.clientWidth || 0;
  if (!width) return;
  const scale = byId("taxis"), ctx = sizedCanvas(scale, width, 16);
  scale.style.width = width + "px";
  scale.style.marginLeft = tracks.shown[0].canvas.offsetLeft + "px";
  axis(ctx, range, width, 12, cssColour("soft"));
  for (const track of tracks.shown) {
    const pen = sizedCanvas(track.canvas, width, height), bins = new Bins(range, Math.floor(width), classes.length);
    for (const t of track.threads) addTo(bins, ...times.of.get(t));
    bins.finish();
    // Threads that come and go are as high together as the most of them at one time.
    const full = track.threads.length === 1 ? bins.width : Math.max(bins.width, ...bins.sums[0].subarray(0, bins.n).map((_, i) => bins.sums.reduce((sum, of) => sum + of[i], 0)));
    for (let i = 0; i < bins.n; i++) {
      let y = height;
      for (let c = 0; c < classes.length; c++) {
        const h = Math.min(y, (height * bins.sums[c][i]) / full);
        if (h < 0.05) continue;
        pen.fillStyle = colours[c];
        pen.fillRect(i, y - h, 1.05, h);
        y -= h;
      }
    }
  }
}

// intervalAt gives a thread's interval at a time, -1 if there is none.
function intervalAt(thread, t) {
  const [from, to] = times.of.get(thread) || [0, 0];
  for (let i = from; i < to; i++) if (times.begin[i] <= t && t < times.end[i]) return i;
  return -1;
}

const stackOf = (node) => { const names = []; for (let n = node; n !== 0; n = model.parent[n]) names.push(model.frames[model.frame[n]].name); return names; };

// trackTip says what a thread did at a moment: its state, what it waited for, its stack.
function trackTip(track, canvas, event) {
  const t = timeAt(canvas, shownRange(), event), box = byId("tip"), lines = [element("b", `${trackName(track)} at ${writeTime(Math.round(t / 1e5) * 1e5)}`)];
  const i = track.threads.length === 1 ? intervalAt(track.threads[0], t) : -1;
  if (i >= 0) {
    const c = model.contexts[times.contexts[times.row[i]]], v = (k) => show(times.values[i * times.types + k], k);
    lines.push(element("div", `${c.wait || c.state || "running"} for ${show(times.end[i] - times.begin[i], times.wall)}: CPU ${v(times.cpu)}, queued ${v(times.queue)}` + (times.blocked < 0 ? "" : `, blocked ${v(times.blocked)}`)));
    if (c.owner) lines.push(element("div", ownerText(c, 1, ownerThread(c, t, t))));
    for (const name of stackOf(times.nodes[times.row[i]]).slice(0, 14)) lines.push(element("div", name));
  } else lines.push(element("div", track.threads.length === 1 ? "not observed" : sumsText(track.sums)));
  box.replaceChildren(...lines);
  place(box, event);
}

function startTracks() {
  byId("tmore").addEventListener("click", () => { tracks.limit *= 4; showTracks(); });
  for (const c of classes) byId("legend").append(legendOf(c));
  new ResizeObserver(drawTracks).observe(byId("tlist"));
}
