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

// placeOf is the innermost function of the program on a stack.
function placeOf(node) {
  let innermost = "";
  for (let n = node; n !== 0; n = model.parent[n]) {
    const f = model.frames[model.frame[n]];
    if (!f.support) return f.name;
    innermost = innermost || f.name;
  }
  return innermost;
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

// opened is the wait that is chosen; before a choice, the largest for which an owner is known, else the largest that is
// neither idle nor asleep.
function opened(list) {
  if (waiting.open !== null) return list.find((w) => w.name === waiting.open);
  const within = list.filter((w) => !["idle", "timer"].includes(classes[w.cls].id));
  return within.find((w) => w.owned) || within[0];
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

const ownerThread = (c) => {
  const { pid } = model.threads[c.thread], tid = ownerNumber(c) || -1, i = model.threads.findIndex((t) => t.tid === tid && t.pid === pid);
  return i >= 0 ? i : model.threads.findIndex((t) => t.tid === tid);
};

// ownerText names an owner, and others of its name as one.
function ownerText(c, owners = 1) {
  if (!c.owner) return "";
  if (!ownerNumber(c)) return "free when looked at";
  const i = ownerThread(c), what = (c.owner.startsWith("~") ? "likely owner" : "owner") + (owners > 1 ? "s" : "");
  return `${what}: ${i < 0 ? ownerNumber(c) : owners > 1 ? `${stem(model.threads[i])} × ${owners}` : threadName(model.threads[i])}`;
}

// ownersOf adds up, for a wait, what the owners of the lock did while it was waited for, by name, stack and state.
function ownersOf(wait) {
  const owners = new Map(), { begin, end, row, contexts, nodes, values, types, wall } = times, [from, to] = shownRange();
  for (let i = 0; i < times.count; i++) {
    const c = model.contexts[contexts[row[i]]];
    if (c.wait !== wait || !c.owner || end[i] <= from || begin[i] >= to || !chosen(c)) continue;
    const thread = ownerThread(c), key = c.owner[0] === "~" ? "~" : "", name = thread < 0 ? c.owner : key + stem(model.threads[thread]);
    if (!owners.has(name)) owners.set(name, { context: c, threads: new Set(), value: 0, did: new Map() });
    const o = owners.get(name), b = Math.max(begin[i], from), e = Math.min(end[i], to), [first, last] = times.of.get(thread) || [0, 0];
    o.threads.add(c.owner);
    o.value += e - b;
    for (let k = first; k < last; k++) {
      const overlap = Math.min(e, end[k]) - Math.max(b, begin[k]), meanwhile = model.contexts[contexts[row[k]]];
      if (overlap <= 0 || values[k * types + wall] <= 0) continue;
      const doing = meanwhile.state === "running" ? "running" : `in ${meanwhile.wait || meanwhile.state}`, id = `${nodes[row[k]]} ${doing}`;
      if (!o.did.has(id)) o.did.set(id, { node: nodes[row[k]], doing, value: 0 });
      o.did.get(id).value += overlap;
    }
  }
  return [...owners.values()].sort((a, b) => b.value - a.value);
}

const stackLines = 12; // of the program; what it called to wait is one line

function stackBox(title, node) {
  const box = element("section"), frames = framesTo(node).map((f) => model.frames[f]), own = frames.findIndex((f) => f.own);
  const inner = own >= 0 ? own : frames.findIndex((f) => !f.support);
  const seen = inner > 0 ? frames.slice(inner) : frames, line = (f) => element("div", f.name);
  box.append(element("h3", title));
  if (inner > 0) box.append(folded(`${frames[0].name} (${inner} calls of the system and of libraries)`, frames.slice(0, inner).map(line)));
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
  for (const o of owners.slice(0, 3)) {
    const did = [...o.did.values()].sort((a, b) => b.value - a.value)[0], text = `${ownerText(o.context, o.threads.size)} for ${show(o.value, times.wall)}`;
    if (did) box.append(stackBox(`${text}; meanwhile, for ${show(did.value, times.wall)}, ${o.threads.size > 1 ? "one" : "it"} was ${did.doing}`, did.node));
    else box.append(stackBox(ownerNumber(o.context) ? `${text}; it was not seen meanwhile` : text, 0));
  }
  if (owners.some((o) => o.context.owner.startsWith("~"))) box.append(element("p", "A likely owner is a guess from time: the only thread in a function that takes this lock, without waiting for it.", { class: "soft" }));
  if (!owners.length) box.append(element("p", noOwner(w), { class: "soft" }));
  return row;
}
