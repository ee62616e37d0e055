// SPDX-License-Identifier: Apache-2.0
"use strict";
// The waits: what threads were blocked by, and what the owners of locks did meanwhile.

const waiting = { open: null }; // the wait whose stacks are shown, "" for none; null: none is chosen yet

// waitSums adds up blocked time by what is waited for.
function waitSums() {
  const type = Math.max(model.type("blocked"), -1) >= 0 ? model.type("blocked") : model.type("wall"), waits = new Map();
  if (type < 0) return { type, list: [] };
  for (const row of graph.rows) {
    const v = model.value(row, type), c = model.contexts[row.context];
    if (v <= 0 || c.state === "running") continue;
    const name = c.wait || c.state || "no state";
    let w = waits.get(name);
    if (!w) waits.set(name, (w = { name, value: 0, threads: new Set(), nodes: new Map(), cls: classOf[row.context], owned: false }));
    w.value += v;
    w.owned ||= ownerNumber(c) > 0;
    w.threads.add(c.thread);
    w.nodes.set(row.node, (w.nodes.get(row.node) || 0) + v);
  }
  return { type, list: [...waits.values()].sort((a, b) => isIdle(a) - isIdle(b) || b.value - a.value) };
}

// isIdle: the terminal's tables put waits that are idle by a rule last, too.
const isIdle = (w) => (/\[idle: [^\]]*\]$/.test(w.name) ? 1 : 0);

// isSystem is of the kernel's, the C library's and Go's own functions, in which any program waits.
const isSystem = (f) => /^(\[|lib(c|pthread)\b|ld-)/.test(f.module) || /^(runtime|internal\/\w+)\./.test(f.name);

// placeIn is the index of the innermost of those frames that are most the program's own. It differs from view.OwnFrame: the
// page does not know installed packages, and prefers libraries to the system.
function placeIn(frames) {
  const rank = (f) => (f.own ? 4 : !f.support ? (f.builtIn ? 2 : 3) : isSystem(f) ? 0 : 1);
  return frames.reduce((best, f, i) => (best < 0 || rank(f) > rank(frames[best]) ? i : best), -1);
}

const places = new Map(); // by node

// placeOf is the name of that frame.
function placeOf(node) {
  if (!places.has(node)) {
    const frames = framesTo(node).map((f) => model.frames[f]);
    places.set(node, frames[placeIn(frames)]?.name ?? "");
  }
  return places.get(node);
}

const mostOf = (map) => [...map].sort((a, b) => b[1] - a[1]);

function showWaits() {
  const section = byId("waits-section");
  section.hidden = choice.view !== "waits";
  if (section.hidden) return;
  const { type, list } = waitSums(), matching = list.filter((w) => !graph.test || graph.test({ name: w.name, module: "" }) || [...w.nodes.keys()].some((n) => graph.test({ name: placeOf(n), module: "" })));
  const whole = list.reduce((sum, w) => sum + w.value, 0);
  byId("wcount").textContent = matching.length ? `${matching.length}; a row shows the waiting stack, and what the owner did` : "no thread was blocked here";
  const open = opened(matching);
  byId("waits").tBodies[0].replaceChildren(...matching.slice(0, 200).map((w) => waitRow(w, type, whole, w === open)));
  if (open) byId("waits").querySelector("tr.open")?.after(showWait(open, type));
}

// opened is the wait that is chosen; before a choice, the largest that is neither idle nor asleep, or one at least half as
// large for which an owner is known.
function opened(list) {
  if (waiting.open !== null) return list.find((w) => w.name === waiting.open);
  const within = list.filter((w) => !["idle", "timer"].includes(classes[w.cls].id));
  return within.find((w) => w.owned && 2 * w.value >= within[0].value) || within[0];
}

function waitRow(w, type, whole, isOpen) {
  const tr = element("tr", undefined, { "data-name": w.name, "data-blocked": w.value, "data-threads": w.threads.size, tabindex: "0" });
  const share = element("td", whole ? halfToEven((100 * w.value) / whole, 0) + "%" : "–", { class: "share" });
  share.style.setProperty("--share", (whole ? (100 * w.value) / whole : 0) + "%");
  const kind = element("td", undefined, { class: "text kind" });
  kind.append(element("i", "", { class: classes[w.cls].id }), classes[w.cls].id);
  tr.append(share, element("td", show(w.value, type)), element("td", String(w.threads.size)), kind, element("td", w.name, { class: "text name" }), element("td", placeOf(mostOf(w.nodes)[0][0]), { class: "text name" }));
  const open = () => { waiting.open = isOpen ? "" : w.name; showWaits(); writeState(); };
  tr.addEventListener("click", open);
  tr.addEventListener("keydown", (e) => { if (e.key === "Enter") open(); });
  tr.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) tr.className = "open";
  else if (isIdle(w)) tr.className = "soft";
  return tr;
}

// ownerNumber is the thread that owns what is waited for; one that likely does, by time, is marked with ~.
const ownerNumber = (c) => Number(c.owner.replace("~", "")) || 0;

const threadsOf = new Map(); // by number: a thread that changed its name is several
model.threads.forEach((t, i) => threadsOf.set(t.tid, [...(threadsOf.get(t.tid) || []), i]));

// ownerThread is the owner with the name that it had at that time; -1 if it is not on the page.
function ownerThread(c, from = -Infinity, to = Infinity) {
  const { pid } = model.threads[c.thread], all = threadsOf.get(ownerNumber(c) || -1) || [], inside = all.filter((i) => model.threads[i].pid === pid);
  const known = inside.length ? inside : all, seen = (i) => { const [first, last] = times?.of.get(i) || []; return last && times.begin[first] < to && times.end[last - 1] > from; };
  return known.find(seen) ?? known[0] ?? -1;
}

// ownerText names an owner, and others of its name as one.
function ownerText(c, owners = 1, thread = ownerThread(c)) {
  if (!c.owner) return "";
  if (c.owner === "parent") return "owner: a thread of the parent process (before the fork)";
  if (!ownerNumber(c)) return "free when looked at";
  const t = model.threads[thread], what = (c.owner.startsWith("~") ? "likely owner" : / join /.test(c.wait) ? "joined thread" : "owner") + (owners > 1 ? "s" : "");
  return `${what}: ${!t ? ownerNumber(c) : owners > 1 ? `${stem(t)} × ${owners}` : threadName(t)}`;
}

// ownersOf adds up, for a wait, what the owners of the lock did while it was waited for, by name, function and state.
function ownersOf(wait) {
  const owners = new Map(), { begin, end, row, contexts, nodes, values, types, wall } = times, [from, to] = shownRange();
  for (let i = 0; i < times.count; i++) {
    const c = model.contexts[contexts[row[i]]];
    if (c.wait !== wait || !c.owner || end[i] <= from || begin[i] >= to || !chosen(c)) continue;
    const b = Math.max(begin[i], from), e = Math.min(end[i], to), thread = ownerThread(c, b, e), key = c.owner[0] === "~" ? "~" : "", name = thread < 0 ? c.owner : key + stem(model.threads[thread]);
    if (!owners.has(name)) owners.set(name, { context: c, thread, threads: new Set(), value: 0, did: new Map() });
    const o = owners.get(name), [first, last] = times.of.get(thread) || [0, 0];
    o.threads.add(c.owner);
    o.value += e - b;
    for (let k = first; k < last; k++) {
      const overlap = Math.min(e, end[k]) - Math.max(b, begin[k]), meanwhile = model.contexts[contexts[row[k]]];
      if (overlap <= 0 || values[k * types + wall] <= 0) continue;
      const doing = meanwhile.state === "running" ? "running" : `in ${meanwhile.wait || meanwhile.state}`, id = `${placeOf(nodes[row[k]])} ${doing}`;
      if (!o.did.has(id)) o.did.set(id, { nodes: new Map(), doing, value: 0 });
      const did = o.did.get(id);
      did.value += overlap;
      did.nodes.set(nodes[row[k]], (did.nodes.get(nodes[row[k]]) || 0) + overlap);
    }
  }
  return [...owners.values()].sort((a, b) => b.value - a.value);
}

// ranMeanwhile adds up, by thread, the time in which others of the process ran or were queued while a wait lasted; of each
// it has the stack with most of it.
function ranMeanwhile(wait) {
  const { begin, end, row, contexts, nodes, of } = times, [from, to] = shownRange(), context = (i) => model.contexts[contexts[row[i]]];
  const spans = [], waiters = new Set(), ran = [];
  for (let i = 0; i < times.count; i++) {
    const c = context(i), b = Math.max(begin[i], from), e = Math.min(end[i], to);
    if (c.wait !== wait || b >= e || !chosen(c)) continue;
    waiters.add(c.thread);
    spans.push([b, e]);
  }
  const pids = new Set([...waiters].map((t) => model.threads[t].pid)), union = [];
  for (const s of spans.sort((a, b) => a[0] - b[0])) if (union.length && s[0] <= union.at(-1)[1]) union.at(-1)[1] = Math.max(union.at(-1)[1], s[1]); else union.push(s);
  for (const [thread, [first, last]] of of) {
    if (!model.threads[thread].tid || !pids.has(model.threads[thread].pid)) continue;
    const by = new Map();
    for (let i = first, k = 0; i < last; i++) {
      if (context(i).state !== "running") continue;
      while (k < union.length && union[k][1] <= begin[i]) k++;
      for (let j = k; j < union.length && union[j][0] < end[i]; j++) by.set(nodes[row[i]], (by.get(nodes[row[i]]) || 0) + Math.min(end[i], union[j][1]) - Math.max(begin[i], union[j][0]));
    }
    if (by.size) ran.push({ thread, value: [...by.values()].reduce((a, b) => a + b), node: mostOf(by)[0][0] });
  }
  return ran.sort((a, b) => b.value - a.value);
}

const stackLines = 12; // of the program; what it called to wait is one line

function stackBox(title, node) {
  const box = element("section"), frames = framesTo(node).map((f) => model.frames[f]), inner = placeIn(frames);
  const seen = inner > 0 ? frames.slice(inner) : frames, line = (f) => element("div", f.name);
  box.append(element("h3", title));
  if (inner > 0) box.append(folded(`${frames[0].name} (${inner} call${inner > 1 ? "s" : ""} of the system and of libraries)`, frames.slice(0, inner).map(line)));
  box.append(...seen.slice(0, stackLines).map(line));
  if (seen.length > stackLines) box.append(folded(`${seen.length - stackLines} more`, seen.slice(stackLines).map(line)));
  return box;
}

function folded(summary, lines) {
  const details = document.createElement("details");
  details.append(element("summary", summary, { class: "soft" }), ...lines);
  return details;
}

const noOwner = (w) => (/mutex|lock|monitor|park/i.test(w.name) ? "No owner is known: most locks do not name theirs. A likely owner is searched for locks of Python and mutexes of Go only, not in reports with --thread, --focus or another filter; report --blame says if that search was too long." :
  "What ends this wait is not on this page; report --chains follows waits to other threads and processes.");

// showWait is a row with the waiting stack, beside it what the owners of the lock did.
function showWait(w, type) {
  const row = element("tr", undefined, { class: "detail" }), cell = element("td", undefined, { colspan: 6 }), box = element("div", undefined, { id: "wait" });
  const stacks = mostOf(w.nodes);
  row.append(cell);
  cell.append(box);
  box.append(stackBox(`waits in ${w.name}: ${show(stacks[0][1], type)} with this stack${stacks.length > 1 ? `, the most of ${stacks.length}` : ""}`, stacks[0][0]));
  const owners = times ? ownersOf(w.name) : [];
  // An owner that waits likewise waits for another lock, or has given this one up, as has one that waits for work, or waits
  // and had the GIL: what else it did says more.
  const isAlike = ({ doing }) => (doing !== "running" && (/\bGIL\b/.test(w.name) || doing.includes(" [idle: ") || doing.startsWith(`in ${w.name}`) || `in ${w.name}`.startsWith(doing)) ? 1 : 0);
  for (const o of owners.slice(0, 3)) {
    const did = [...o.did.values()].sort((a, b) => isAlike(a) - isAlike(b) || b.value - a.value)[0], text = `${ownerText(o.context, o.threads.size, o.thread)} for ${show(o.value, times.wall)}`;
    if (did) box.append(stackBox(`${text}; meanwhile, for ${show(did.value, times.wall)}, ${o.threads.size > 1 ? "one" : "it"} was ${did.doing}`, mostOf(did.nodes)[0][0]));
    else box.append(stackBox(ownerNumber(o.context) ? `${text}; ${o.threads.size > 1 ? "none" : "it"} was ${o.threads.size > 1 ? "" : "not "}seen meanwhile` : text, 0));
  }
  if (owners.some((o) => o.context.owner.startsWith("~"))) box.append(element("p", "A likely owner is a guess from time: the only thread in a function that takes this lock, without waiting for it.", { class: "soft" }));
  if (owners.length) return row;
  const ran = times && classes[w.cls].id === "lock" ? ranMeanwhile(w.name) : [];
  for (const r of ran.slice(0, 2)) box.append(stackBox(`meanwhile, for ${show(r.value, times.wall)}, ${threadName(model.threads[r.thread])} ran or was queued`, r.node));
  box.append(element("p", (ran.length ? "Beside it are the threads that ran most meanwhile; they need not have to do with it. " : "") + noOwner(w), { class: "soft" }));
  return row;
}
