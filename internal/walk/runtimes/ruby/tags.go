// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"math/bits"
	"slices"

	"prywalk/internal/walk/managed"
)

type tag struct{ at, pc uint64 }

const maxTags = 1 << 13

// pointerGuardTLS is in glibc's tcbhead_t (x86-64).
const pointerGuardTLS = 0x30

// appendTags appends a list, innermost first; it returns false if it is incomplete.
func (j *jumpLayout) appendTags(tags []tag, at uint64, get managed.WordReader) ([]tag, bool) {
	for at != 0 {
		pc, ok := get(at + j.pc)
		prev, ok2 := get(at + j.prev)
		if !ok || !ok2 || len(tags) == maxTags || prev != 0 && prev <= at {
			return tags, false
		}
		tags = append(tags, tag{at, pc})
		at = prev
	}
	return tags, true
}

type tagInfo struct {
	layout        jumpLayout
	code          managed.Span // the interpreter's module
	vmExec        managed.Span // rb_vm_exec, by symbol
	pointerGuard  uint64
	execPC        uint64 // rb_vm_exec's, as saved; 0 means unknown
	execPCCertain bool
	handlerCode   uint64
}

func (info *tagInfo) address(pc uint64) uint64 {
	if info.layout.mangled {
		return bits.RotateLeft64(pc, -17) ^ info.pointerGuard
	}
	return pc
}

// find uses all threads, which may run: a list counts if its first tag is the same afterwards.
func (info *tagInfo) find(m *rubyVM) {
	list := m.threads.list[:min(len(m.threads.list), maxVoters)]
	for i := range list {
		if p := list[i].pthread; p != 0 && info.pointerGuard == 0 {
			info.pointerGuard = m.heap.word(p + pointerGuardTLS)
		}
	}
	var fit [len(jumpLayouts)]int
	for i := range list {
		at := m.heap.word(list[i].at+uint64(m.heap.threadEC)) + ecTag
		first := m.heap.word(at)
		fits := info.fits(first, m.heap.memory.Word)
		for k := range jumpLayouts {
			if fits[k] && m.heap.word(at) == first {
				fit[k]++
			}
		}
	}
	best := 0
	for k := range jumpLayouts {
		if fit[k] > fit[best] {
			best = k
		}
	}
	if fit[best] > 0 {
		info.layout = jumpLayouts[best]
		info.findExecPC(m, list)
	}
}

func (info *tagInfo) findLayout(first uint64, get managed.WordReader) {
	fits := info.fits(first, get)
	for k := range jumpLayouts {
		if fits[k] {
			info.layout = jumpLayouts[k]
			return
		}
	}
}

func (info *tagInfo) fits(first uint64, get managed.WordReader) (fits [len(jumpLayouts)]bool) {
	for k := range jumpLayouts {
		tags, whole := jumpLayouts[k].appendTags(nil, first, get)
		fits[k] = whole && isStack(tags) && !slices.ContainsFunc(tags, func(t tag) bool { return !info.isTarget(t.pc) })
	}
	return fits
}

// isTarget accepts addresses in the interpreter; without a guard (musl) they are not mangled.
func (info *tagInfo) isTarget(pc uint64) bool {
	return info.code.Has(pc) || info.pointerGuard != 0 && info.code.Has(bits.RotateLeft64(pc, -17)^info.pointerGuard)
}

const maxNativeStack = 1 << 30 // bytes

func isStack(tags []tag) bool {
	for i := 1; i < len(tags); i++ {
		if tags[i].at-tags[i-1].at > maxNativeStack {
			return false
		}
	}
	return len(tags) > 0
}

const maxVoters = 64

// findExecPC finds rb_vm_exec's tags: as many as frames entered from C.
func (info *tagInfo) findExecPC(m *rubyVM, list []thread) {
	votes := map[uint64]int{}
	handler := uint64(0)
	for i := range list {
		ec := m.heap.word(list[i].at + uint64(m.heap.threadEC))
		tags, whole := info.layout.appendTags(nil, m.heap.word(ec+ecTag), m.heap.memory.Word)
		frames, ok := m.heap.appendFrames(nil, ec, m.heap.memory.Word)
		if !whole || !ok {
			continue
		}
		if handler == 0 {
			handler = m.anyHandler(frames)
		}
		info.countPCs(votes, tags, entries(frames))
	}
	info.chooseExecPC(votes, handler)
}

func (info *tagInfo) countPCs(votes map[uint64]int, tags []tag, entered int) {
	n := map[uint64]int{}
	for _, t := range tags {
		n[t.pc]++
	}
	for pc, k := range n {
		switch {
		case info.vmExec.Has(info.address(pc)):
			votes[pc] += 1 << 20
		case k == entered:
			votes[pc]++
		default:
			votes[pc]--
		}
	}
}

func (info *tagInfo) chooseExecPC(votes map[uint64]int, handler uint64) {
	best, ties := 0, 0
	apart := func(pc uint64) uint64 { return distance(info.address(pc), handler) }
	for pc, n := range votes {
		if n > 0 {
			ties++
		}
		if n > best || n == best && n > 0 && apart(pc) < apart(info.execPC) {
			best, info.execPC = n, pc
		}
	}
	info.handlerCode, info.execPCCertain = handler, info.execPCCertain || ties == 1 && best > 1
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

func (m *rubyVM) anyHandler(frames []frame) uint64 {
	for i := range frames {
		if f := &frames[i]; f.pc != 0 {
			return m.heap.word(m.heap.word(m.heap.word(f.iseq+iseqBody) + bodyISeqEncoded))
		}
	}
	return 0
}
