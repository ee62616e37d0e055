// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

type tally struct {
	threads, both, gdbOnly, euOnly int
	alone                          map[string]int
}

func (c *tally) String() string {
	s := fmt.Sprintf("%d threads: both %d, gdb only %d, eu-stack only %d", c.threads, c.both, c.gdbOnly, c.euOnly)
	for _, name := range slices.Sorted(maps.Keys(c.alone)) {
		s += fmt.Sprintf(", neither (%s) %d", name, c.alone[name])
	}
	return s
}

// gdb takes most of a second for each process.
const maxProcesses = 3

func TestStacksOfStoppedProcessesAgreeWithGdbOrElfutils(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real programs under load, and gdb on them")
	}
	testtargets.NeedProgram(t, "gdb")
	testtargets.NeedProgram(t, "eu-stack")
	for i, name := range testtargets.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				testtargets.OnlyInAll(t, "another program")
			}
			target := testtargets.Run(t, name, testtargets.Options{})
			pids := stop(t, target)
			count := &tally{alone: map[string]int{}}
			for _, pid := range pids[max(0, len(pids)-maxProcesses):] {
				compare(t, pid, count)
			}
			if count.threads == 0 {
				t.Error("no thread was compared")
			}
			t.Log(count)
		})
	}
}

func compare(t *testing.T, pid int, count *tally) {
	t.Helper()
	first := prywalkDump(t, pid)
	eu, gdb := euStacks(t, pid), gdbStacks(t, pid)
	last := prywalkDump(t, pid)
	if len(first.Threads) != len(last.Threads) || len(first.Threads) != len(gdb) || len(first.Threads) != len(eu) {
		t.Fatalf("process %d: prywalk, eu-stack, gdb and prywalk again found %d, %d, %d and %d threads", pid,
			len(first.Threads), len(eu), len(gdb), len(last.Threads))
	}
	p := openProcess(t, pid)
	for i := range first.Threads {
		th := &first.Threads[i]
		if !slices.Equal(pcs(th), pcs(&last.Threads[i])) {
			t.Errorf("thread %d %s: the second dump of the stopped process differs from the first:\n%s", th.TID, th.Name,
				table(th, pcs(&last.Threads[i]), nil))
		}
		if !th.Complete || th.State != "T" {
			t.Errorf("thread %d %s: state %s, stop reason %s, want T and root:\n%s", th.TID, th.Name, th.State, th.StopReason,
				table(th, gdb[th.TID], eu[th.TID]))
		}
		if err := judge(p, th, gdb[th.TID], eu[th.TID], count); err != nil {
			t.Errorf("thread %d %s: %v:\n%s", th.TID, th.Name, err, table(th, gdb[th.TID], eu[th.TID]))
		}
	}
}

func judge(p *process, th *stacks.Thread, gdb, eu []uint64, count *tally) error {
	count.threads++
	own := pcs(th)
	atGdb, sameGdb := leaves(own, gdb)
	atEu, sameEu := leaves(own, eu)
	switch {
	case sameGdb && sameEu:
		count.both++
	case sameGdb:
		count.gdbOnly++
	case sameEu:
		count.euOnly++
	default:
		a := classify(&split{p, th.Frames, gdb, atGdb})
		b := classify(&split{p, th.Frames, eu, atEu})
		if a == "" || b == "" {
			return fmt.Errorf("gdb differs from frame %d on (class %q), eu-stack from frame %d on (class %q); calls not "+
				"proven: %v", atGdb, a, atEu, b, p.proves(th.Frames, min(atGdb, atEu)))
		}
		if a != b {
			a += "; " + b
		}
		count.alone[a]++
	}
	return nil
}

func pcs(th *stacks.Thread) []uint64 {
	var out []uint64
	for _, f := range th.Frames {
		out = append(out, uint64(f.PC))
	}
	return out
}

func table(th *stacks.Thread, gdb, eu []uint64) string {
	const most = 60
	at := func(s []uint64, i int) string {
		if i < len(s) {
			return fmt.Sprintf("%x", s[i])
		}
		return ""
	}
	var b strings.Builder
	for i := range min(most, max(len(th.Frames), len(gdb), len(eu))) {
		f := stacks.Frame{Place: &stacks.Place{}}
		if i < len(th.Frames) {
			f = th.Frames[i]
		}
		fmt.Fprintf(&b, "%16x %-9s %16s %16s %s %s\n", uint64(f.PC), f.Method, at(gdb, i), at(eu, i), f.Function, f.Module)
	}
	return b.String()
}
