// SPDX-License-Identifier: Apache-2.0
// The callers and callees of the function that was clicked, beside each other above the table, and its source.

// aroundRows is how many of each are listed.
const aroundRows = 12;

function showAround(groups) {
  const box = byId("around");
  box.hidden = choice.focus < 0;
  if (box.hidden) return;
  const { callers, callees } = around(choice.focus, groups), name = model.frames[choice.focus].name;
  box.replaceChildren(aroundList("callers", `Callers of ${name}`, callers, "[no caller]"),
    aroundList("callees", `${name} calls`, callees, "[itself]"), ...sourceOf(choice.focus));
}

// lineSums are the values of a function's lines on the selected stacks: of the line itself, and with what it called.
function lineSums(frame) {
  const sums = new Map(), { nodes, contexts, of, sums: add } = model.given, values = add(), test = shownTest();
  nodes.forEach((node, i) => {
    const seen = new Set(), v = values[i * model.types + choice.value];
    for (let n = v && test(of[node], contexts[i]) ? node : 0; n !== 0; n = data.nodes[2 * n - 2]) {
      const line = data.lines[n - 1];
      if (data.nodes[2 * n - 1] !== frame || !line) continue;
      if (!sums.has(line)) sums.set(line, { self: 0, total: 0 });
      if (n === node) sums.get(line).self += v;
      if (!seen.has(line)) sums.get(line).total += v;
      seen.add(line);
    }
  });
  return sums;
}

// sourceOf is the function's source, where the page has lines.
function sourceOf(frame) {
  if (!data.lines) return [];
  const f = model.frames[frame], sums = lineSums(frame), box = element("section", undefined, { id: "source" });
  const source = (data.sources || []).find((s) => s.frame === frame), text = new Map();
  for (let i = 0; source && i < source.lines.length; i += 2) text.set(source.lines[i], data.strings[source.lines[i + 1]]);
  box.append(element("h2", f.file ? `Lines in ${f.file}` : "No source file is known"));
  if (f.file && !text.size) box.append(element("p", source?.why ? `No source text: ${source.why}` : sums.size ? "No source text: the file is not below the directory of --source-dir, or others have more time." : "No line numbers are known here.", { class: "soft" }));
  const list = [...new Set([...text.keys(), ...sums.keys()])].sort((a, b) => a - b), body = element("tbody");
  let before = list[0];
  for (const line of list) {
    const sum = sums.get(line), row = element("tr", undefined, { "data-line": line, class: (sum ? "" : "soft ") + (line > before + 1 ? "gap" : "") });
    const self = element("td", sum?.self ? share(sum.self, table.total) : "", { class: "share" });
    self.style.setProperty("--share", (sum && table.total ? Math.min(100, (100 * sum.self) / table.total) : 0) + "%");
    row.append(self, element("td", sum ? share(sum.total, table.total) : ""), element("td", String(line), { class: "soft" }), element("td", text.get(line) ?? "", { class: "text code" }));
    body.append(row);
    before = line;
  }
  if (list.length) box.append(lineTable(body));
  return [box];
}

function lineTable(body) {
  const all = element("table"), head = element("tr"), scroll = element("div", undefined, { class: "scroll" });
  for (const [name, kind] of [["self %", ""], ["total %", ""], ["line", ""], ["source", "text"]]) head.append(element("th", name, { class: kind }));
  all.append(element("thead"), body);
  all.tHead.append(head);
  scroll.append(all);
  return scroll;
}

// aroundList is one of the two lists; self is what stands for no function.
function aroundList(id, title, list, self) {
  const part = element("section", undefined, { id });
  part.append(element("h2", title));
  for (const [frame, v] of list.slice(0, aroundRows)) {
    const b = element("button", undefined, { type: "button", class: "near" });
    b.append(element("span", share(v, table.total)), element("span", frame < 0 ? self : model.frames[frame].name));
    if (frame >= 0) b.addEventListener("click", () => focus(frame));
    else b.disabled = true;
    part.append(b);
  }
  if (list.length > aroundRows) part.append(element("small", `… ${list.length - aroundRows} more`));
  return part;
}

// focus chooses a function: the graph shows what it called (or its callers, inverted), the table the stacks that it is
// on. -1 shows all again.
function focus(frame) {
  choice.focus = frame;
  refresh();
}
