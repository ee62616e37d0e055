// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

// # Stacks of tasks
//
// The stack of the task (in Go: the goroutine) that a thread runs is copied if the thread is on another stack: the
// scheduler's, or that of a signal handler.
//
// [managed.TaskOffsets] has the offsets. In a Go program on x86-64, a thread in the scheduler (runtime.park_m) is read
// so:
//
//	fs:-8          g = g0 of the thread     the running task; its bounds 0x7ffc…0000 to 0x7ffc…8000 have sp
//	g0 + m         m                        the worker
//	m + curg       curg 0xc000002380        the worker's task: not g0, so the thread has left its stack
//	curg           sched.sp 0xc00005be30    where that stack was left; stack.hi 0xc00005c000
//	copy           0x1d0 bytes from 0xc00005be30
//
// On the goroutine's own stack only g, m and what lies beyond the copy of the stack are read.
//
// The labels of a task (pprof.Do) are copied too (tasklabels.go).
//
// Sources: runtime/runtime2.go (g, m, gobuf); runtime/proc.go; runtime/pprof/label.go.

// taskStacks is of one runtime. In Go, g is the running task, m its worker, curg the worker's task, g0 its scheduler.
type taskStacks struct {
	ptrace.Wrapped
	layout managed.TaskOffsets

	slot, g, m, curg, g0 []byte
	stack, outer         []byte

	labels [labelsCopy]byte
	bucket [bucketBytes]byte
}

// These are the bytes of a task's stack from its saved stack pointer, else of its outer part, and of the scheduler's
// stack (runtime/proc.go, allocm; rt0_go).
const (
	stackCopy     = 256 << 10
	outerCopy     = 32 << 10
	schedulerCopy = 64 << 10
	touchedBytes  = 32 << 10 // with pages beforehand
)

// NewTaskStacks returns what copies the stacks of the tasks that a process's threads have left; nil without tasks.
func NewTaskStacks(p *loadedcode.Process) ptrace.OtherMemory {
	var all []*taskStacks
	for _, t := range p.Runtimes().TaskOffsets() {
		t := &taskStacks{
			layout: *t, slot: make([]byte, 8), g: make([]byte, t.TaskSize), m: make([]byte, t.WorkerSize),
			curg: make([]byte, t.TaskSize), g0: make([]byte, t.TaskSize),
			stack: make([]byte, stackCopy), outer: make([]byte, schedulerCopy),
		}
		procmem.Touch(t.stack[:touchedBytes])
		all = append(all, t)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &severalTaskStacks{all: all}
}

type severalTaskStacks struct {
	ptrace.Wrapped
	all []*taskStacks
}

// Regions implements [ptrace.OtherMemory]. It begins with the runtime whose task the thread runs.
func (s *severalTaskStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (n int) {
	first := -1
	for i, t := range s.all {
		if g, _, _ := t.readRunning(regs, rd, out); g != 0 && t.isOnStack(t.g, regs.SP()) {
			first, n = i, t.Regions(regs, rd, out)
			break
		}
	}
	for i, t := range s.all {
		if i != first {
			n += t.Regions(regs, rd, out[n:])
		}
	}
	return n
}

// The regions are slot, g, m, labels, scheduler's stack, curg and its stack.
const mostTaskRegions = 7

// Regions implements [ptrace.OtherMemory].
func (s *taskStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	if len(out) < mostTaskRegions {
		return 0
	}
	g, m, n := s.readRunning(regs, rd, out)
	if g == 0 {
		return 0
	}
	out[n] = frames.Region{Addr: g, Bytes: s.g}
	out[n+1] = frames.Region{Addr: m, Bytes: s.m}
	n += 2
	layout := &s.layout
	curg := word(s.m, layout.CurrentTask)
	on := s.isOnStack(s.g, regs.SP())
	if g == curg {
		n = s.copyLabels(s.g, rd, out, n)
	}
	if on && g == curg {
		return s.copyRestOfStack(rd, out, n)
	}
	// At the beginning of a signal handler g is that of the interrupted code.
	signal := !on || g != word(s.m, layout.SchedulerTask)
	if signal {
		n = s.copySchedulerStack(rd, out, n)
	}
	if curg == 0 {
		return n
	}
	if curg == g {
		copy(s.curg, s.g)
	} else if rd.Read(curg, s.curg) != len(s.curg) {
		return n
	} else {
		out[n] = frames.Region{Addr: curg, Bytes: s.curg}
		n = s.copyLabels(s.curg, rd, out, n+1)
	}
	from, size := s.stackToCopy(regs.Arch, signal)
	return addRead(from, s.stack[:size], rd, out, n)
}

func (s *taskStacks) copyRestOfStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	at, stackBytes := rd.Stack()
	from, hi := at+uint64(stackBytes), word(s.g, s.layout.StackHi)
	if stackBytes == 0 || from >= hi {
		return n
	}
	return addRead(from, s.stack[:min(hi-from, stackCopy)], rd, out, n)
}

func addRead(from frames.Addr, buf []byte, rd *ptrace.Reader, out []frames.Region, n int) int {
	size := rd.Read(from, buf)
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: from, Bytes: buf[:size]}
	return n + 1
}

func (s *taskStacks) isOnStack(g []byte, sp uint64) bool {
	return sp >= word(g, s.layout.StackLo) && sp <= word(g, s.layout.StackHi)
}

func (s *taskStacks) copySchedulerStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	layout := &s.layout
	g0 := word(s.m, layout.SchedulerTask)
	if g0 == 0 || rd.Read(g0, s.g0) != len(s.g0) {
		return n
	}
	lo, hi := word(s.g0, layout.StackLo), word(s.g0, layout.StackHi)
	from := max(lo, hi-min(hi, schedulerCopy))
	if hi <= from {
		return n
	}
	return addRead(from, s.outer[:hi-from], rd, out, n)
}

// The running g is in thread-local storage, on arm64 in a register that C code may reuse.
func (s *taskStacks) readRunning(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (g, m uint64, n int) {
	if s.layout.InRegister {
		g, _ = regs.Get(s.layout.Register)
		if m = s.readTask(g, rd); m == 0 {
			g = 0
		}
		return g, m, 0
	}
	slot := regs.TLS + uint64(s.layout.TLS)
	if regs.TLS == 0 {
		return 0, 0, 0
	}
	out[0] = frames.Region{Addr: slot, Bytes: s.slot}
	if rd.Read(slot, s.slot) != len(s.slot) {
		return 0, 0, 0
	}
	g = word(s.slot, 0)
	if m = s.readTask(g, rd); m == 0 {
		return 0, 0, 0
	}
	return g, m, 1
}

// readTask returns 0 if g does not run.
func (s *taskStacks) readTask(g uint64, rd *ptrace.Reader) (m uint64) {
	if g == 0 || rd.Read(g, s.g) != len(s.g) {
		return 0
	}
	m = word(s.g, s.layout.Worker)
	if m == 0 || rd.Read(m, s.m) != len(s.m) || !s.isRunning(g) {
		return 0
	}
	return m
}

func (s *taskStacks) isRunning(g uint64) bool {
	layout := &s.layout
	return !layout.InRegister || g == word(s.m, layout.SchedulerTask) || g == word(s.m, layout.SignalTask) ||
		g == word(s.m, layout.CurrentTask)
}

func (s *taskStacks) stackToCopy(arch frames.Arch, signal bool) (from uint64, n int) {
	layout := &s.layout
	lo, hi := word(s.curg, layout.StackLo), word(s.curg, layout.StackHi)
	from = word(s.curg, layout.SavedSP)
	if signal || from < lo || from > hi {
		from = max(lo, hi-min(hi, outerCopy))
	}
	if arch == frames.ARM64 {
		from = max(from, savedFPARM64) - savedFPARM64
	}
	if hi <= from {
		return from, 0
	}
	return from, int(min(hi-from, stackCopy))
}

func word(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
