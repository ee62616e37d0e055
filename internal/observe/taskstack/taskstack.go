// SPDX-License-Identifier: Apache-2.0

package taskstack

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/managed"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// stacks copies the stack of the task that a thread has left, for all threads of a process, with one runtime.
// g, m, curg and g0 are Go's: the running task, its worker, the worker's task and its scheduler.
type stacks struct {
	layout managed.TaskOffsets

	slot, g, m, curg, g0 []byte
	stack, outer         []byte

	labels [labelsCopy]byte
	bucket [bucketBytes]byte
	texts  [2 * maxLabels]frames.Region

	parts [3]frames.Region
	hints [1 << hintBits]taskHint
}

// taskHint is a thread's last task: usually, one call reads all.
type taskHint struct{ slot, m, g uint64 }

const hintBits = 10

func (t *stacks) hintOf(slot uint64) *taskHint {
	return &t.hints[slot*0x9e3779b97f4a7c15>>(64-hintBits)]
}

// Most bytes copied of a task's stack from its saved stack pointer, of its outer part if that is unknown, and of the
// scheduler's stack (runtime/proc.go, allocm; rt0_go).
const (
	stackCopy     = 256 << 10
	outerCopy     = 32 << 10
	schedulerCopy = 64 << 10
	touchedBytes  = 32 << 10 // bytes with pages beforehand
)

// Of returns what copies the stacks of the tasks that a process's threads have left; nil without tasks.
func Of(p *loadedcode.Process) ptrace.OtherMemory {
	var s several
	for _, t := range p.Runtimes().TaskOffsets() {
		t := &stacks{
			layout: *t, slot: make([]byte, 8), g: make([]byte, t.TaskSize), m: make([]byte, t.WorkerSize),
			curg: make([]byte, t.TaskSize), g0: make([]byte, t.TaskSize),
			stack: make([]byte, stackCopy), outer: make([]byte, schedulerCopy),
		}
		procmem.Touch(t.stack[:touchedBytes])
		s = append(s, t)
	}
	switch len(s) {
	case 0:
		return nil
	case 1:
		return s[0]
	}
	return s
}

// several has the stacks of several runtimes.
type several []*stacks

// Regions implements [ptrace.OtherMemory]. It begins with the runtime whose task the thread runs.
func (s several) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (n int) {
	first := -1
	for i, t := range s {
		if g, _, _ := t.readRunning(regs, rd, out); g != 0 && t.isOnStack(t.g, regs.SP()) {
			first, n = i, t.Regions(regs, rd, out)
			break
		}
	}
	for i, t := range s {
		if i != first {
			n += t.Regions(regs, rd, out[n:])
		}
	}
	return n
}

// Prefetch implements [ptrace.Prefetcher], by the hint.
func (t *stacks) Prefetch(regs *frames.Regs) []frames.Region {
	slot := regs.TLS + uint64(t.layout.TLS)
	hint := t.hintOf(slot)
	if t.layout.InRegister || hint.slot != slot {
		return nil
	}
	t.parts = [3]frames.Region{{Addr: hint.slot, Bytes: t.slot}, {Addr: hint.m, Bytes: t.m}, {Addr: hint.g, Bytes: t.g}}
	return t.parts[:]
}

// StackEnd implements [ptrace.StackEnder] for a thread on its goroutine's stack.
func (t *stacks) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	hint := t.hintOf(regs.TLS + uint64(t.layout.TLS))
	if !t.hintHolds(hint) && !t.correctHint(hint, rd) {
		return 0
	}
	if word(t.m, t.layout.CurrentTask) != hint.g || !t.isOnStack(t.g, regs.SP()) {
		return 0
	}
	return word(t.g, t.layout.StackHi)
}

// correctHint reads the running task if the hint is wrong, and corrects it. Precondition: its m was read.
func (t *stacks) correctHint(hint *taskHint, rd *ptrace.Reader) bool {
	g := word(t.slot, 0)
	if g == 0 || g == hint.g || g != word(t.m, t.layout.CurrentTask) || rd.Read(g, t.g) != len(t.g) || word(t.g,
		t.layout.Worker) != hint.m {
		return false
	}
	hint.g = g
	return true
}

// Regions implements [ptrace.OtherMemory].
func (t *stacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	if len(out) < 7 { // slot, g, m, labels, scheduler's stack, curg, its stack
		return 0
	}
	g, m, n := t.readRunning(regs, rd, out)
	if g == 0 {
		return 0
	}
	out[n] = frames.Region{Addr: g, Bytes: t.g}
	out[n+1] = frames.Region{Addr: m, Bytes: t.m}
	n += 2
	layout := &t.layout
	curg := word(t.m, layout.CurrentTask)
	on := t.isOnStack(t.g, regs.SP())
	if g == curg {
		n = t.copyLabels(t.g, rd, out, n)
	}
	if on && g == curg {
		return t.copyRestOfStack(rd, out, n)
	}
	// At the beginning of a signal handler g is still that of the interrupted code.
	signal := !on || g != word(t.m, layout.SchedulerTask)
	if signal {
		n = t.copySchedulerStack(rd, out, n)
	}
	if curg == 0 {
		return n
	}
	if curg == g {
		copy(t.curg, t.g)
	} else if rd.Read(curg, t.curg) != len(t.curg) {
		return n
	} else {
		out[n] = frames.Region{Addr: curg, Bytes: t.curg}
		n = t.copyLabels(t.curg, rd, out, n+1)
	}
	from, size := t.stackToCopy(regs.Arch, signal)
	return addRead(from, t.stack[:size], rd, out, n)
}

func (t *stacks) copyRestOfStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	at, stackBytes := rd.Stack()
	from, hi := at+uint64(stackBytes), word(t.g, t.layout.StackHi)
	if stackBytes == 0 || from >= hi {
		return n
	}
	return addRead(from, t.stack[:min(hi-from, stackCopy)], rd, out, n)
}

// addRead returns the new number of regions.
func addRead(from frames.Addr, buf []byte, rd *ptrace.Reader, out []frames.Region, n int) int {
	size := rd.Read(from, buf)
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: buf[:size]}
	return n + 1
}

func (t *stacks) isOnStack(g []byte, sp uint64) bool {
	return sp >= word(g, t.layout.StackLo) && sp <= word(g, t.layout.StackHi)
}

func (t *stacks) copySchedulerStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	layout := &t.layout
	g0 := word(t.m, layout.SchedulerTask)
	if g0 == 0 || rd.Read(g0, t.g0) != len(t.g0) {
		return n
	}
	lo, hi := word(t.g0, layout.StackLo), word(t.g0, layout.StackHi)
	from := max(lo, hi-min(hi, schedulerCopy))
	if hi <= from {
		return n
	}
	return addRead(from, t.outer[:hi-from], rd, out, n)
}

// readRunning reads the running g and its m. g is in thread-local storage, on arm64 in a register that C code may
// reuse.
func (t *stacks) readRunning(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (g, m uint64, n int) {
	if t.layout.InRegister {
		g, _ = regs.Get(t.layout.Register)
		if m = t.readTask(g, rd); m == 0 {
			g = 0
		}
		return g, m, 0
	}
	slot := regs.TLS + uint64(t.layout.TLS)
	if regs.TLS == 0 {
		return 0, 0, 0
	}
	out[0] = frames.Region{Addr: slot, Bytes: t.slot}
	hint := t.hintOf(slot)
	if hint.slot == slot && t.readHintedTask(hint, regs, rd) {
		return hint.g, hint.m, 1
	}
	if rd.Read(slot, t.slot) != len(t.slot) {
		return 0, 0, 0
	}
	g = word(t.slot, 0)
	if m = t.readTask(g, rd); m == 0 {
		return 0, 0, 0
	}
	*hint = taskHint{slot, m, g}
	return g, m, 1
}

// readTask reads a g and its m, and returns the m, or 0 if g does not run.
func (t *stacks) readTask(g uint64, rd *ptrace.Reader) (m uint64) {
	if g == 0 || rd.Read(g, t.g) != len(t.g) {
		return 0
	}
	m = word(t.g, t.layout.Worker)
	if m == 0 || rd.Read(m, t.m) != len(t.m) || !t.isRunning(g) {
		return 0
	}
	return m
}

func (t *stacks) readHintedTask(hint *taskHint, regs *frames.Regs, rd *ptrace.Reader) bool {
	read := rd.Prefetched() || rd.ReadAll(t.Prefetch(regs)) == len(t.slot)+len(t.m)+len(t.g)
	return read && t.hintHolds(hint)
}

func (t *stacks) hintHolds(hint *taskHint) bool {
	return word(t.slot, 0) == hint.g && word(t.g, t.layout.Worker) == hint.m && t.isRunning(hint.g)
}

func (t *stacks) isRunning(g uint64) bool {
	layout := &t.layout
	return !layout.InRegister || g == word(t.m, layout.SchedulerTask) || g == word(t.m, layout.SignalTask) ||
		g == word(t.m, layout.CurrentTask)
}

// stackToCopy returns curg's stack from the saved sp, or its outer part in a signal.
func (t *stacks) stackToCopy(arch frames.Arch, signal bool) (from uint64, n int) {
	layout := &t.layout
	lo, hi := word(t.curg, layout.StackLo), word(t.curg, layout.StackHi)
	from = word(t.curg, layout.SavedSP)
	if signal || from < lo || from > hi {
		from = max(lo, hi-min(hi, outerCopy))
	}
	if arch == frames.AArch64 {
		from = max(from, copysize.SavedFPARM64) - copysize.SavedFPARM64
	}
	if hi <= from {
		return from, 0
	}
	return from, int(min(hi-from, stackCopy))
}

func word(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
