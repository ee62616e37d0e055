// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"prywalk/internal/show/conclusion"
	"prywalk/internal/show/view"
)

// conclusion says in one line where the window's time is; "" without time.
func (snap *Snapshot) conclusion() string {
	s := conclusion.New(snap.Length.Nanoseconds(), nil)
	names := view.NewOwnNames(s, snap.programModule())
	frame := func(n int32) *view.Frame { return &snap.frames[n].Frame }
	var x conclusion.Sample
	for i := range snap.Cells {
		c := &snap.Cells[i]
		th := snap.threads[c.thread]
		x = conclusion.Sample{
			Thread: conclusion.Thread{PID: int64(th.pid), TID: int64(th.tid)}, Name: cmp.Or(th.name, th.comm), Task: th.task,
			Ticks: c.v.Samples, CPU: c.v.CPU, Queue: c.v.RunQueue, Blocked: max(0, c.v.blocked()), Stack: x.Stack[:0],
		}
		if x.Blocked > 0 {
			snap.setWait(&x, c)
		}
		names.Set(&x, c.stack, frame)
		s.Add(&x)
	}
	return s.Sentence()
}

// setWait takes the wait from its name, without addresses: threads wait for them in one function.
func (snap *Snapshot) setWait(x *conclusion.Sample, c *Cell) {
	w := &snap.waits[c.wait]
	call, object, _ := strings.Cut(w.name, ": ")
	if strings.HasPrefix(call, "[") {
		x.Stopped = call == "[stopped]"
		return
	}
	for _, mark := range []string{" (semaphore 0x", " 0x"} {
		object, _, _ = strings.Cut(object, mark)
	}
	rule := snap.ruleOf(c)
	x.Wait = conclusion.Wait{Call: call, Kind: w.kind, Object: object, Idleness: rule.Idleness}
	x.Pooled = rule.Pooled
}

// programModule is the first one that has the name of its process; else, as of a program that a link started, the first
// file that is no library.
func (snap *Snapshot) programModule() (program string) {
	if len(snap.threads) == 0 {
		return ""
	}
	comm := snap.threads[slices.Min(slices.Collect(maps.Keys(snap.threads)))].comm
	for _, path := range snap.paths {
		if m := view.ModuleName(path); comm != "" && strings.HasPrefix(m, comm) {
			return m
		}
		if program == "" && strings.HasPrefix(path, "/") && !strings.Contains(path, ".so") {
			program = view.ModuleName(path)
		}
	}
	return program
}
