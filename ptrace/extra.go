// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Extra reads further memory while a thread is stopped, such as a goroutine's stack.
type Extra interface {
	// Regions reads with rd into its own buffers, sets Addr and Bytes in out, and gives the number set. It must
	// not allocate or block.
	Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int
}

// Prefetcher is an Extra with places known beforehand.
type Prefetcher interface {
	// Prefetch gives at most [MaxPrefetch] places, with Bytes to fill, to be read with the stack
	// ([Reader.Prefetched]). Called in the stop.
	Prefetch(regs *frames.Regs) []frames.Region
}

// StackEnder is a Prefetcher that finds the stack's end.
type StackEnder interface {
	// StackEnd gives the end of the stack's copy, 0 if unknown. Called in the stop, after Prefetch; it may read.
	StackEnd(regs *frames.Regs, rd *Reader) uint64
}

// PresentPrefetcher is a Prefetcher whose places were checked before the stop.
type PresentPrefetcher interface {
	// PresentUntil gives until when all are known to be present (CLOCK_MONOTONIC, ns; 0: unknown): one system call
	// then reads them. Called in the stop, after Prefetch.
	PresentUntil() int64
}

// ManyReads is an Extra with more reads.
type ManyReads interface {
	// Reads gives their number, at most [MostReads]; 0: as usual.
	Reads() int
}

// maxReads and MostReads bound the reads of an Extra and of [ManyReads], about 3 µs each.
const (
	maxReads  = 32
	MostReads = 256
)

func readsOf(e Extra) int {
	if m, ok := e.(ManyReads); ok {
		return min(max(m.Reads(), maxReads), MostReads)
	}
	return maxReads
}

// Reader reads memory of the stopped thread's process, during the call that gets it.
type Reader struct {
	tid        int
	memory     *Memory
	left       int
	prefetched bool
	stackAt    uint64
	stack      []byte
	vectors    *vectors
	allowed    *allowance // nil: no limit
}

// Stack gives the range of the stack's copy.
func (r *Reader) Stack() (addr uint64, n int) { return r.stackAt, len(r.stack) }

// StackBytes gives its bytes.
func (r *Reader) StackBytes() []byte { return r.stack }

// Prefetched reports whether a [Prefetcher]'s places were read.
func (r *Reader) Prefetched() bool { return r.prefetched }

// Left gives the reads left.
func (r *Reader) Left() int { return r.left }

// Read reads memory at addr and gives the bytes read, 0 if none or without reads left.
func (r *Reader) Read(addr uint64, buf []byte) int {
	if r.left <= 0 {
		return 0
	}
	r.left--
	switch {
	case r.memory == nil && r.allowed == nil:
		return readVM(r.tid, addr, buf)
	case r.memory == nil:
		return r.allowed.readVM(r.tid, addr, buf)
	case r.allowed == nil:
		return r.memory.Copy(r.tid, addr, buf)
	}
	return r.allowed.copy(r.memory, r.tid, addr, buf)
}

// Start gives the start of addr's mapping, 0 if unknown.
func (r *Reader) Start(addr uint64) uint64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.Start(addr)
}

// maxParts small places take about as long as two reads.
const maxParts = 64

// MaxPrefetch is the most places of a [Prefetcher].
const MaxPrefetch = maxParts - 1

// ReadAll reads len(Bytes) bytes at each Addr of at most 64 parts, as one read. It gives the bytes up to the
// first part that cannot be read whole.
func (r *Reader) ReadAll(parts []frames.Region) int {
	if r.left <= 0 {
		return 0
	}
	r.left--
	if r.memory != nil {
		return copyParts(r.memory, r.tid, parts, r.allowed)
	}
	if r.allowed != nil {
		if n, _ := r.allowed.step(1); n == 0 {
			return 0
		}
	}
	return readParts(r.tid, parts, r.vectors)
}

// ReadPresent is ReadAll in one system call, until a moment, of places that [procmem.Memory.CheckPlaces]
// found present.
func (r *Reader) ReadPresent(parts []frames.Region, until int64) int {
	if r.left <= 0 || len(parts) == 0 || procmem.Now() >= until {
		return 0
	}
	if r.allowed != nil {
		if n, _ := r.allowed.step(1); n == 0 {
			return 0
		}
	}
	r.left--
	return readParts(r.tid, parts, r.vectors)
}

// copyParts avoids one process_vm_readv, which waits for missing pages.
func copyParts(m *Memory, tid int, parts []frames.Region, a *allowance) (n int) {
	for i := range parts {
		var got int
		if a == nil {
			got = m.Copy(tid, parts[i].Addr, parts[i].Bytes)
		} else {
			got = a.copy(m, tid, parts[i].Addr, parts[i].Bytes)
		}
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

// ReaderOf gives a reader for passive reads of a process that is not stopped. tid is any of its threads; memory
// may be nil.
func ReaderOf(tid int, memory *Memory) Reader {
	var r Reader
	r.ReadFrom(tid, memory)
	return r
}

// ReadFrom sets r to what [ReaderOf] gives, without allocation if r is reused.
func (r *Reader) ReadFrom(tid int, memory *Memory) {
	if r.vectors == nil {
		r.vectors = &vectors{}
	}
	*r = Reader{tid: tid, memory: memory, left: maxReads, vectors: r.vectors}
}

// Allow raises the reads left to n, at most [MostReads].
func (r *Reader) Allow(n int) { r.left = min(max(n, r.left), MostReads) }

// Copied sets [Reader.Stack].
func (r *Reader) Copied(addr uint64, b []byte) { r.stackAt, r.stack = addr, b }
