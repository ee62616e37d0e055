// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"sync/atomic"
)

// Memory reads the memory of one process without getting in anybody's way. It knows where the mappings end, and
// never reads beyond the one that it is asked for.
//
// A read that finds a page missing waits for whoever provides it. That can be another thread of the target
// (userfaultfd(2)), which may be stopped, or a file system. process_vm_readv(2) waits for both. /proc/PID/mem does
// not wait for a userfault. The kernel reads it without allowing a fault to be retried (mm/memory.c,
// __access_remote_vm; mm/gup.c, faultin_page), and such a fault fails at once and is told to nobody
// (fs/userfaultfd.c, handle_userfault). So anonymous memory is read by that file, but for many pages that are known to
// be there. Of other mappings, and where the process has been swapped out, only the pages are read that are there
// (proc_pid_pagemap(5)).
//
// The methods that look ([Memory.Copy], [Memory.Peek], [Memory.Start], [Memory.End]) belong to one goroutine, all
// others may be called by any.
type Memory struct {
	mem, maps, pagemap descriptor
	table              atomic.Pointer[[]Span] // sorted
	stale              atomic.Bool
	gone               atomic.Bool  // a read found the address space gone
	renewed            atomic.Int64 // when Renew last did something, CLOCK_MONOTONIC, ns
	swapped            atomic.Bool
	unanswered         atomic.Bool   // the kernel does not answer single questions
	told               atomic.Uint64 // how often its mappings were told

	recent    [8]Span // the looks': answers that are not in the table
	recentOf  *[]Span // the table at that time
	recentEnd uint8

	own      ownPages
	foreseen foreseen
	seen     uint64 // where anonymous memory was copied last; 0: nowhere
	relayed  relayed
}

// Span is a mapping.
type Span struct {
	Start, End uint64
	Kind       Kind
	// Writable: as the kernel says of it.
	Writable bool
	// Grows: the first thread's stack, which grows down to meet the stack pointer.
	Grows bool
}

// Kind says how a mapping is to be read.
type Kind uint8

// The kinds of mappings.
const (
	// NotMemory: a device, or not readable.
	NotMemory Kind = iota
	// Anonymous private memory.
	Anonymous
	// OfFile: a file's pages, or shared ones.
	OfFile
)

// mostGrowth is how far below its mapping the first thread's stack pointer is still taken to be in it: the usual limit
// of a stack that grows.
const mostGrowth = 8 << 20

// pageSize is the kernel's: 4 KiB, on arm64 up to 64 KiB.
var pageSize = uint64(os.Getpagesize())

// OpenMemory prepares for reading the memory of a thread's process. What cannot be opened is done without. No mapping
// is known then: see [Memory.SetSpans].
func OpenMemory(tid int) *Memory {
	m := &Memory{}
	m.Reopen(tid)
	return m
}

// Reopen is to be called when the process runs another program ([Memory.Stale]). tid is any of its threads.
func (m *Memory) Reopen(tid int) {
	m.stale.Store(false)
	m.gone.Store(false)
	m.told.Add(1)
	if borrowed(tid) { // it is about to get an address space of its own
		m.stale.Store(true)
		return
	}
	m.unanswered.Store(false)
	m.mem.open(tid, "mem")
	m.maps.open(tid, "maps")
	m.pagemap.open(tid, "pagemap")
}

// renewEvery is how often [Memory.Renew] opens files at most, in nanoseconds: those of a process that ends are gone,
// too, and stay so.
const renewEvery = 2e6

// Renew opens the address space anew if a read has found the one that was open gone: the process runs another
// program. The mappings of the old one are forgotten. It reports whether the process's memory is open now. It is for
// whoever looks, with nobody stopped. So stacks are not missing until the new program's mappings are told, which its
// files can take some 100 ms.
func (m *Memory) Renew(tid int) bool {
	// A kernel that does not answer single questions does not tell that the address space is gone.
	if !m.gone.Load() && !(m.stale.Load() && m.unanswered.Load()) {
		return false
	}
	now := Now()
	if now-m.renewed.Load() < renewEvery {
		return false
	}
	m.renewed.Store(now)
	table := m.table.Load()
	if m.Reopen(tid); m.Stale() {
		return false
	}
	m.table.CompareAndSwap(table, nil)
	return true
}

// Stale reports whether the address space that was opened is not the process's any more, or seems not to be.
func (m *Memory) Stale() bool { return m.stale.Load() }

// Close lets go of the process. Nobody may be reading.
func (m *Memory) Close() {
	m.mem.close()
	m.maps.close()
	m.pagemap.close()
}

// SetSpans tells the process's mappings, in rising order; the slice is kept.
func (m *Memory) SetSpans(spans []Span) { m.table.Store(&spans) }

// SetSwapped tells whether some of the process's pages lie in swap, each time that its mappings are read.
func (m *Memory) SetSwapped(swapped bool) {
	m.swapped.Store(swapped)
	m.told.Add(1)
}

// Spans gives the mappings that were told last; they must not be changed.
func (m *Memory) Spans() []Span {
	if t := m.table.Load(); t != nil {
		return *t
	}
	return nil
}

// Copy copies memory at addr, for whoever holds threads stopped, or must not be noticed. It reads as much as can be
// read without waiting for anybody, and not beyond the end of the mapping. It gives the number of bytes. tid is any
// thread of the process.
//
//go:nosplit
func (m *Memory) Copy(tid int, addr uint64, buf []byte) int {
	var s Span
	if !m.look(addr, uint64(len(buf)), &s) || s.Kind == NotMemory {
		return 0
	}
	if n := s.End - addr; n < uint64(len(buf)) {
		buf = buf[:n]
	}
	if s.Kind != Anonymous || m.swapped.Load() {
		return m.copyThere(tid, addr, buf, s.Kind)
	}
	m.seen = addr
	return m.readAnonymous(m.by(), tid, addr, buf)
}

// AwaitMappings comes back as soon as nobody holds the lock of the process's mappings to change them, which each read
// of its memory takes. It gives how long that took, in nanoseconds: a microsecond if nobody did. It is for whoever is
// about to stop a thread, and reads a byte of what was copied last; if there is no such byte, nothing.
func (m *Memory) AwaitMappings() int64 {
	var s Span
	fd := m.mem.get()
	if fd < 0 || m.seen == 0 || m.swapped.Load() || !m.find(m.seen, &s) || s.Kind != Anonymous {
		return 0
	}
	began := Now()
	var b [1]byte
	if n := preadBy(m.by(), fd, b[:], m.seen); n <= 0 && !m.Late() {
		m.seen = 0
	}
	return Now() - began
}

// Peek is [Memory.Copy] for whoever holds nobody stopped, nor is about to, and reads the same places again and
// again. About pages that are known to be the process's own the kernel is not asked. Should the process have given
// one up since (madvise(2), MADV_DONTNEED), the read may wait for its file.
func (m *Memory) Peek(tid int, addr uint64, buf []byte) int {
	if m.knows(addr, len(buf)) {
		return vmReadAll(m.by(), tid, addr, buf)
	}
	return m.Copy(tid, addr, buf)
}

// Start gives where the mapping begins that addr lies in, 0 if none is known.
//
//go:nosplit
func (m *Memory) Start(addr uint64) uint64 {
	var s Span
	if !m.look(addr, 1, &s) {
		return 0
	}
	return s.Start
}

// End gives where the mapping ends that addr lies in, 0 if none is known.
//
//go:nosplit
func (m *Memory) End(addr uint64) uint64 {
	var s Span
	if !m.look(addr, 1, &s) {
		return 0
	}
	return s.End
}

// readAnonymous reads anonymous memory.
//
//go:nosplit
func (m *Memory) readAnonymous(by *relayed, tid int, addr uint64, buf []byte) int {
	fd, done := m.mem.get(), 0
	if fd < 0 {
		return vmReadAll(by, tid, addr, buf)
	}
	if uint64(len(buf)) >= manyPages*pageSize {
		if done = m.readPresent(by, tid, addr, buf); done == len(buf) {
			return done
		}
	}
	n := preadBy(by, fd, buf[done:], addr+uint64(done))
	CountCopied(max(n, 0))
	if n == 0 && len(buf) > 0 { // the address space has gone
		m.stale.Store(true)
		m.gone.Store(true)
	}
	return done + max(n, 0)
}

// manyPages is from how many pages on the kernel is asked which of them are there. /proc/PID/mem takes the lock of the
// mappings for each page, and copies it twice; process_vm_readv takes the lock once for many.
const manyPages = 8

// readPresent reads as many pages as are known to be there, if these are many.
func (m *Memory) readPresent(by *relayed, tid int, addr uint64, buf []byte) int {
	fd := m.pagemap.get()
	if fd < 0 {
		return 0
	}
	var entries [64 * 8]byte
	from := addr &^ (pageSize - 1)
	want := min((addr+uint64(len(buf))-from+pageSize-1)/pageSize, uint64(len(entries)/8))
	got := max(preadBy(by, fd, entries[:want*8], from/pageSize*8), 0)
	there := uint64(0)
	for there*8+8 <= uint64(got) && le64(entries[there*8:])&(pagePresent|pageSwapped) == pagePresent {
		there++
	}
	if there < manyPages {
		return 0
	}
	return vmReadAll(by, tid, addr, buf[:min(from+there*pageSize-addr, uint64(len(buf)))])
}

// copyThere copies the pages that are there, up to the first that is not.
func (m *Memory) copyThere(tid int, addr uint64, buf []byte, kind Kind) int {
	if kind == OfFile && m.foreseen.has(addr, uint64(len(buf))) {
		return vmReadAll(m.by(), tid, addr, buf)
	}
	if buf = buf[:m.there(m.by(), addr, len(buf), kind)]; len(buf) == 0 {
		return 0
	}
	if kind == Anonymous {
		return m.readAnonymous(m.by(), tid, addr, buf)
	}
	// Not by the file, which would read a device too.
	return vmReadAll(m.by(), tid, addr, buf)
}

// vmReadAll is vmRead without a word about errors, by another thread if there is one.
func vmReadAll(by *relayed, tid int, addr uint64, buf []byte) int {
	if len(buf) == 0 {
		return 0
	}
	if by != nil {
		return by.vmRead(tid, addr, buf)
	}
	n, _ := vmRead(tid, addr, buf)
	return n
}

// Bits of an entry of a pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or of shared memory
)

// there gives how many of n bytes at addr can be read without anybody's doing.
func (m *Memory) there(by *relayed, addr uint64, n int, kind Kind) int {
	fd := m.pagemap.get()
	if fd < 0 {
		if kind == Anonymous {
			return n
		}
		return 0
	}
	var entries [64 * 8]byte
	for at := addr &^ (pageSize - 1); at < addr+uint64(n); {
		left := (addr + uint64(n) - at + pageSize - 1) / pageSize
		got := preadBy(by, fd, entries[:min(left*8, uint64(len(entries)))], at/pageSize*8)
		if got < 8 {
			return int(max(at, addr) - addr)
		}
		for i := 0; i+8 <= got; i += 8 {
			if !isThere(le64(entries[i:]), kind) {
				return int(max(at, addr) - addr)
			}
			m.note(at, le64(entries[i:]), kind)
			at += pageSize
		}
	}
	return n
}

// isThere judges a page. Anonymous memory that was never written to is not present, and needs nobody.
func isThere(entry uint64, kind Kind) bool {
	if kind == Anonymous {
		return entry&pageSwapped == 0
	}
	return entry&pagePresent != 0
}

func le64(b []byte) (v uint64) {
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// Read reads memory at addr for whoever holds nobody stopped: it may wait for a file. It gives the bytes read, fewer
// than asked for where the mapped memory ends. Errors: as [ReadVM]. Precondition: the goroutine is not pinned, as the
// Go scheduler is told.
func (m *Memory) Read(tid int, addr uint64, buf []byte) (int, error) {
	done := 0
	for done < len(buf) {
		at, want := addr+uint64(done), buf[done:]
		var s Span
		if !m.find(at, &s) && !m.ask(nil, at, &s) {
			if !m.unanswered.Load() {
				break
			}
			s = Span{End: at + uint64(len(want)), Kind: OfFile}
		}
		if s.Kind == NotMemory && (!m.ask(nil, at, &s) || s.Kind == NotMemory) { // it may be readable by now
			made, _, ok := m.MadeAt(at)
			if !ok {
				break
			}
			s = made
		}
		if n := s.End - at; n < uint64(len(want)) {
			want = want[:n]
		}
		var n int
		var err error
		if fd := m.mem.get(); s.Kind == Anonymous && fd >= 0 {
			n = m.readAnonymous(nil, tid, at, want)
		} else {
			n, err = readVMBy(vmReadMayWait, tid, at, want)
		}
		done += n
		if n < len(want) {
			if done == 0 && err != nil {
				return 0, err
			}
			break
		}
	}
	if done == 0 && len(buf) > 0 {
		return 0, ErrFault
	}
	return done, nil
}
