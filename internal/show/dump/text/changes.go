// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/changes"
)

// changeTitles name the groups of threads.
var changeTitles = map[changes.Change]string{
	changes.NotRun: "not run (proven by equal run counts)", changes.Moved: "moved",
	changes.Ran: "ran, and back at the same stack", changes.SameStack: "the same stack, not proven that they have not run",
	changes.New: "new", changes.Ended: "ended",
}

const noPlace = "a place without a name"

// WriteChanges writes the conclusion, and the threads by what became of them.
func WriteChanges(w io.Writer, c *changes.Changes) error {
	var b strings.Builder
	printable.Fprintf(&b, "%s\nprocess %d%s\n", c.Conclusion, c.PID, withSeparator(" ", c.Name))
	for _, cycle := range c.Cycles {
		printable.Fprintf(&b, "\nDEADLOCK: %s\n", cycleText(len(cycle), "thread", "holds"))
		for _, tid := range cycle {
			printable.Fprintf(&b, "  %s\n", threadOf(c, tid))
		}
	}
	for _, change := range changes.All {
		list := c.Of(change)
		writeCount(&b, changeTitles[change], len(list))
		for _, group := range groupBy(list, func(t **changes.Thread) string { return changeText(*t) }) {
			names := enumerateBy(group, func(t **changes.Thread) string { return threadName(*t) })
			printable.Fprintf(&b, "  %s: %s\n", names, changeText(*group[0]))
		}
	}
	writeEdges(&b, c, "wait for another thread now, and did not before", c.NewWaiters)
	writeEdges(&b, c, "waited for the same thing, with the same owner, both times", c.StayedEdges)
	for i, g := range c.Grew {
		if i == 0 {
			printable.Fprintf(&b, "\nmore than before, by stack:\n")
		}
		if i == maxShown {
			printable.Fprintf(&b, "  … %s\n", count(len(c.Grew)-maxShown, "other stack"))
			break
		}
		printable.Fprintf(&b, "  %d → %s in %s%s\n", g.Before, count(g.After, g.Kind), cmp.Or(g.Place, noPlace),
			withSeparator(", created by ", g.CreatedBy))
	}
	if c.Unread > 0 {
		printable.Fprintf(&b, "\n%s could not be read: what is called ended may be among them\n", count(c.Unread, "thread"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCount(b *strings.Builder, title string, n int) {
	if n > 0 {
		printable.Fprintf(b, "\n%s: %s\n", title, count(n, "thread"))
	}
}

func threadName(t *changes.Thread) string {
	return strings.TrimRight(fmt.Sprintf("%d %s", t.TID, t.Name), " ")
}

func threadOf(c *changes.Changes, tid int) string {
	return "thread " + threadName(cmp.Or(c.Thread(tid), &changes.Thread{TID: tid}))
}

func changeText(t *changes.Thread) string {
	from, to := cmp.Or(t.From, noPlace), cmp.Or(t.To, noPlace)
	text := "in " + to
	switch {
	case t.Change == changes.Ended:
		text = "was in " + from
	case t.Change == changes.Moved && t.From == t.To:
		text += ", by other callers or at another instruction"
	case t.Change == changes.Moved:
		text = "from " + from + " to " + to
	}
	if t.Runs > 0 {
		text += ", put on a CPU " + count(int(t.Runs), "time")
	}
	if t.Change != changes.Ended {
		text += withSeparator(", waits for ", t.WaitsFor)
	}
	if t.Idle != "" {
		text += " [idle: " + t.Idle + "]"
	}
	return text
}

func writeEdges(b *strings.Builder, c *changes.Changes, title string, edges []changes.Edge) {
	writeCount(b, title, len(edges))
	for _, e := range edges {
		owner, ran := "", ""
		if e.Owner != 0 {
			owner = ", held by " + threadOf(c, e.Owner)
		}
		if e.NotRun {
			ran = "; neither has run"
		}
		printable.Fprintf(b, "  %s waits for %s%s%s%s\n", threadOf(c, e.Waiter), e.Object, owner,
			withSeparator(", in ", e.Place), ran)
	}
}
