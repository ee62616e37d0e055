// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
)

// OtherMemory reads further memory of a stopped thread, such as a goroutine's stack. Its methods must not allocate or
// block. [Wrapped] has ReadLimit.
type OtherMemory interface {
	// Regions reads with rd into its own buffers, sets Addr and Bytes in out, and returns their number.
	Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int
	// ReadLimit returns the most reads, up to [MaxReads]; 32 are always permitted.
	ReadLimit() int
}

// A read takes about 3 µs. MaxReads is the largest ReadLimit of an [OtherMemory].
const (
	defaultReads = 32
	MaxReads     = 256
)

// Wrapped is embedded in an [OtherMemory] that extends Inner, which may be nil.
type Wrapped struct{ Inner OtherMemory }

// InnerRegions is Regions of Inner.
func (w Wrapped) InnerRegions(regs *frames.Regs, rd *Reader, out []frames.Region) int {
	if w.Inner == nil {
		return 0
	}
	return w.Inner.Regions(regs, rd, out)
}

// ReadLimit implements [OtherMemory].
func (w Wrapped) ReadLimit() int {
	if w.Inner == nil {
		return defaultReads
	}
	return w.Inner.ReadLimit()
}

// Reader reads memory of a thread's process. One that a stop passes is valid during that call.
type Reader struct {
	tid       int
	memory    *Memory
	readsLeft int
	stackAt   uint64
	stack     []byte
	deadline  *readDeadline
}

// Stack returns the address and size of the copy of the stack.
func (r *Reader) Stack() (addr uint64, n int) { return r.stackAt, len(r.stack) }

// StackBytes returns the copy of the stack.
func (r *Reader) StackBytes() []byte { return r.stack }

// ReadsLeft returns the number of reads left.
func (r *Reader) ReadsLeft() int { return r.readsLeft }

// Read reads memory at addr. It returns the number of bytes, 0 without reads left.
func (r *Reader) Read(addr uint64, buf []byte) int {
	if r.readsLeft <= 0 {
		return 0
	}
	r.readsLeft--
	return r.deadline.read(r.memory, r.tid, addr, buf)
}

// MappingStart returns the start of addr's mapping, 0 if unknown.
func (r *Reader) MappingStart(addr uint64) uint64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.MappingStart(addr)
}

// Word reads the 8 bytes at addr.
func (r *Reader) Word(addr uint64) (uint64, bool) {
	var b [8]byte
	if r.Read(addr, b[:]) != len(b) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// NewReader reads from a process that is not stopped. tid is any of its threads; memory may be nil.
func NewReader(tid int, memory *Memory) Reader {
	return Reader{tid: tid, memory: memory, readsLeft: defaultReads}
}

// AllowReads raises the number of reads left to n, at most [MaxReads].
func (r *Reader) AllowReads(n int) { r.readsLeft = min(max(n, r.readsLeft), MaxReads) }

// SetStack sets the copy of the stack.
func (r *Reader) SetStack(addr uint64, b []byte) { r.stackAt, r.stack = addr, b }
