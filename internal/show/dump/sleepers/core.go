// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"prywalk/frames"
	"prywalk/internal/base/schema"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

type coreThreads map[int]bool

// Thread implements [waits.ThreadFinder].
func (c coreThreads) Thread(innerTID int, _ bool) (int, bool) { return innerTID, c[innerTID] }

// Parent implements [waits.ThreadFinder]: a core has one process.
func (c coreThreads) Parent(int) int { return 0 }

// NewCore returns the explainer of a core's threads.
func NewCore(c *core.Core, names *symbols.Namer) *Explainer {
	threads := coreThreads{}
	for _, th := range c.Threads() {
		threads[th.TID] = true
	}
	read := func(addr uint64, buf []byte) int { return readWords(c.Memory(), addr, buf) }
	return &Explainer{
		pid: c.PID, names: names, space: c.Space, Owners: threads, Read: read, managed: managedWaitsOfCore(c),
		Sleepers: map[int]*waits.Sleeper{}, symbols: map[schema.Hex]waits.Variable{}, idleness: map[idleKey]waits.Idleness{},
	}
}

// ExplainCore sets what a thread waited for. It skips arm64, where a call's result replaces its first argument.
func (e *Explainer) ExplainCore(d *stacks.Thread, c *core.Core, th *core.Thread) {
	if th.Syscall < 0 || c.Arch != frames.X86_64 {
		return
	}
	sl := &waits.Sleeper{Reason: d.Wait, InCall: true}
	for i, reg := range observe.ArgumentRegisters(c.Arch) {
		v, ok := th.Regs.Get(reg)
		if !ok {
			return
		}
		sl.Args[i] = v
	}
	sl.Managed = e.managedAsker(th.TID, sl, 0, c.Memory())
	if addr, ok := waits.FutexWord(&sl.Args); ok && d.Wait == "futex" && addr >= waits.CopyBefore {
		var b [waits.CopySize]byte
		from := addr - waits.CopyBefore
		if n := e.Read(from, b[:]); n > 0 {
			sl.Memory = waits.FutexCopy{Addr: from, Bytes: b[:n]}
		} else if n := e.Read(addr, b[:]); n > 0 { // first in its mapping
			sl.Memory = waits.FutexCopy{Addr: addr, Bytes: b[:n]}
		}
	}
	e.describe(d, sl)
}

func readWords(m frames.Memory, addr uint64, buf []byte) int {
	n := 0
	for ; n+8 <= len(buf); n += 8 {
		w, ok := m.Word(addr + uint64(n))
		if !ok {
			break
		}
		for i := range 8 {
			buf[n+i] = byte(w >> (8 * i))
		}
	}
	return n
}
