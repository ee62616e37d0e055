// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
)

func writeAwaits(b *strings.Builder, p *stacks.Process) {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Kind != languages.AwaitTask {
			continue
		}
		printable.Fprintf(b, "\n%s (%s)%s\n", count(t.Count, "pending await"), howText(t.How), awaitsText(t))
		for j := range t.Frames {
			writeFrame(b, j, &t.Frames[j])
		}
	}
	if p.Awaits != nil {
		text := suspendedText(p.Awaits)
		if p.Clients > 0 && p.NothingRuns() {
			text += "; " + stillText(p)
		}
		printable.Fprintf(b, "\n%s\n", text)
	}
}

// suspendedText says how many functions are suspended, and what is not known.
func suspendedText(a *managed.AwaitCounts) string {
	parts := []string{count(a.Pending, "asynchronous function") + " " + pluralForm(a.Pending, "is", "are") + " suspended"}
	if a.Unproven > 0 {
		parts = append(parts, fmt.Sprintf("%s that changed meanwhile, or without a proven chain, %s left out",
			count(a.Unproven, "function"), pluralForm(a.Unproven, "is", "are")))
	}
	if a.More > 0 {
		parts = append(parts, count(a.More, "chain")+" beyond the limits "+pluralForm(a.More, "is", "are")+" not shown")
	}
	if a.Cut || a.Unread > 0 {
		parts = append(parts, "only a part of the heap was searched: there can be more, also within these chains")
	}
	return strings.Join(parts, "; ")
}
