// SPDX-License-Identifier: Apache-2.0
"use strict";
// The state in the address: #from=2s&to=3s&view=tracks&search=TEXT&thread=NAME, and what else has been chosen.

const views = ["flame", "functions", "waits", "tracks"];

// parseTime reads 2s, 1.5s, 250ms, 1m30s; a number alone is seconds. NaN: no time.
function parseTime(text) {
  const units = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, "µs": 1e3, ns: 1 };
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1e9);
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text || "")) return NaN;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)].reduce((sum, [, n, unit]) => sum + Math.round(Number(n) * units[unit]), 0);
}

// writeTime is exact.
function writeTime(ns) {
  const digits = String(Math.round(ns)).padStart(10, "0"), fraction = digits.slice(-9).replace(/0+$/, "");
  return digits.slice(0, -9) + (fraction ? "." + fraction : "") + "s";
}

// The choices that are in the address beside from, to and view: how they are written, "" for the usual, and read.
const fields = {
  search: [() => choice.search, (v) => { choice.search = v; }],
  thread: [() => choice.thread, (v) => { choice.thread = v; }],
  value: [() => (choice.value === data.value ? "" : data.types[choice.value][0]), (v) => { choice.value = Math.max(0, model.type(v || data.types[data.value][0])); }],
  graph: [() => (choice.inverted ? "callers" : ""), (v) => { choice.inverted = v === "callers"; }],
  state: [() => (choice.state === "all" ? "" : choice.state), (v) => { choice.state = v || "all"; }],
  functions: [() => (data.own && !choice.own ? "all" : ""), (v) => { choice.own = data.own === true && v !== "all"; sortForView(); }],
  group: [() => (choice.group === "none" ? "" : choice.group), (v) => { choice.group = ["process", "thread", "state", "wait"].includes(v) ? v : "none"; }],
  function: [() => model.frames[choice.focus]?.name ?? "", (v) => { choice.focus = v ? model.frames.findIndex((f) => f.name === v) : -1; }],
  runs: [() => (choice.folded ? "" : "apart"), (v) => { choice.folded = v !== "apart"; }],
  wait: [() => waiting.open ?? "", (v) => { waiting.open = v || null; }],
};

function rangeText([from, to]) { return `from=${writeTime(from)}&to=${writeTime(to)}`; }

// writeState puts the choices into the address.
function writeState() {
  const parts = choice.range ? [rangeText(choice.range)] : [];
  parts.push("view=" + choice.view);
  for (const [name, [get]] of Object.entries(fields)) if (get()) parts.push(`${name}=${encodeURIComponent(get())}`);
  for (const f of choice.hidden) parts.push(`hide=${f}`);
  if (choice.zoom) {
    const { path, group } = zoomPath();
    parts.push(`zoom=${path.join(".")}`);
    if (group !== null) parts.push(`in=${encodeURIComponent(group)}`);
  }
  if (choice.other) parts.push(`other=${choice.other.map(writeTime).join("-")}`);
  const to = "#" + parts.join("&");
  if (to === location.hash) return;
  try { history.replaceState(null, "", to); } catch { /* some viewers have no history */ }
}

// readState takes the choices from the address.
function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  choice.view = views.includes(given.get("view")) ? given.get("view") : firstView();
  for (const [name, [, set]] of Object.entries(fields)) set(given.get(name) ?? "");
  choice.hidden = given.getAll("hide").map(Number).filter((f) => model.frames[f]);
  choice.way = { path: (given.get("zoom") || "").split(".").filter(Boolean).map(Number), group: given.get("in") };
  const range = (from, to) => times && onGrid([Number.isNaN(from) ? times.from : from, Number.isNaN(to) ? times.to : to]);
  choice.range = range(parseTime(given.get("from")), parseTime(given.get("to"))) || null;
  const other = (given.get("other") || "").split("-").map(parseTime);
  choice.other = choice.range && other.length === 2 && !other.some(Number.isNaN) ? range(...other) || null : null;
}

// firstView shows the waits where these are the conclusion or hardly a processor is busy, else the flame graph.
function firstView() {
  const cpu = model.type("cpu");
  if (!times || cpu < 0 || model.type("blocked") < 0) return "flame";
  let sum = 0;
  for (let at = cpu; at < model.whole.length; at += model.types) sum += model.whole[at];
  const waits = /(^|; )(mostly |event loop blocked|(possible )?deadlock)/i.test(byId("conclusion")?.textContent ?? "");
  return waits || sum < 0.05 * (times.to - times.from) ? "waits" : "flame";
}
