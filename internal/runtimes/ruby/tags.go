// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"math/bits"
	"slices"
)

// tag is a struct rb_vm_tag, and the target of its jump.
type tag struct{ at, pc uint64 }

const mostTags = 1 << 13

// guardAt is glibc's pointer guard in tcbhead_t (x86-64).
const guardAt = 0x30

type words func(addr uint64) (uint64, bool)

// appendTags appends tags, innermost first; false: incomplete. Each lies further out.
func (j *jump) appendTags(tags []tag, at uint64, get words) ([]tag, bool) {
	for at != 0 {
		pc, ok := get(at + j.pc)
		prev, ok2 := get(at + j.prev)
		if !ok || !ok2 || len(tags) == mostTags || prev != 0 && prev <= at {
			return tags, false
		}
		tags = append(tags, tag{at, pc})
		at = prev
	}
	return tags, true
}

// tagged describes a build's tags.
type tagged struct {
	jump
	code      span // the interpreter's module
	loop      span // rb_vm_exec, by symbol
	guard     uint64
	pc        uint64 // rb_vm_exec's; 0: unknown
	confirmed bool   // by a walk
	near      uint64 // instruction code
}

func (j *tagged) address(pc uint64) uint64 {
	if j.mangled {
		return bits.RotateLeft64(pc, -17) ^ j.guard
	}
	return pc
}

// find determines the tags from current threads, else a walk does. The threads may run: a list counts if its first tag
// is still the first one afterwards.
func (j *tagged) find(v *machine) {
	list := v.threads.list[:min(len(v.threads.list), mostVoters)]
	for i := range list {
		if p := list[i].pthread; p != 0 && j.guard == 0 {
			j.guard = v.at(p + guardAt)
		}
	}
	var fit [len(jumps)]int
	for i := range list {
		at := v.at(list[i].at+uint64(v.threadEC)) + ecTag
		first := v.at(at)
		fits := j.fits(first, v.Word)
		for k := range jumps {
			if fits[k] && v.at(at) == first {
				fit[k]++
			}
		}
	}
	best := 0
	for k := range jumps {
		if fit[k] > fit[best] {
			best = k
		}
	}
	if fit[best] > 0 {
		j.jump = jumps[best]
		j.vote(v, list)
	}
}

// learn is find for one thread that does not run.
func (j *tagged) learn(first uint64, get words) {
	fits := j.fits(first, get)
	for k := range jumps {
		if fits[k] {
			j.jump = jumps[k]
			return
		}
	}
}

// fits reports in which of the layouts the tags are whole and jump into the interpreter's code.
func (j *tagged) fits(first uint64, get words) (fits [len(jumps)]bool) {
	for k := range jumps {
		tags, whole := jumps[k].appendTags(nil, first, get)
		fits[k] = whole && isStack(tags) && !slices.ContainsFunc(tags, func(t tag) bool { return !j.isTarget(t.pc) })
	}
	return fits
}

// isTarget reports whether a tag's word is an address in the interpreter's code. Without a guard (musl), it is never
// mangled.
func (j *tagged) isTarget(pc uint64) bool {
	return j.code.has(pc) || j.guard != 0 && j.code.has(bits.RotateLeft64(pc, -17)^j.guard)
}

// mostApart bounds a stack, in bytes.
const mostApart = 1 << 30

func isStack(tags []tag) bool {
	for i := 1; i < len(tags); i++ {
		if tags[i].at-tags[i-1].at > mostApart {
			return false
		}
	}
	return len(tags) > 0
}

const mostVoters = 64

// vote finds rb_vm_exec's tags: as many as frames entered from C.
func (j *tagged) vote(v *machine, list []thread) {
	votes := map[uint64]int{}
	near := uint64(0)
	for i := range list {
		ec := v.at(list[i].at + uint64(v.threadEC))
		tags, whole := j.appendTags(nil, v.at(ec+ecTag), v.Word)
		frames, ok := v.appendFrames(nil, ec, v.Word)
		if !whole || !ok {
			continue
		}
		if near == 0 {
			near = v.handler(frames)
		}
		j.count(votes, tags, entries(frames))
	}
	j.elect(votes, near)
}

func (j *tagged) count(votes map[uint64]int, tags []tag, entered int) {
	n := map[uint64]int{}
	for _, t := range tags {
		n[t.pc]++
	}
	for pc, k := range n {
		switch {
		case j.loop.has(j.address(pc)):
			votes[pc] += 1 << 20
		case k == entered:
			votes[pc]++
		default:
			votes[pc]--
		}
	}
}

// elect chooses the program counter with most votes, then the nearest to instruction code.
func (j *tagged) elect(votes map[uint64]int, near uint64) {
	best, ties := 0, 0
	for pc, n := range votes {
		if n > 0 {
			ties++
		}
		if n > best || n == best && n > 0 && distance(j.address(pc), near) < distance(j.address(j.pc), near) {
			best, j.pc = n, pc
		}
	}
	j.near, j.confirmed = near, j.confirmed || ties == 1 && best > 1
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// handler gives some instruction's code, 0: none.
func (v *machine) handler(frames []frame) uint64 {
	for i := range frames {
		if f := &frames[i]; f.pc != 0 {
			return v.at(v.at(v.at(f.iseq+iseqBody) + bodyCode))
		}
	}
	return 0
}
