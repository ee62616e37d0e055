// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Extra reads further memory while a thread is stopped, such as the stack of a
// goroutine whose thread runs on its scheduler's stack.
type Extra interface {
	// Regions is called while the thread is stopped: each microsecond counts, and
	// it must not allocate or block. It reads with rd into the buffers that it
	// keeps, sets Addr and Bytes in out, and gives the number of those that it set.
	Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int
}

// Prefetcher is an Extra that knows beforehand what it is going to read.
type Prefetcher interface {
	// Prefetch gives places, at most [MaxPrefetch], that Regions is going to read, each with as many Bytes to
	// fill: they are read together with the stack. If that works, [Reader.Prefetched] is true. It is called while the
	// thread is stopped.
	Prefetch(regs *frames.Regs) []frames.Region
}

// StackEnder is a Prefetcher that can tell from what was read by a prefetch where the thread's stack ends.
type StackEnder interface {
	// StackEnd gives the address at which the copy of the stack ends at the latest, 0 if it is not known. It is called
	// while the thread is stopped, after Prefetch, and may read on.
	StackEnd(regs *frames.Regs, rd *Reader) uint64
}

// Foreseer is a Prefetcher that has had the kernel asked, before the stop, whether its places are there.
type Foreseer interface {
	// Foreseen gives until when the answer counts that all of them are (CLOCK_MONOTONIC, ns; 0: it does not). They are
	// then read in one system call. It is called while the thread is stopped, after Prefetch.
	Foreseen() int64
}

// ManyReads is an Extra that reads more often than is usual.
type ManyReads interface {
	// Reads gives how many reads it may make, within [MostReads]; 0: as many as is usual.
	Reads() int
}

// maxReads bounds the reads of one Extra, at about 3 µs each, MostReads those of one that asks for more.
const (
	maxReads  = 32
	MostReads = 256
)

// readsOf gives how many reads an Extra may make.
func readsOf(e Extra) int {
	if m, ok := e.(ManyReads); ok {
		return min(max(m.Reads(), maxReads), MostReads)
	}
	return maxReads
}

// Reader reads memory of the stopped thread's process. It is valid only during
// the call that it is passed to.
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

// Stack gives what has been copied of the stack: from which address, and how many bytes.
func (r *Reader) Stack() (addr uint64, n int) { return r.stackAt, len(r.stack) }

// StackBytes gives these bytes.
func (r *Reader) StackBytes() []byte { return r.stack }

// Prefetched reports whether the places of [Prefetcher] have been read.
func (r *Reader) Prefetched() bool { return r.prefetched }

// Left gives how many reads may still be made.
func (r *Reader) Left() int { return r.left }

// Read reads memory at addr into buf and gives the number of bytes, 0 if nothing
// can be read or too many reads were made.
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

// Start gives where the mapping begins that addr lies in, 0 if that is not known.
func (r *Reader) Start(addr uint64) uint64 {
	if r.memory == nil {
		return 0
	}
	return r.memory.Start(addr)
}

// maxParts is how many places ReadAll reads at once: 64 pieces of some hundred bytes take about as long as two reads.
const maxParts = 64

// MaxPrefetch is how many places a [Prefetcher] may give.
const MaxPrefetch = maxParts - 1

// ReadAll reads several places at once: as many bytes at each Addr
// as its Bytes are long. It gives the number of bytes in all, counted in the order of parts
// up to the first that cannot be read as a whole. Parts beyond the 64th are not read.
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

// ReadForeseen is ReadAll of places that [procmem.Memory.ForeseePlaces] has found there, in one system call. After the
// moment until they may not be there any more: nothing is read then.
func (r *Reader) ReadForeseen(parts []frames.Region, until int64) int {
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

// copyParts reads several places, up to the first that cannot be read as a whole. One call for all would be
// process_vm_readv, which waits for pages that are missing.
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

// extra reads the stack and calls the caller's Extra. Should that panic, the thread is let go first.
func (c *Controller) extra(l *Look, req *Request, out *Stop) int {
	ok := false
	defer func() {
		if !ok {
			c.letGo(l)
		}
	}()
	c.decodeRegs(out)
	c.reader = Reader{tid: l.tid, memory: req.Memory, left: readsOf(req.Extra), vectors: &c.vectors, allowed: &c.allowed}
	if !c.stackAndPrefetch(l.tid, req, out) {
		c.copyStack(l.tid, req)
	}
	c.copyTail(l.tid, req)
	c.reader.stackAt, c.reader.stack = c.stackAt, c.stackTo(req)[:c.stackN]
	n := req.Extra.Regions(&out.Regs, &c.reader, req.Regions)
	c.reader.left, c.reader.stack = 0, nil
	ok = true
	return min(max(n, 0), len(req.Regions))
}

// stackAndPrefetch reads what Extra is going to need and the stack, in this order, as the stack may end earlier. It
// gives false if there is nothing to prefetch, or not all of it can be read.
func (c *Controller) stackAndPrefetch(tid int, req *Request, out *Stop) bool {
	f, ok := req.Extra.(Prefetcher)
	if !ok {
		return false
	}
	places := f.Prefetch(&out.Regs)
	if len(places) == 0 || len(places) >= maxParts {
		return false
	}
	n := copy(c.parts[:], places)
	want := 0
	for i := range places {
		want += len(places[i].Bytes)
	}
	c.askStack(req)
	if req.Memory != nil {
		return c.prefetchThenStack(tid, f, req, &out.Regs, n, want)
	}
	c.parts[n] = frames.Region{Addr: c.stackAt, Bytes: c.stackTo(req)[:c.stackAsked]}
	got := readParts(tid, c.parts[:n+1], &c.vectors)
	c.parts[n].Bytes = nil // it is the caller's
	if got <= want {
		return false
	}
	c.reader.prefetched, c.stackN = true, got-want
	return true
}

// prefetchThenStack reads the n places, want bytes in all, and then of the stack as much as they tell.
func (c *Controller) prefetchThenStack(tid int, f Prefetcher, req *Request, regs *frames.Regs, n, want int) bool {
	if !c.readForeseen(tid, f, n, want) && copyParts(req.Memory, tid, c.parts[:n], &c.allowed) != want {
		return false
	}
	if e, ok := f.(StackEnder); ok {
		c.stackAsked = upTo(e.StackEnd(regs, &c.reader), c.stackAt, c.stackAsked)
	}
	if len(req.Stack) > 0 {
		c.stackN = c.allowed.copy(req.Memory, tid, c.stackAt, c.stackTo(req)[:c.stackAsked])
	}
	c.reader.prefetched = true
	return true
}

// readForeseen reads the n places, want bytes in all, in one system call, if they are known to be there.
func (c *Controller) readForeseen(tid int, f Prefetcher, n, want int) bool {
	s, ok := f.(Foreseer)
	if !ok || procmem.Now() >= s.Foreseen() {
		return false
	}
	if steps, _ := c.allowed.step(1); steps == 0 {
		return false
	}
	return readParts(tid, c.parts[:n], &c.vectors) == want
}

// ReaderOf gives a reader of a process that is not stopped, for a look that proves
// in another way that what it reads stands still. tid is any of its threads, memory its memory or nil.
func ReaderOf(tid int, memory *Memory) Reader {
	var r Reader
	r.ReadFrom(tid, memory)
	return r
}

// ReadFrom makes it what [ReaderOf] gives; a Reader that is used again allocates nothing.
func (r *Reader) ReadFrom(tid int, memory *Memory) {
	if r.vectors == nil {
		r.vectors = &vectors{}
	}
	*r = Reader{tid: tid, memory: memory, left: maxReads, vectors: r.vectors}
}

// Allow lets a Reader of [Reader.ReadFrom] make n reads, if that is more than usual, and at most [MostReads].
func (r *Reader) Allow(n int) { r.left = min(max(n, r.left), MostReads) }

// Copied tells a Reader of [Reader.ReadFrom] what has been copied of the stack ([Reader.Stack]).
func (r *Reader) Copied(addr uint64, b []byte) { r.stackAt, r.stack = addr, b }
