// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
)

func writeGoroutineDeadlocks(b *strings.Builder, l *locks.Locks) {
	for d := range stacks.Each(l.GoroutineDeadlocks) {
		reason := d.Reason
		if reason == stacks.Leaked {
			reason += ", as Go's garbage collector has found"
		}
		printable.Fprintf(b, "\nDEADLOCK: nothing can wake %s of process %d%s: %s\n", count(len(d.Waiters), "goroutine"),
			d.PID, withSeparator(" in ", d.Runtime), reason)
		writeWaiters(b, d.Waiters, "for ever")
	}
	for i := range l.PossibleGoroutineDeadlocks {
		writeGoroutineCycle(b, l, &l.PossibleGoroutineDeadlocks[i])
	}
}

// writeGoroutineLocks writes what goroutines wait for, other than channels.
func writeGoroutineLocks(b *strings.Builder, l *locks.Locks) {
	for lock := range stacks.Each(l.GoroutineLocks) {
		if lock.Kind == stacks.KindChannel {
			continue
		}
		printable.Fprintf(b, "\n%s%s\n", labelAt(lock.Kind, lock.Symbol, lock.Address),
			withSeparator(", of ", lock.Runtime))
		writeWaiters(b, lock.Waiters, "")
		for j := range lock.Likely {
			writeLikelyGoroutine(b, l, lock, &lock.Likely[j])
		}
		if len(lock.Likely) == 0 && lock.IsLock() {
			printable.Fprintf(b, "  owner not known: no stack shows which goroutine holds it\n")
		}
	}
}

// Only the stack of a single likely owner that is in no cycle is written.
func writeLikelyGoroutine(b *strings.Builder, l *locks.Locks, lock *locks.GoroutineLock, o *locks.GoroutineOwner) {
	reads := ""
	if o.Reads {
		reads = " for reading"
	}
	g := l.Process(lock.PID).Goroutine(lock.Runtime, o.Goroutine)
	if g == nil {
		printable.Fprintf(b, "  likely held%s by goroutine %d\n      %s\n", reads, o.Goroutine, o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held%s by goroutine %d, %s\n      %s\n", reads, o.Goroutine, statusText(g), o.Evidence)
	hasOwner := func(c locks.GoroutineCycle) bool {
		return c.PID == lock.PID && c.Runtime == lock.Runtime && slices.Contains(c.Goroutines, o.Goroutine)
	}
	if len(lock.Likely) == 1 && len(g.Frames) > 0 && !slices.ContainsFunc(l.PossibleGoroutineDeadlocks, hasOwner) {
		writeStack(b, g.Stack(), false)
	}
}

func writeGoroutineCycle(b *strings.Builder, l *locks.Locks, c *locks.GoroutineCycle) {
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s%s, if the inferred owners are right\n",
		cycleText(len(c.Goroutines), "goroutine", "probably holds"), withSeparator(" in ", c.Runtime))
	for i, id := range c.Goroutines {
		next := c.Goroutines[(i+1)%len(c.Goroutines)]
		for lock := range stacks.Each(l.GoroutineLocks) {
			w := slices.IndexFunc(lock.Waiters, func(w locks.GoroutineWaiter) bool { return w.Goroutine == id })
			if lock.PID != c.PID || lock.Runtime != c.Runtime || w < 0 || len(lock.Likely) != 1 {
				continue
			}
			if lock.Likely[0].Goroutine == next {
				printable.Fprintf(b, "  goroutine %d\n      waits for %s%s\n      likely held by goroutine %d: %s\n", id,
					labelAt(lock.Kind, lock.Symbol, lock.Address), withSeparator(", in ", lock.Waiters[w].In), next,
					lock.Likely[0].Evidence)
			}
		}
	}
}

// writeChannels writes channels that differ in their addresses and goroutines alone as one, as each of a leak's
// goroutines can wait for a channel of its own.
func writeChannels(b *strings.Builder, l *locks.Locks) {
	alike := groupBy(l.GoroutineLocks, func(lock *locks.GoroutineLock) string {
		if lock.Kind != stacks.KindChannel {
			return ""
		}
		var shown strings.Builder
		fmt.Fprintln(&shown, lock.PID, lock.Runtime, lock.Symbol, channelDetails(lock))
		for _, w := range lock.Waiters {
			fmt.Fprintln(&shown, w.Send, w.In)
		}
		return shown.String()
	})
	for _, list := range alike {
		label := labelAt(list[0].Kind, list[0].Symbol, list[0].Address)
		var waiters []locks.GoroutineWaiter
		for _, lock := range list {
			waiters = append(waiters, lock.Waiters...)
		}
		if len(list) > 1 {
			label = count(len(list), "channel") + fmt.Sprintf(" such as %#x", uint64(list[0].Address))
		}
		printable.Fprintf(b, "\n%s%s%s\n", label, channelDetails(list[0]), withSeparator(", of ", list[0].Runtime))
		receives := func(w locks.GoroutineWaiter) bool { return !w.Send }
		sends := func(w locks.GoroutineWaiter) bool { return w.Send }
		writeWaiters(b, slices.DeleteFunc(slices.Clone(waiters), receives), "to send")
		writeWaiters(b, slices.DeleteFunc(waiters, sends), "to receive")
	}
}

func channelDetails(lock *locks.GoroutineLock) string {
	text := ", unbuffered"
	if lock.Capacity > 0 {
		text = fmt.Sprintf(", %d of %d in it", lock.Queued, lock.Capacity)
	}
	if lock.Closed {
		text += ", closed"
	}
	return text
}

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
		tabular.Form(len(ids), "goroutine", "goroutines"), enumerate(ids))
	writeFrequent(b, places, "goroutine")
}
