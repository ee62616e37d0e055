// SPDX-License-Identifier: Apache-2.0

package frames

import "encoding/binary"

// Memory is the walked process's memory: a snapshot, live, or of a core.
type Memory interface {
	// Word reads 8 bytes, little endian; false if they cannot be read.
	Word(addr Addr) (uint64, bool)
	// Cut reports whether the process may have memory at addr that was not copied.
	Cut(addr Addr) bool
}

// Region is a piece of copied memory.
type Region struct {
	Addr  Addr
	Bytes []byte
}

func (r *Region) word(addr Addr) (uint64, bool) {
	off := addr - r.Addr
	if off >= uint64(len(r.Bytes)) {
		return 0, false
	}
	b := r.Bytes[off:]
	if len(b) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// Snapshot is a [Memory] of copied bytes.
type Snapshot struct {
	// Stack begins at, or somewhat below, the stack pointer.
	Stack    Region
	StackEnd Addr // of the stack's mapping; 0 if unknown
	// Others are further copies, as of a goroutine's stack while its thread runs on the scheduler's.
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

// One of [Snapshot.Others] is assumed to go on for so many bytes beyond its copy.
const maxBeyondCopy = 1 << 20

// Cut implements [Memory].
func (s *Snapshot) Cut(addr Addr) bool {
	end := s.Stack.Addr + uint64(len(s.Stack.Bytes))
	if addr+8 > end && addr < s.StackEnd && addr >= s.Stack.Addr {
		return true
	}
	for i := range s.Others {
		o := &s.Others[i]
		if end := o.Addr + uint64(len(o.Bytes)); addr+8 > end && addr < end+maxBeyondCopy {
			return true
		}
	}
	return false
}

// wordRecorder records what is read of a Memory.
type wordRecorder struct {
	Memory
	last, unread Addr // words that could and could not be read
}

// Word implements [Memory].
func (r *wordRecorder) Word(addr Addr) (uint64, bool) {
	v, ok := r.Memory.Word(addr)
	if ok {
		r.last = addr
	} else {
		r.unread = addr
	}
	return v, ok
}
