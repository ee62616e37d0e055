// SPDX-License-Identifier: Apache-2.0

package frames

import "encoding/binary"

// Memory is what a walk reads the stack from: a snapshot, a live process, or a
// core.
type Memory interface {
	// Word reads the 8 bytes at addr as a little-endian number; false if they
	// cannot be had.
	Word(addr Addr) (uint64, bool)
	// Cut reports whether addr lies where the process has memory of which this Memory holds no copy. That is the
	// difference between a copy that is too short and an address that is wrong.
	Cut(addr Addr) bool
}

// Region is a piece of copied memory.
type Region struct {
	Addr  Addr
	Bytes []byte
}

// word reads at addr, or reports that the region does not hold it.
func (r *Region) word(addr Addr) (uint64, bool) {
	off := addr - r.Addr
	if n := uint64(len(r.Bytes)); n < 8 || off > n-8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.Bytes[off:]), true
}

// Snapshot is [Memory] over copied bytes: the stack, and at most a few other
// pieces that were copied in the same stop. The zero value holds nothing.
type Snapshot struct {
	// Stack is the piece that starts at (or somewhat below) the stack pointer.
	Stack Region
	// StackEnd is the end of the mapping that the stack lies in, zero if it is
	// not known; memory from the end of Stack up to there exists, uncopied.
	StackEnd Addr
	// Others are further pieces, such as the stack of a goroutine whose thread
	// runs on its scheduler's stack.
	Others []Region
}

// Word implements [Memory].
func (s *Snapshot) Word(addr Addr) (uint64, bool) {
	if v, ok := s.Stack.word(addr); ok {
		return v, true
	}
	for i := range s.Others {
		if v, ok := s.Others[i].word(addr); ok {
			return v, true
		}
	}
	return 0, false
}

// Cut implements [Memory].
func (s *Snapshot) Cut(addr Addr) bool {
	end := s.Stack.Addr + uint64(len(s.Stack.Bytes))
	if addr+8 > end && addr < s.StackEnd && addr >= s.Stack.Addr {
		return true
	}
	for i := range s.Others {
		o := &s.Others[i]
		// A further piece was copied because a stack lies there; just beyond
		// its end that stack goes on.
		if end := o.Addr + uint64(len(o.Bytes)); addr+8 > end && addr < end+1<<20 {
			return true
		}
	}
	return false
}
