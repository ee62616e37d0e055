// SPDX-License-Identifier: Apache-2.0
// The callers and callees of the function that was clicked, beside each other above the table.

// aroundRows is how many of each are listed.
const aroundRows = 12;

function showAround(groups) {
  const box = byId("around");
  box.hidden = choice.focus < 0;
  if (box.hidden) return;
  const { callers, callees } = around(choice.focus, groups), name = model.frames[choice.focus].name;
  box.replaceChildren(aroundList("callers", `Callers of ${name}`, callers, "[no caller]"),
    aroundList("callees", `${name} calls`, callees, "[itself]"));
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
