// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/stacks"
	"prywalk/internal/printable"
)

func writeGoroutineLocks(b *strings.Builder, l *locks.Locks) {
	for i := range l.PossibleGoroutines {
		writeGoroutineCycle(b, l, &l.PossibleGoroutines[i])
	}
	for _, p := range l.Processes {
		if n := leakedGoroutines(p); n > 0 {
			printable.Fprintf(b, "\n%s of process %d %s leaked: Go's garbage collector has found that nothing can wake %s\n",
				count(n, "goroutine"), p.PID, pluralForm(n, "is", "are"), pluralForm(n, "it", "them"))
		}
	}
	for i := range l.GoroutineLocks {
		m := &l.GoroutineLocks[i]
		printable.Fprintf(b, "\n%s%s%s\n", goroutineLockLabel(m), goroutineLockDetails(m), withSeparator(", of ", m.Runtime))
		if m.Kind == stacks.KindChannel {
			senders, receivers := bySide(m)
			writeWaiters(b, senders, "to send")
			writeWaiters(b, receivers, "to receive")
		} else {
			writeWaiters(b, m.Waiters, "")
		}
		for j := range m.Likely {
			writeLikelyGoroutine(b, l, m, &m.Likely[j])
		}
		if len(m.Likely) == 0 && m.IsLock() {
			printable.Fprintf(b, "  owner not known: no stack shows which goroutine holds it\n")
		}
	}
}

// writeLikelyGoroutine writes the stack of an only likely owner that is in no cycle.
func writeLikelyGoroutine(b *strings.Builder, l *locks.Locks, m *locks.GoroutineLock, o *locks.GoroutineOwner) {
	reads := map[bool]string{true: " for reading"}[o.Reads]
	var g *stacks.Goroutine
	for _, p := range l.Processes {
		if p.PID == m.PID {
			g = p.Goroutine(m.Runtime, o.Goroutine)
		}
	}
	if g == nil {
		printable.Fprintf(b, "  likely held%s by goroutine %d\n      %s\n", reads, o.Goroutine, o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held%s by goroutine %d, %s\n      %s\n", reads, o.Goroutine, statusText(g), o.Evidence)
	in := func(c locks.GoroutineCycle) bool {
		return c.PID == m.PID && c.Runtime == m.Runtime && slices.Contains(c.Goroutines, o.Goroutine)
	}
	if len(m.Likely) == 1 && len(g.Frames) > 0 && !slices.ContainsFunc(l.PossibleGoroutines, in) {
		writeStack(b, g.Stack(), false)
	}
}

func leakedGoroutines(p *stacks.Process) (n int) {
	for i := range p.GoroutineStacks {
		if p.GoroutineStacks[i].Status == "leaked" {
			n++
		}
	}
	return n
}

func writeGoroutineCycle(b *strings.Builder, l *locks.Locks, c *locks.GoroutineCycle) {
	what := count(len(c.Goroutines), "goroutine") + " wait for each other"
	if len(c.Goroutines) == 1 {
		what = "a goroutine waits for a lock that it probably holds itself"
	}
	what += withSeparator(" in ", c.Runtime)
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n", what)
	for i, id := range c.Goroutines {
		next := c.Goroutines[(i+1)%len(c.Goroutines)]
		for j := range l.GoroutineLocks {
			m := &l.GoroutineLocks[j]
			w := slices.IndexFunc(m.Waiters, func(w locks.GoroutineWaiter) bool { return w.Goroutine == id })
			if m.PID == c.PID && m.Runtime == c.Runtime && w >= 0 && len(m.Likely) == 1 && m.Likely[0].Goroutine == next {
				printable.Fprintf(b, "  goroutine %d\n      waits for %s%s\n      likely held by goroutine %d: %s\n", id,
					goroutineLockLabel(m), withSeparator(", in ", m.Waiters[w].In), next, m.Likely[0].Evidence)
			}
		}
	}
}

func goroutineLockLabel(m *locks.GoroutineLock) string {
	if m.Symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", m.Kind, m.Symbol, uint64(m.Address))
	}
	return fmt.Sprintf("%s %#x", m.Kind, uint64(m.Address))
}

func goroutineLockDetails(m *locks.GoroutineLock) string {
	if m.Kind != stacks.KindChannel {
		return ""
	}
	text := ", unbuffered"
	if m.Capacity > 0 {
		text = fmt.Sprintf(", %d of %d in it", m.Queued, m.Capacity)
	}
	if m.Closed {
		text += ", closed"
	}
	return text
}

// writeWaiters writes the waiting goroutines and their places. purpose is what a channel's wait for, else "".
func writeWaiters(b *strings.Builder, waiters []locks.GoroutineWaiter, purpose string) {
	if len(waiters) == 0 {
		if purpose != "" {
			printable.Fprintf(b, "  waiting %s: none\n", purpose)
		}
		return
	}
	var ids, places []string
	for _, w := range waiters {
		ids, places = append(ids, fmt.Sprint(w.Goroutine)), append(places, w.In)
	}
	printable.Fprintf(b, "  waiting%s: %s %s\n", withSeparator(" ", purpose),
		pluralForm(len(ids), "goroutine", "goroutines"), enumerate(ids))
	writeFrequent(b, places, "goroutine")
}

func bySide(m *locks.GoroutineLock) (senders, receivers []locks.GoroutineWaiter) {
	for _, w := range m.Waiters {
		if w.Send {
			senders = append(senders, w)
		} else {
			receivers = append(receivers, w)
		}
	}
	return senders, receivers
}
