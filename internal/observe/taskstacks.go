// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/ptrace"
)

// taskStacks copies the stack of a task (goroutine) whose thread is on the scheduler's or a signal stack, for all
// threads of a process. g, m, curg and g0 are Go's: the running task, its worker, the worker's task and its scheduler.
type taskStacks struct {
	layout managed.Tasks

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

func (t *taskStacks) hint(slot uint64) *taskHint {
	return &t.hints[slot*0x9e3779b97f4a7c15>>(64-hintBits)]
}

// Most bytes copied of a task's stack from its saved stack pointer, of its outer part if that is unknown, and of the
// scheduler's stack (runtime/proc.go, allocm; rt0_go).
const (
	taskStackCopy = 256 << 10
	taskOuterCopy = 32 << 10
	schedulerCopy = 64 << 10
	taskTouched   = 32 << 10 // bytes with pages beforehand
)

// TaskStacks returns what copies the stack of the task that a thread has left; nil without tasks.
func TaskStacks(p *code.Process) ptrace.Extra {
	var s severalTaskStacks
	for _, t := range p.Runtimes().Tasks() {
		t := &taskStacks{
			layout: *t, slot: make([]byte, 8), g: make([]byte, t.TaskSize), m: make([]byte, t.WorkerSize),
			curg: make([]byte, t.TaskSize), g0: make([]byte, t.TaskSize),
			stack: make([]byte, taskStackCopy), outer: make([]byte, schedulerCopy),
		}
		touch(t.stack[:taskTouched])
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

// severalTaskStacks are of several run-time systems.
type severalTaskStacks []*taskStacks

// Regions implements [ptrace.Extra]. It begins with the run-time system whose task the thread runs.
func (s severalTaskStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (n int) {
	first := -1
	for i, t := range s {
		if g, _, _ := t.readRunning(regs, rd, out); g != 0 && t.onStack(t.g, regs.SP()) {
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
func (t *taskStacks) Prefetch(regs *frames.Regs) []frames.Region {
	slot := regs.TLS + uint64(t.layout.TLS)
	hint := t.hint(slot)
	if t.layout.InRegister || hint.slot != slot {
		return nil
	}
	t.parts = [3]frames.Region{{Addr: hint.slot, Bytes: t.slot}, {Addr: hint.m, Bytes: t.m}, {Addr: hint.g, Bytes: t.g}}
	return t.parts[:]
}

// StackEnd implements [ptrace.StackEnder] for a thread on its goroutine's stack.
func (t *taskStacks) StackEnd(regs *frames.Regs, rd *ptrace.Reader) uint64 {
	hint := t.hint(regs.TLS + uint64(t.layout.TLS))
	if !t.hintHolds(hint) && !t.correctHint(hint, rd) {
		return 0
	}
	if word(t.m, t.layout.Current) != hint.g || !t.onStack(t.g, regs.SP()) {
		return 0
	}
	return word(t.g, t.layout.StackHi)
}

// correctHint reads the running task if the hint is wrong, and corrects it. Precondition: its m was read.
func (t *taskStacks) correctHint(hint *taskHint, rd *ptrace.Reader) bool {
	g := word(t.slot, 0)
	if g == 0 || g == hint.g || g != word(t.m, t.layout.Current) || rd.Read(g, t.g) != len(t.g) || word(t.g,
		t.layout.Worker) != hint.m {
		return false
	}
	hint.g = g
	return true
}

// Regions implements [ptrace.Extra].
func (t *taskStacks) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
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
	curg := word(t.m, layout.Current)
	on := t.onStack(t.g, regs.SP())
	if g == curg {
		n = t.copyLabels(t.g, rd, out, n)
	}
	if on && g == curg {
		return t.copyRestOfStack(rd, out, n)
	}
	// At the beginning of a signal handler g is still that of the interrupted code.
	signal := !on || g != word(t.m, layout.Scheduler)
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
	from, size := t.stackToCopy(signal)
	return addRead(from, t.stack[:size], rd, out, n)
}

func (t *taskStacks) copyRestOfStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	at, stackBytes := rd.Stack()
	from, hi := at+uint64(stackBytes), word(t.g, t.layout.StackHi)
	if stackBytes == 0 || from >= hi {
		return n
	}
	return addRead(from, t.stack[:min(hi-from, taskStackCopy)], rd, out, n)
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

func (t *taskStacks) onStack(g []byte, sp uint64) bool {
	return sp >= word(g, t.layout.StackLo) && sp <= word(g, t.layout.StackHi)
}

func (t *taskStacks) copySchedulerStack(rd *ptrace.Reader, out []frames.Region, n int) int {
	layout := &t.layout
	g0 := word(t.m, layout.Scheduler)
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
func (t *taskStacks) readRunning(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) (g, m uint64, n int) {
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
	hint := t.hint(slot)
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
func (t *taskStacks) readTask(g uint64, rd *ptrace.Reader) (m uint64) {
	if g == 0 || rd.Read(g, t.g) != len(t.g) {
		return 0
	}
	m = word(t.g, t.layout.Worker)
	if m == 0 || rd.Read(m, t.m) != len(t.m) || !t.isRunning(g) {
		return 0
	}
	return m
}

func (t *taskStacks) readHintedTask(hint *taskHint, regs *frames.Regs, rd *ptrace.Reader) bool {
	read := rd.Prefetched() || rd.ReadAll(t.Prefetch(regs)) == len(t.slot)+len(t.m)+len(t.g)
	return read && t.hintHolds(hint)
}

func (t *taskStacks) hintHolds(hint *taskHint) bool {
	return word(t.slot, 0) == hint.g && word(t.g, t.layout.Worker) == hint.m && t.isRunning(hint.g)
}

func (t *taskStacks) isRunning(g uint64) bool {
	layout := &t.layout
	return !layout.InRegister || g == word(t.m, layout.Scheduler) || g == word(t.m, layout.Signals) ||
		g == word(t.m, layout.Current)
}

// stackToCopy returns curg's stack from the saved sp, or its outer part in a signal.
func (t *taskStacks) stackToCopy(signal bool) (from uint64, n int) {
	layout := &t.layout
	lo, hi := word(t.curg, layout.StackLo), word(t.curg, layout.StackHi)
	from = word(t.curg, layout.SavedSP)
	if signal || from < lo || from > hi {
		from = max(lo, hi-min(hi, taskOuterCopy))
	}
	if hostArch() == frames.AArch64 {
		from = max(from, belowSP) - belowSP
	}
	if hi <= from {
		return from, 0
	}
	return from, int(min(hi-from, taskStackCopy))
}

func word(b []byte, at int64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// Of copied labels.
const (
	maxLabels  = 6
	maxLabel   = 128     // bytes of a string
	labelsCopy = 1 << 10 // all bytes
	labelsHead = 24      // address, length, capacity of a list of string pairs
	labelsPair = 32
)

// copyLabels copies a task's labels, which may be freed later, into one region at the list's address: its head, its
// pairs, then the strings, padded to 8 bytes ([managed.Tasks.Labels]; runtime/pprof/label.go since Go 1.24). The maps
// of Go up to 1.23 get the same form.
func (t *taskStacks) copyLabels(g []byte, rd *ptrace.Reader, out []frames.Region, n int) int {
	if t.layout.Labels == nil {
		return n
	}
	off := t.layout.Labels.Load()
	b := t.labels[:]
	if off <= 0 || off+8 > int64(len(g)) || word(g, off) == 0 || rd.Read(word(g, off), b[:labelsHead]) != labelsHead {
		return n
	}
	count, list := word(b, 8), word(b, 0)
	end := labelsHead + labelsPair*int(min(count, maxLabels))
	all := 0
	if isList := count > 0 && count <= maxLabels && word(b, 16) >= count; isList {
		if pairs := b[labelsHead:end]; rd.Read(list, pairs) != len(pairs) {
			return n
		}
	} else {
		count = t.mapPairs(list, rd, b)
		if count == 0 {
			return n
		}
		end = labelsHead + labelsPair*int(count)
	}
	texts := t.texts[:0]
	for at := labelsHead; at < labelsHead+labelsPair*int(count); at += labelsPair / 2 {
		size := word(b, int64(at)+8)
		if size > maxLabel || end+int(size+7)&^7 > len(b) {
			return n
		}
		if size > 0 {
			texts = append(texts, frames.Region{Addr: word(b, int64(at)), Bytes: b[end : end+int(size)]})
			all += int(size)
		}
		end += int(size+7) &^ 7
	}
	if rd.ReadAll(texts) != all {
		return n
	}
	out[n] = frames.Region{Addr: word(g, off), Bytes: b[:end]}
	return n + 1
}

// A map[string]string of one bucket (runtime/map.go until Go 1.23, hmap and bmap).
const (
	mapBytes     = 32
	mapLogSize   = 9
	mapBuckets   = 16
	mapOld       = 24
	bucketSlots  = 8
	bucketValues = bucketSlots + 16*bucketSlots
	bucketBytes  = bucketValues + 16*bucketSlots
	slotInUse    = 5 // at least
)

func (t *taskStacks) mapPairs(at uint64, rd *ptrace.Reader, list []byte) (count uint64) {
	bucket := t.bucket[:]
	if at == 0 || rd.Read(at, bucket[:mapBytes]) != mapBytes || word(bucket, mapOld) != 0 || bucket[mapLogSize] != 0 ||
		word(bucket, 0) == 0 || word(bucket, 0) > maxLabels {
		return 0
	}
	want := word(bucket, 0)
	if rd.Read(word(bucket, mapBuckets), bucket) != len(bucket) {
		return 0
	}
	for slot := range bucketSlots {
		if bucket[slot] < slotInUse || count == maxLabels {
			continue
		}
		to := list[labelsHead+labelsPair*count:]
		copy(to[:16], bucket[bucketSlots+16*slot:])
		copy(to[16:labelsPair], bucket[bucketValues+16*slot:])
		count++
	}
	if count != want {
		return 0
	}
	binary.LittleEndian.PutUint64(list[8:], count)
	return count
}
