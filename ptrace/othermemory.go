// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// OtherMemory reads further memory of a stopped thread, such as a goroutine's stack. Its methods must not allocate or
// block. [Wrapped] has the last three.
type OtherMemory interface {
	// Regions reads with rd into its own buffers, sets Addr and Bytes in out, and returns their number.
	Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int
	// Prefetch returns at most [MaxPrefetch] places, known beforehand, whose Bytes are read together with the stack.
	Prefetch(regs *frames.Regs) []frames.Region
	// StackEnd returns the end of the copy of the stack, 0 if unknown. The places of Prefetch have been read.
	StackEnd(regs *frames.Regs, rd *Reader) uint64
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

// Prefetch implements [OtherMemory].
func (w Wrapped) Prefetch(regs *frames.Regs) []frames.Region {
	if w.Inner == nil {
		return nil
	}
	return w.Inner.Prefetch(regs)
}

// StackEnd implements [OtherMemory].
func (w Wrapped) StackEnd(regs *frames.Regs, rd *Reader) uint64 {
	if w.Inner == nil {
		return 0
	}
	return w.Inner.StackEnd(regs, rd)
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
	tid        int
	memory     *Memory
	readsLeft  int
	prefetched bool
	stackAt    uint64
	stack      []byte
	vectors    *vectors
	deadline   *readDeadline
}

// Stack returns the address and size of the copy of the stack.
func (r *Reader) Stack() (addr uint64, n int) { return r.stackAt, len(r.stack) }

// StackBytes returns the copy of the stack.
func (r *Reader) StackBytes() []byte { return r.stack }

// Prefetched reports whether the places of Prefetch were read.
func (r *Reader) Prefetched() bool { return r.prefetched }

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

// Prefetch reads the places of f, as a stop does.
func (r *Reader) Prefetch(f OtherMemory, regs *frames.Regs) {
	places, want := f.Prefetch(regs), 0
	for i := range places {
		want += len(places[i].Bytes)
	}
	r.prefetched = want > 0 && len(places) <= MaxPrefetch && r.ReadAll(places) == want
}

// MappingStart returns the start of addr's mapping, 0 if unknown.
func (r *Reader) MappingStart(addr uint64) uint64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.MappingStart(addr)
}

// UIO_MAXIOV is 1024.
const maxParts = 64

// MaxPrefetch is the most places of Prefetch of an [OtherMemory].
const MaxPrefetch = maxParts - 1

// ReadAll reads len(Bytes) bytes at each Addr of the first [MaxPrefetch]+1 parts, as one read. It ends at an incomplete
// part and returns the number of bytes.
func (r *Reader) ReadAll(parts []frames.Region) int {
	if r.readsLeft <= 0 {
		return 0
	}
	r.readsLeft--
	if r.memory != nil {
		return copyParts(r.memory, r.tid, parts, r.deadline)
	}
	if n, _ := r.deadline.nextPiece(1); n == 0 {
		return 0
	}
	return readParts(r.tid, parts, r.vectors)
}

// ReadPresent is ReadAll in one system call, of places that [procmem.Memory.CheckPlaces] found present. After until it
// reads nothing.
func (r *Reader) ReadPresent(parts []frames.Region, until int64) int {
	if r.readsLeft <= 0 || len(parts) == 0 || procmem.Now() >= until {
		return 0
	}
	if n, _ := r.deadline.nextPiece(1); n == 0 {
		return 0
	}
	r.readsLeft--
	return readParts(r.tid, parts, r.vectors)
}

// copyParts copies each part apart: a process_vm_readv(2) of all parts would wait for missing pages.
func copyParts(m *Memory, tid int, parts []frames.Region, deadline *readDeadline) (n int) {
	for i := range parts {
		got := deadline.read(m, tid, parts[i].Addr, parts[i].Bytes)
		if n += got; got < len(parts[i].Bytes) {
			break
		}
	}
	return n
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
	var r Reader
	r.Reset(tid, memory)
	return r
}

// Reset sets r as [NewReader] does, without allocation if r is reused.
func (r *Reader) Reset(tid int, memory *Memory) {
	if r.vectors == nil {
		r.vectors = &vectors{}
	}
	*r = Reader{tid: tid, memory: memory, readsLeft: defaultReads, vectors: r.vectors}
}

// AllowReads raises the number of reads left to n, at most [MaxReads].
func (r *Reader) AllowReads(n int) { r.readsLeft = min(max(n, r.readsLeft), MaxReads) }

// SetStack sets the copy of the stack.
func (r *Reader) SetStack(addr uint64, b []byte) { r.stackAt, r.stack = addr, b }
