// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// OtherMemory reads further memory of a stopped thread, as a goroutine's stack. Its methods, and those of the optional
// interfaces below, must not allocate or block.
type OtherMemory interface {
	// Regions reads with rd into its own buffers, sets Addr and Bytes in out, and returns how many.
	Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int
}

// Prefetcher is an OtherMemory with places known beforehand.
type Prefetcher interface {
	// Prefetch returns at most [MaxPrefetch] places, whose Bytes are filled together with the stack
	// ([Reader.Prefetched]).
	Prefetch(regs *frames.Regs) []frames.Region
}

// StackEnder is a Prefetcher whose places show where the stack ends.
type StackEnder interface {
	// StackEnd, called when the places were read, returns the end of the copy of the stack, 0 if unknown.
	StackEnd(regs *frames.Regs, rd *Reader) uint64
}

// PresentPrefetcher is a Prefetcher whose places are checked before the stop.
type PresentPrefetcher interface {
	// PresentUntil returns until when (CLOCK_MONOTONIC, ns; 0 if unknown) all places are present, so that one system
	// call can read them.
	PresentUntil() int64
}

// ManyReads is an OtherMemory that may need more than maxReads reads.
type ManyReads interface {
	// Reads is at most [MostReads]; 0: the default.
	Reads() int
}

// maxReads is the default number of reads of an OtherMemory, MostReads the largest. A read takes about 3 µs.
const (
	maxReads  = 32
	MostReads = 256
)

func readsOf(e OtherMemory) int {
	if m, ok := e.(ManyReads); ok {
		return min(max(m.Reads(), maxReads), MostReads)
	}
	return maxReads
}

// Wrapped is embedded in an [OtherMemory] that extends Inner, which may be nil.
type Wrapped struct{ Inner OtherMemory }

// InnerRegions is Regions of Inner.
func (w Wrapped) InnerRegions(regs *frames.Regs, rd *Reader, out []frames.Region) int {
	if w.Inner == nil {
		return 0
	}
	return w.Inner.Regions(regs, rd, out)
}

// Prefetch implements [Prefetcher].
func (w Wrapped) Prefetch(regs *frames.Regs) []frames.Region {
	if f, ok := w.Inner.(Prefetcher); ok {
		return f.Prefetch(regs)
	}
	return nil
}

// StackEnd implements [StackEnder].
func (w Wrapped) StackEnd(regs *frames.Regs, rd *Reader) uint64 {
	if e, ok := w.Inner.(StackEnder); ok {
		return e.StackEnd(regs, rd)
	}
	return 0
}

// Reads implements [ManyReads].
func (w Wrapped) Reads() int {
	if m, ok := w.Inner.(ManyReads); ok {
		return m.Reads()
	}
	return 0
}

// Reader reads memory of a stopped thread's process. It is valid during the call that gets it.
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

// Stack returns the address and size of the copy of the stack.
func (r *Reader) Stack() (addr uint64, n int) { return r.stackAt, len(r.stack) }

// StackBytes returns the copy of the stack.
func (r *Reader) StackBytes() []byte { return r.stack }

// Prefetched reports whether a [Prefetcher]'s places were read.
func (r *Reader) Prefetched() bool { return r.prefetched }

// Left returns the number of reads left.
func (r *Reader) Left() int { return r.left }

// Read reads memory at addr. It returns the number of bytes: 0 if unreadable, or without reads left.
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

// Prefetch reads the places of f, as a stop does ([Reader.Prefetched]).
func (r *Reader) Prefetch(f Prefetcher, regs *frames.Regs) {
	places, want := f.Prefetch(regs), 0
	for i := range places {
		want += len(places[i].Bytes)
	}
	r.prefetched = want > 0 && len(places) <= MaxPrefetch && r.ReadAll(places) == want
}

// Start returns the start of addr's mapping, 0 if unknown.
func (r *Reader) Start(addr uint64) uint64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.Start(addr)
}

// maxParts is the most places of one read, which then takes about as long as two.
const maxParts = 64

// MaxPrefetch is the most places of a [Prefetcher].
const MaxPrefetch = maxParts - 1

// ReadAll reads len(Bytes) bytes at each Addr of at most 64 parts, as one read, and returns the bytes before the first
// incomplete part.
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

// ReadPresent is ReadAll in one system call, of places that [procmem.Memory.CheckPlaces] found present until a time;
// later it reads nothing.
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

// copyParts reads one by one: process_vm_readv(2) of all would wait for missing pages.
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

// ReaderOf reads from a process that is not stopped. tid is any of its threads; memory may be nil.
func ReaderOf(tid int, memory *Memory) Reader {
	var r Reader
	r.ReadFrom(tid, memory)
	return r
}

// ReadFrom sets r as [ReaderOf] does, without allocation if r is reused.
func (r *Reader) ReadFrom(tid int, memory *Memory) {
	if r.vectors == nil {
		r.vectors = &vectors{}
	}
	*r = Reader{tid: tid, memory: memory, left: maxReads, vectors: r.vectors}
}

// Allow raises the number of reads left to n, at most [MostReads].
func (r *Reader) Allow(n int) { r.left = min(max(n, r.left), MostReads) }

// Copied sets the copy of the stack ([Reader.Stack], [Reader.StackBytes]).
func (r *Reader) Copied(addr uint64, b []byte) { r.stackAt, r.stack = addr, b }
