// SPDX-License-Identifier: Apache-2.0
// The controls around the graph. All text goes in as text, never as markup.
let table = { rows: [], total: 0 };
const sorting = { key: model.diff ? "change" : "self", down: true, limit: 200 };

// refresh computes everything anew after a choice other than zoom or search.
function refresh() {
  const way = choice.way ?? zoomPath();
  choice.way = null;
  choice.threads = threadTest(choice.thread);
  if (times) model.sums = choice.range ? sumsBetween(choice.range) : model.whole;
  const all = selfValues();
  graph.whole = [...all.values()].reduce((sum, m) => [...m.values()].reduce((a, v) => a + v, sum), 0);
  graph.groups = focused(all);
  graph.others = model.diff ? focused(selfValues(1 - choice.value)) : choice.other && comparedValues();
  graph.tree = buildTree(graph.groups, graph.others);
  choice.zoom = zoomAlong(way);
  graph.hover = -1;
  graph.view.scrollTop = 0;
  for (const v of views) {
    byId("view-" + v).setAttribute("aria-selected", String(v === choice.view));
    byId("view-" + v).tabIndex = v === choice.view ? 0 : -1;
  }
  const flame = choice.view === "flame";
  byId("view").hidden = !flame;
  byId("direction").hidden = !flame;
  byId("fold").hidden = !flame || folds();
  byId("save").hidden = !flame;
  byId("group").parentElement.hidden = !flame || model.contexts.length < 2;
  byId("own").hidden = !flame && choice.view !== "functions";
  byId("functions-section").hidden = !flame && choice.view !== "functions";
  if (flame) fit();
  tabulate();
  search();
  crumbs();
  if (times) { showRange(); drawOverview(); }
}

// comparedValues are those of the part of the time to compare with, as if it were as long as the selected one.
function comparedValues() {
  const here = model.sums, by = timesLonger();
  model.sums = sumsBetween(choice.other).map((v) => v * by);
  const groups = focused(selfValues());
  model.sums = here;
  return groups;
}

// zoomAlong finds the box of a path of frames again, as far as it is there: in its group, or in the largest that has all
// of it.
function zoomAlong({ path, group }) {
  const { tree } = graph, roots = choice.group === "none" ? [0] : tree.children[0].filter((n) => tree.frame[n] < -1);
  const named = roots.filter((n) => tree.info(n).name === group);
  for (const root of named.length ? named : path.length ? roots : []) {
    let n = root, found = 0;
    for (const f of path) {
      const next = tree.children[n].find((c) => tree.frame[c] === f);
      if (next === undefined) break;
      n = next;
      found++;
    }
    if (found === path.length || roots.length === 1 || named.length) return n;
  }
  return 0;
}

// turn draws callers in place of callees, or the reverse, and keeps the zoom: in callers of the zoomed box's function its
// callers, in callees the calls from the outermost one that is zoomed to.
function turn(inverted) {
  const { path, group } = zoomPath(), ends = graph.tree.children[choice.zoom].length === 0; // all its stacks begin here
  choice.inverted = inverted;
  if (!path.length) return;
  path.reverse();
  const first = inverted || !ends ? path[0] : -1;
  choice.focus = first >= 0 && isFold(first) ? -1 : first;
  choice.way = { path: !inverted && isFold(path[0]) ? [] : path, group };
}

// tabulate adds up what is selected.
function tabulate() {
  const groups = zoomed(graph.groups), others = graph.others && zoomed(graph.others);
  table = functionTable(groups);
  if (others) table = compared(table, functionTable(others));
  graph.rows = shownRows();
  showAround(groups);
  const box = byId("totals"), sums = totals();
  data.types.forEach(([name], i) => box.setAttribute("data-" + name.replace(/[^a-z0-9_-]/gi, "-"), String(sums[i])));
  box.textContent = totalsText(sums);
  byId("truth").textContent = truth();
}

// totalsText shows that the clocks add up.
function totalsText(sums) {
  const [cpu, queue, blocked, wall] = ["cpu", "runqueue", "blocked", "wall"].map((name) => sums[model.type(name)]);
  const named = data.types.map(([name], i) => [name, `${name} ${show(sums[i], i)}`]);
  if ([cpu, queue, blocked, wall].includes(undefined)) return named.map((n) => n[1]).join(" · ");
  const text = Object.fromEntries(named), rest = cpu + queue + blocked - wall;
  const others = named.filter(([name]) => !["cpu", "runqueue", "blocked", "wall"].includes(name)).map((n) => " · " + n[1]).join("");
  return `${text.cpu} + ${text.runqueue} + ${text.blocked} = ${text.wall}` + (rest > 0 ? ` + ${show(rest, model.type("cpu"))} of CPU time without wall time, of threads that ended unseen` : "") + others;
}

// truth says how far the selection can be believed: the rate, the stacks, the CPU time that was not observed.
function truth() {
  const [cpu, wall, samples] = ["cpu", "wall", "samples"].map(model.type), sum = { cpu: 0, wall: 0, samples: 0, incomplete: 0, unseen: 0 };
  if (cpu < 0 || wall < 0 || samples < 0) return "";
  for (const row of graph.rows) {
    const v = model.value(row, cpu);
    sum.cpu += v;
    if (!numbered || model.threads[model.contexts[row.context].thread].tid) { sum.wall += model.value(row, wall); sum.samples += model.value(row, samples); } // else a goroutine
    if (unseenNodes[row.node]) sum.unseen += v;
    else if (incompleteNodes[row.node]) sum.incomplete += v;
  }
  if (!sum.wall) return "";
  const rate = (sum.samples / sum.wall) * 1e9, sampled = sum.cpu - sum.unseen;
  const complete = Math.min(100 - (100 * sum.incomplete) / sampled, sum.incomplete ? 99.9 : 100);
  return `${rate.toFixed(rate < 10 ? 1 : 0)} looks a second and thread` + (sampled > 0 ? `; of the sampled CPU time ${complete.toFixed(1)}% has complete stacks` : "; no CPU time was sampled") +
    (sum.unseen ? `; ${show(sum.unseen, cpu)} of ${show(sum.cpu, cpu)} of CPU time has no sample` : "");
}

// Nodes below the mark of an incomplete stack, and those of time that no sample has.
const [incompleteNodes, unseenNodes] = [/^\[incomplete/, /^\[(not observed|exited unseen|short-lived children|ran between ticks|kernel)\]$/].map((name) => {
  const marked = new Uint8Array(model.count);
  for (let i = 1; i < model.count; i++) {
    const f = model.frames[model.frame[i]];
    marked[i] = marked[model.parent[i]] || (f.synthetic && name.test(f.name)) ? 1 : 0;
  }
  return marked;
});

// fit makes the graph as high as it needs, half of the window at most, unless the
// reader has dragged it to another height.
function fit() {
  const { view } = graph;
  if (view.style.height && view.style.height !== graph.fitted) return;
  const need = (depthBelow(0) + 1) * rowHeight + 6;
  view.style.height = graph.fitted = Math.round(Math.max(120, Math.min(need, 0.55 * innerHeight))) + "px";
}

function search() {
  graph.test = matcher(choice.search);
  const found = byId("found");
  found.textContent = "";
  if (graph.test) {
    const v = foundValue();
    found.textContent = `${share(v, graph.tree.total[0])} (${part(v, graph.tree.total[0])}) on matching stacks${foundThreads()}`;
  }
  if (choice.view === "flame") layout();
  functions();
  showWaits();
  showTracks();
  writeState();
}

// foundThreads is the share of threads whose names match, "" if there are none.
function foundThreads() {
  const match = model.threads.map((t) => graph.test({ name: threadName(t), module: "" })), found = new Set(), selected = selectedStacks();
  let v = 0;
  for (const row of model.rows) {
    const c = model.contexts[row.context];
    if (!match[c.thread] || !chosen(c) || !selected(row.node)) continue;
    v += model.value(row, choice.value);
    found.add(c.thread);
  }
  return found.size ? `, ${share(v, graph.tree.total[0])} (${part(v, graph.tree.total[0])}) of ${found.size} matching thread${found.size > 1 ? "s" : ""}` : "";
}

const pressed = []; // what shows the choice of each group

// A group of buttons of which one is pressed.
function buttons(id, options, get, set) {
  const box = byId(id);
  for (const [value, text, hint] of options) {
    const b = element("button", text, { type: "button" });
    if (hint) b.title = hint;
    b.addEventListener("click", () => { set(value); press(); refresh(); });
    b.dataset.value = value;
    box.append(b);
  }
  const press = () => { for (const b of box.children) b.setAttribute("aria-pressed", String(b.dataset.value === String(get()))); };
  press();
  pressed.push(press);
  return press;
}

const valueHints = {
  cpu: "time on a CPU", wall: "elapsed time, running or sleeping", runqueue: "time waiting for a CPU", samples: "number of samples",
  blocked: "time sleeping, not waiting for a CPU", new: "box widths from the new recording", old: "box widths from the old recording",
};

function head() {
  byId("view-waits").hidden = model.type("blocked") < 0 && model.type("wall") < 0;
  byId("view-tracks").hidden = !times;
  byId("title").textContent = data.title;
  for (const [k, v] of data.facts || []) {
    const d = element("div");
    d.append(element("dt", k), element("dd", v));
    byId("facts").append(d);
  }
  for (const c of data.comments || []) byId("comments").append(comment(c));
  byId("note").append((data.note ? data.note + ". " : "") + (model.diff ? "Red became slower, blue faster, grey is not significant. " : ""),
    element("span", "Click a box to zoom, a function in the table to see its callers and callees; x leaves it out; / to search, Esc to go back, i to invert the graph, s to save it as SVG, f as folded stacks; arrow keys go through the graph; printing prints what is seen. ", { class: "screen" }), "Made by prywalk.");
}

// comment gives a remark: its first line, and the others folded behind that.
function comment({ text, more }) {
  if (!more) return element("div", text);
  const folded = document.createElement("details");
  folded.append(element("summary", text), ...more.map((line) => element("div", line)));
  return folded;
}

function controls() {
  const order = ["cpu", "wall", "runqueue", "blocked", "samples"];
  const rank = (i) => (order.indexOf(data.types[i][0]) + order.length + 1) % (order.length + 1);
  const types = data.types.map((t, i) => [i, t[0], valueHints[t[0]]]).sort((a, b) => rank(a[0]) - rank(b[0]));
  if (types.length > 1) buttons("values", types, () => choice.value, (v) => { choice.value = v; });
  buttons("direction", [[false, "callees", "outermost functions on top"], [true, "callers", "innermost functions on top"]],
    () => choice.inverted, (v) => { if (v !== choice.inverted) turn(v); });
  byId("fold").addEventListener("click", (e) => {
    choice.folded = !choice.folded;
    showChoices();
    layout();
    writeState();
  });
  if (data.own) {
    buttons("own", [[true, "own functions", "the program's own; what they called is folded into them"], [false, "all functions"]],
      () => choice.own, (v) => { choice.own = v; sortForView(); });
  }
  if (model.contexts.some((c) => c.state)) {
    buttons("states", [["all", "all"], ["running", "running"], ["sleeping", "sleeping"]], () => choice.state, (v) => { choice.state = v; });
  }
  const select = byId("group");
  select.parentElement.hidden = model.contexts.length < 2;
  for (const g of ["none", "process", "thread", "state", "wait"]) select.append(element("option", g === "none" ? "nothing" : g, { value: g }));
  select.addEventListener("change", () => { choice.group = select.value; refresh(); });
}

// showChoices sets the controls to what is chosen.
function showChoices() {
  for (const press of pressed) press();
  byId("group").value = choice.group;
  byId("fold").setAttribute("aria-pressed", String(choice.folded));
  byId("search").value = choice.search;
}

function showView(view) {
  choice.view = view;
  refresh();
}

// crumbs shows the way to the zoomed node.
function crumbs() {
  const box = byId("crumbs");
  box.replaceChildren();
  if (choice.other) box.append(element("span", "red + took more than in the compared part, blue − less, grey ≈ may be chance; scaled to one length. "));
  if (model.diff) box.append(element("span", "red + is slower, blue − faster, grey ≈ not significant. "));
  if (graph.others) box.append(element("span", elidedText()));
  if (choice.zoom === 0 && !choice.thread && choice.focus < 0 && !choice.hidden.length) { box.append(graph.others ? "" : "all stacks"); return; }
  if (choice.thread) crumb(box, `✕ only ${choice.thread}`, () => { choice.thread = ""; refresh(); });
  if (choice.focus >= 0) crumb(box, `✕ only stacks with ${model.frames[choice.focus].name}`, () => focus(-1));
  for (const f of choice.hidden) crumb(box, `✕ without ${model.frames[f].name}`, () => { choice.hidden = choice.hidden.filter((h) => h !== f); refresh(); });
  if (choice.focus >= 0) crumb(box, `leave out ${model.frames[choice.focus].name} (x)`, () => leaveOut(choice.focus));
  const path = ancestors(choice.zoom);
  if (path.length < 2) return;
  crumb(box, "⤒ all", () => zoom(0));
  const from = Math.max(1, path.length - 6);
  if (from > 1) box.append(element("span", "… "));
  for (const n of path.slice(from)) crumb(box, graph.tree.info(n).name, () => zoom(n));
}

// elidedText says what the other side has in stacks that are not drawn, as this side lacks them.
function elidedText() {
  const { base, total, parent } = graph.tree, side = model.diff ? `the ${choice.value === model.type("old") ? "new" : "old"} recording` : "the compared part";
  let sum = 0;
  for (let n = 1; n < base.length; n++) if (!total[n] && (total[parent[n]] || parent[n] === 0)) sum += base[n]; // the outermost ones
  return sum ? `Only ${side} has stacks with ${show(sum)} (${share(sum, base[0])} of it), which are not drawn here. ` : "";
}

// leaveOut leaves out the stacks with a function.
function leaveOut(frame) {
  if (!(frame >= 0) || isFold(frame)) return;
  Object.assign(choice, { hidden: [...choice.hidden, frame], focus: -1, zoom: 0 });
  refresh();
}

function crumb(box, text, click) {
  const b = element("button", text, { type: "button", title: text });
  b.addEventListener("click", click);
  box.append(b);
}

function zoom(n) {
  choice.zoom = n;
  graph.hover = -1;
  byId("tip").hidden = true;
  tabulate();
  crumbs();
  layout();
  functions();
  showWaits();
  writeState();
  graph.view.scrollTop = Math.max(0, ancestors(n).length - 3) * rowHeight; // below two of its callers
}

function tip(event) {
  const r = rectAt(event), n = r?.n ?? -1;
  if (n !== graph.hover) { graph.hover = n; draw(); }
  byId("tip").hidden = !r;
  if (r) tipOf(r, event);
}

// tipOf describes what is drawn, beside a place.
function tipOf({ n, last }, at) {
  const box = byId("tip"), { tree } = graph, f = tree.info(n), run = last === n ? [n] : runOf(n);
  const lines = run.map((i) => element("b", tree.info(i).name)).flatMap((b) => [b, element("br")]).slice(0, -1);
  if (f.module) lines.push(element("div", f.file ? `${f.module} · ${f.file}${f.line ? ":" + f.line : ""}` : f.module));
  lines.push(element("div", `${choice.inverted ? "value" : "total"} ${part(tree.total[n], tree.total[0])} · ${share(tree.total[n], tree.total[0])} of all`));
  if (choice.zoom) lines.push(element("div", `${share(tree.total[n], tree.total[choice.zoom])} of what is zoomed to`));
  if (!choice.inverted) lines.push(element("div", `self ${part(tree.self[n], tree.total[0])} · ${share(tree.self[n], tree.total[0])}`));
  if (graph.others) lines.push(element("div", changeText(n)));
  box.replaceChildren(...lines);
  place(box, at);
}

// boxesTo lists the boxes that are drawn from the root to a node.
function boxesTo(n) {
  const path = ancestors(n), boxes = path.slice(0, path.indexOf(choice.zoom) + 1);
  if (!boxes.length) return path; // faint ones above the zoom
  for (let i = boxes.length; i < path.length; i = Math.max(i, path.indexOf(runEnd(path[i]))) + 1) boxes.push(path[i]);
  return boxes;
}

// walk gives the box that an arrow key leads to from another, which is a box, too.
function walk(key, n) {
  const { tree } = graph, above = ancestors(choice.zoom), at = above.indexOf(n);
  const drawn = (list) => list.filter((c) => tree.total[c] * graph.view.clientWidth >= 0.4 * tree.total[choice.zoom]);
  if (key === "ArrowUp") return boxesTo(n).at(-2);
  if (key === "ArrowDown") return above[at + 1] && at >= 0 ? above[at + 1] : drawn(tree.children[at >= 0 ? n : runEnd(n)])[0];
  const beside = at >= 0 ? [] : drawn(tree.children[tree.parent[n]]);
  return beside[beside.indexOf(n) + (key === "ArrowLeft" ? -1 : 1)];
}

// keysOfGraph moves through the boxes; what is reached is described, for a screen reader, too.
function keysOfGraph(event) {
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter"], { view, tree } = graph;
  if (!keys.includes(event.key) || !tree.total[0]) return;
  event.preventDefault();
  let n = boxesTo(graph.hover >= 0 ? graph.hover : choice.zoom).at(-1);
  if (event.key === "Enter") { zoom(ancestors(choice.zoom).includes(n) ? n : runEnd(n)); n = choice.zoom; } else n = walk(event.key, n) ?? n;
  graph.hover = n;
  const y = (boxesTo(graph.hover).length - 1) * rowHeight;
  if (y < view.scrollTop || y + rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = Math.max(0, y - rowHeight);
  draw();
  const r = graph.rects.find((x) => x.n === graph.hover), at = graph.canvas.getBoundingClientRect();
  if (!r) return;
  tipOf(r, { clientX: at.left + r.x, clientY: at.top + r.y });
  byId("said").textContent = Array.from(byId("tip").childNodes, (e) => e.textContent).filter(Boolean).join("; ");
}

// place puts the hint beside the pointer.
function place(box, event) {
  box.hidden = false;
  const w = box.offsetWidth, h = box.offsetHeight;
  box.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 8)) + "px";
  box.style.top = Math.max(4, event.clientY + 18 + h > innerHeight ? event.clientY - h - 10 : event.clientY + 18) + "px";
}

// signed writes a change.
const signed = (v) => (v > 0 ? "+" : v < 0 ? "−" : "") + show(Math.abs(v));

// changeText says what became of a box.
function changeText(n) {
  const { was, is } = changeOf(n), margin = changes.margin(is, was);
  if (!model.diff) return `compared ${show(was)}, here ${show(is)}: ${changeInTime(is, was)}`;
  return `old ${show(was)}, new ${show(is)}: ${signed(is - was)}${margin ? ` ± ${show(margin)}` : ""}`;
}

// unless greys a change of self (0) or total time (1) that is not sure.
const unless = (r, which) => {
  const [is, was] = which ? [r.totalNew, r.totalOld] : [r.selfNew, r.selfOld];
  if (!model.diff) return changes.sureInTime(is, was) ? "" : "soft";
  return changes.verdict(r.frame, which, is - was) ?? changes.sure(is, was, model.diff.functions) ? "" : "soft";
};

// changeInTime writes a change between two parts of the time; what may be chance is marked, too.
const changeInTime = (is, was) => is === was ? "0 s" : `${changes.sureInTime(is, was) ? "" : "≈ "}${signed(is - was)}${!was && is ? " (only here)" : was && !is ? " (not here)" : ""}`;

// changeOfDiff writes the change of self (0) or total time (1) between two recordings; what is not significant is marked.
function changeOfDiff(r, which) {
  const [is, was] = which ? [r.totalNew, r.totalOld] : [r.selfNew, r.selfOld];
  return is === was ? show(0) : `${unless(r, which) ? "≈ " : ""}${signed(is - was)}${!was ? " (only new)" : !is ? " (only old)" : ""}`;
}

const rangeColumns = [
  ["selfOld", "self compared", (r) => show(r.selfOld)], ["selfNew", "self here", (r) => show(r.selfNew)],
  ["change", "change", (r) => changeInTime(r.selfNew, r.selfOld), (r) => unless(r, 0)],
  ["totalChange", "total change", (r) => changeInTime(r.totalNew, r.totalOld), (r) => unless(r, 1)],
  ["name", "function", (r) => r.info.name, "text name"], ["module", "module", (r) => r.info.module, "text soft"],
];

// columnsNow has another order of the rows while two parts of the time are compared.
function columnsNow() {
  const now = choice.other ? rangeColumns : columns;
  if (!now.some(([key]) => key === sorting.key)) Object.assign(sorting, { key: now[choice.other ? 2 : 0][0], down: true });
  return now;
}

const columns = model.diff ? [
  ["selfOld", "self old", (r) => show(r.selfOld)], ["selfNew", "self new", (r) => show(r.selfNew)],
  ["change", "change", (r) => changeOfDiff(r, 0), (r) => unless(r, 0)],
  ["totalChange", "total change", (r) => changeOfDiff(r, 1), (r) => unless(r, 1)],
  ["name", "function", (r) => r.info.name, "text name"], ["module", "module", (r) => r.info.module, "text soft"],
] : [
  ["self", "self %", (r) => share(r.self, table.total), "share"], ["self", "self", (r) => part(r.self, table.total)],
  ["total", "total %", (r) => share(r.total, table.total), "share"], ["total", "total", (r) => part(r.total, table.total)],
  ["name", "function", (r) => r.info.name, "text name"], ["module", "module", (r) => r.info.module, "text soft"],
];

// sortRows sorts as the reader has chosen; changes that are more than chance come first.
function sortRows(rows) {
  // Incomplete stacks have no time of their own; from 2 % of the total on they stand where that would.
  const raised = (r) => (key === "self" && r.info.synthetic && r.info.name.startsWith("[incomplete") && r.total > 0.02 * table.total ? r.total : r[key]);
  const { key, down } = sorting, get = (r) => (key === "name" || key === "module" ? r.info[key] : choice.other && key.endsWith("hange") ? Math.abs(r[key]) : raised(r));
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  const sure = (r) => (choice.other && key.endsWith("hange") ? (unless(r, key === "change" ? 0 : 1) ? 0 : 1) : key.endsWith("hange") && !(unless(r, 0) && unless(r, 1)) ? 1 : 0);
  return rows.sort((a, b) => sure(b) - sure(a) || (down ? -1 : 1) * compare(get(a), get(b)) || b.total - a.total || (folds() ? a.first - b.first : 0));
}

function tableHead() {
  byId("functions").className = model.diff || choice.other ? "both" : "plain";
  const row = element("tr");
  for (const [key, title, , kind] of columnsNow()) {
    const th = element("th", title + (sorting.key === key && !(title === "self" || title === "total") ? (sorting.down ? " ▾" : " ▴") : ""), { tabindex: "0" });
    if (typeof kind === "string" && kind.startsWith("text")) th.className = "text";
    const sort = () => {
      sorting.down = sorting.key === key ? !sorting.down : key !== "name" && key !== "module";
      sorting.key = key;
      functions();
    };
    th.addEventListener("click", sort);
    th.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); sort(); } });
    row.append(th);
  }
  document.querySelector("#functions thead").replaceChildren(row);
}

function functions() {
  tableHead();
  const rows = sortRows(table.rows.filter((r) => !graph.test || graph.test(r.info)));
  const of = choice.zoom || choice.focus >= 0 ? ` on the ${share(table.total, graph.whole)} of all that is selected` : "";
  const outside = folds() && table.rows.outside ? `; outside of these: ${table.rows.outside}` : "";
  const first = onPaper() && rows.length > sorting.limit ? `, first ${sorting.limit} printed` : "";
  byId("fcount").textContent = (graph.test ? `${rows.length} of ${table.rows.length} match` : `${rows.length}`) + first + of + outside;
  document.querySelector("#functions tbody").replaceChildren(...rows.slice(0, sorting.limit).map(tableRow));
  byId("more").hidden = rows.length <= sorting.limit;
}

function tableRow(r) {
  const tr = element("tr", undefined, { "data-name": r.info.name, "data-self": r.self, "data-total": r.total, tabindex: "0" });
  if (choice.other) tr.dataset.change = changeInTime(r.selfNew, r.selfOld);
  columnsNow().forEach(([key, , get, kind]) => {
    const td = element("td", get(r));
    if (kind) td.className = typeof kind === "function" ? kind(r) : kind;
    if (kind === "share") td.style.setProperty("--share", (table.total ? Math.min(100, 100 * r[key] / table.total) : 0) + "%");
    if (key === "name" && r.info.file) td.title = r.info.file + (r.info.line ? ":" + r.info.line : "");
    if (key === "name" && r.folds) td.append(element("small", ` …in ${r.folds}`, { class: "soft" }));
    tr.append(td);
  });
  if (graph.test) tr.className = "hit";
  tr.addEventListener("click", () => focus(r.frame));
  tr.addEventListener("keydown", (e) => { if (e.key === "Enter") focus(r.frame); });
  return tr;
}

function setSearch(text) {
  choice.search = byId("search").value = text;
  search();
}

function keys(event) {
  const field = byId("search"), typing = document.activeElement === field;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (choice.search) setSearch("");
    else if (choice.zoom) zoom(0);
    else if (choice.focus >= 0) focus(-1);
    else if (choice.hidden.length) { choice.hidden = []; refresh(); }
    else if (choice.thread) { choice.thread = ""; refresh(); }
    else if (choice.range) selectTime(null);
    field.blur();
  } else if (event.key === "/" && !typing) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (typing || document.activeElement.tagName === "SELECT") {
    // the key is of the field
  } else if (event.key === "s" && choice.view === "flame") {
    saveSVG();
  } else if (event.key === "f" && choice.view === "flame") {
    saveFolded();
  } else if (event.key === "i") {
    turn(!choice.inverted);
    showChoices();
    refresh();
  } else if (event.key === "x") {
    leaveOut(choice.focus >= 0 ? choice.focus : graph.tree.frame[graph.hover >= 0 ? graph.hover : choice.zoom]);
  }
}

function listen() {
  graph.canvas.addEventListener("mousemove", tip);
  graph.canvas.addEventListener("keydown", keysOfGraph);
  graph.canvas.addEventListener("blur", () => { byId("tip").hidden = true; });
  graph.canvas.addEventListener("mouseleave", () => { byId("tip").hidden = true; graph.hover = -1; draw(); });
  graph.canvas.addEventListener("click", (e) => { const r = rectAt(e); if (r) zoom(r.last); });
  graph.view.addEventListener("scroll", () => { byId("tip").hidden = true; draw(); });
  byId("search").addEventListener("input", (e) => { choice.search = e.target.value; search(); });
  byId("save-svg").addEventListener("click", saveSVG);
  byId("save-folded").addEventListener("click", saveFolded);
  byId("more").addEventListener("click", () => { sorting.limit *= 5; functions(); });
  document.addEventListener("keydown", keys);
  darkQuery.addEventListener("change", draw);
  new ResizeObserver(() => { if (choice.view === "flame") layout(); }).observe(graph.view);
  window.addEventListener("hashchange", () => { readState(); showChoices(); refresh(); });
  darkQuery.addEventListener("change", () => { drawOverview(); drawTracks(); });
  for (const v of views) byId("view-" + v).addEventListener("click", () => showView(v));
  byId("views").addEventListener("keydown", (e) => {
    const shown = views.filter((v) => !byId("view-" + v).hidden), step = { ArrowLeft: shown.length - 1, ArrowRight: 1 }[e.key];
    if (!step) return;
    showView(shown[(shown.indexOf(choice.view) + step) % shown.length]);
    byId("view-" + choice.view).focus();
  });
}

head();
controls();
startOverview();
startTracks();
readState();
showChoices();
refresh();
listen();
