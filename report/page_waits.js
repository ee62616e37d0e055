// SPDX-License-Identifier: Apache-2.0
"use strict";
// The waits: what threads were blocked by, and what the owners of locks did meanwhile.

const waiting = { open: "" };

// waitSums adds up blocked time by what is waited for.
function waitSums() {
  const type = Math.max(model.type("blocked"), -1) >= 0 ? model.type("blocked") : model.type("wall"), waits = new Map();
  if (type < 0) return { type, list: [] };
  const has = choice.focus >= 0 ? stackHas(choice.focus) : null, shown = zoomTest();
  for (const row of model.rows) {
    const v = model.value(row, type), c = model.contexts[row.context];
    if (v <= 0 || c.state === "running" || !chosen(c) || (has && !has[row.node]) || !shown(groupName(c), row.node)) continue;
    const name = c.wait || c.state || "no state";
    let w = waits.get(name);
    if (!w) waits.set(name, (w = { name, value: 0, threads: new Set(), nodes: new Map(), cls: classOf[row.context] }));
    w.value += v;
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
  byId("waits").tBodies[0].replaceChildren(...matching.slice(0, 200).map((w) => waitRow(w, type, whole)));
  const open = matching.find((w) => w.name === waiting.open);
  byId("wait").hidden = !open;
  if (open) showWait(open, type);
}

function waitRow(w, type, whole) {
  const tr = element("tr", undefined, { "data-name": w.name, "data-blocked": w.value, "data-threads": w.threads.size, tabindex: "0" });
  const share = element("td", whole ? halfToEven((100 * w.value) / whole, 0) + "%" : "–", { class: "share" });
  share.style.setProperty("--share", (whole ? (100 * w.value) / whole : 0) + "%");
  const kind = element("td", undefined, { class: "text kind" });
  kind.append(element("i", "", { class: classes[w.cls].id }), classes[w.cls].id);
  tr.append(share, element("td", show(w.value, type)), element("td", String(w.threads.size)), kind, element("td", w.name, { class: "text name" }), element("td", placeOf(mostOf(w.nodes)[0][0]), { class: "text name" }));
  const open = () => { waiting.open = waiting.open === w.name ? "" : w.name; showWaits(); };
  tr.addEventListener("click", open);
  tr.addEventListener("keydown", (e) => { if (e.key === "Enter") open(); });
  if (waiting.open === w.name) tr.className = "open";
  else if (isIdle(w)) tr.className = "soft";
  return tr;
}

const ownerThread = (c) => {
  const { pid } = model.threads[c.thread];
  const i = model.threads.findIndex((t) => String(t.tid) === c.owner && t.pid === pid);
  return i >= 0 ? i : model.threads.findIndex((t) => String(t.tid) === c.owner);
};

function ownerText(c) {
  if (!c.owner) return "";
  if (c.owner === "nobody") return "without an owner";
  const i = ownerThread(c);
  return `owner: ${i >= 0 ? threadName(model.threads[i]) : c.owner}`;
}

// ownersOf adds up, for a wait, what each owner of the lock did while it was waited for, by row.
function ownersOf(wait) {
  const owners = new Map(), { begin, end, row, contexts, values, types, wall } = times, [from, to] = shownRange();
  for (let i = 0; i < times.count; i++) {
    const c = model.contexts[contexts[row[i]]];
    if (c.wait !== wait || !c.owner || end[i] <= from || begin[i] >= to || !chosen(c)) continue;
    let o = owners.get(c.owner);
    if (!o) owners.set(c.owner, (o = { text: ownerText(c), value: 0, rows: new Map() }));
    const b = Math.max(begin[i], from), e = Math.min(end[i], to), thread = ownerThread(c);
    o.value += e - b;
    const [first, last] = times.of.get(thread) || [0, 0];
    for (let k = first; k < last; k++) {
      const overlap = Math.min(e, end[k]) - Math.max(b, begin[k]);
      if (overlap > 0 && values[k * types + wall] > 0) o.rows.set(row[k], (o.rows.get(row[k]) || 0) + overlap);
    }
  }
  return [...owners.values()].sort((a, b) => b.value - a.value);
}

function stackBox(title, node) {
  const box = element("section");
  box.append(element("h3", title), ...stackOf(node).map((name) => element("div", name)));
  return box;
}

function showWait(w, type) {
  const box = byId("wait"), stacks = mostOf(w.nodes);
  box.replaceChildren(stackBox(`waits in ${w.name}: ${show(stacks[0][1], type)} with this stack${stacks.length > 1 ? `, the most of ${stacks.length}` : ""}`, stacks[0][0]));
  const owners = times ? ownersOf(w.name) : [];
  for (const o of owners.slice(0, 3)) {
    const did = mostOf(o.rows)[0];
    if (!did) { box.append(stackBox(`${o.text} for ${show(o.value, times.wall)}; it was not seen meanwhile`, 0)); continue; }
    const c = model.contexts[times.contexts[did[0]]];
    box.append(stackBox(`${o.text} for ${show(o.value, times.wall)}; meanwhile, for ${show(did[1], times.wall)}, it was ${c.state === "running" ? "running" : `in ${c.wait || c.state}`}`, times.nodes[did[0]]));
  }
  if (!owners.length) box.append(element("p", "No owner is known: only locks that name their owner have one.", { class: "soft" }));
}
