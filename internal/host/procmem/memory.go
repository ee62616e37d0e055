// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
)

// Memory reads the memory of one process, never beyond a mapping. [Memory.Copy] does not wait for other processes.
//
// A missing page has a provider: a thread of the target (userfaultfd(2)), perhaps stopped, or a file system.
// process_vm_readv(2) waits for both. /proc/PID/mem permits no retry (mm/memory.c, __access_remote_vm; mm/gup.c,
// faultin_page): a userfault fails at once (fs/userfaultfd.c, handle_userfault). Hence:
//
//	anonymous            /proc/PID/mem; many present pages by process_vm_readv
//	file or shared       only pages that are present (proc_pid_pagemap(5))
//	process has swap     only pages that are present
//
// Without pagemap (CONFIG_PROC_PAGE_MONITOR) files and shared memory are not read, and a read of anonymous memory may
// wait for swap.
//
// For one goroutine: [Memory.Copy], [Memory.MappingStart], [Memory.AwaitMmapLock], [Memory.Close], and the methods in
// syscallthread.go and mmaplockwatch.go. All others are safe for concurrent use.
type Memory struct {
	mem, maps, pagemap descriptor
	table              atomic.Pointer[[]Span] // sorted by address
	space              atomic.Uint64
	foreign            atomic.Bool // the parent's, as after vfork(2)
	opening            sync.Mutex  // while files are opened; of the next three
	triedAt            int64       // last try to open a new address space's files, CLOCK_MONOTONIC ns
	denied             bool        // those may not be opened, since the last exec
	start              [2]uint64   // without files: addresses of program and stack, or 0
	swapped            atomic.Bool
	noQueries          atomic.Bool // of PROCMAP_QUERY

	recent        recentSpans
	lastAnonymous uint64 // address of the last copy, or 0
	threadReads   threadReads
	mmapLockWatch
}

// Span is a mapping.
type Span struct {
	Start, End uint64
	Kind       SpanKind
	Writable   bool // by the process
	Grows      bool // the first thread's stack
}

// SpanKind is how a mapping is read.
type SpanKind uint8

// Kinds of mappings.
const (
	NotMemory  SpanKind = iota // not readable, or the kernel's ([vvar]); by a query also if anonymous and read-only
	Anonymous                  // private, without a file
	FileBacked                 // a file's, a device's, or shared
)

// MaxStackGrowth is how far, in bytes, the first thread's stack pointer may be below the mapping as last read.
const MaxStackGrowth = 8 << 20

var pageSize = uint64(os.Getpagesize())

// OpenMemory opens the memory of a thread's process, without mappings ([Memory.SetSpans]).
func OpenMemory(tid int) *Memory {
	m := &Memory{}
	m.Reopen(tid)
	return m
}

// Reopen opens the files by another thread: an ended first thread's read as empty.
func (m *Memory) Reopen(tid int) {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.foreign.Store(sharesParentMemory(tid))
	if !m.foreign.Load() {
		m.openFiles(tid)
	}
}

// openFiles opens pagemap first, as [Memory.Ended] reads it: an exec between two opens is then found. Precondition:
// opening is locked.
func (m *Memory) openFiles(tid int) {
	m.noQueries.Store(false)
	m.pagemap.open(tid, "pagemap")
	m.mem.open(tid, "mem")
	m.maps.open(tid, "maps")
	m.foreign.Store(false)
}

// Close closes the files. Precondition: no concurrent read.
func (m *Memory) Close() {
	m.mem.close()
	m.maps.close()
	m.pagemap.close()
}

// SetSpans sets the mappings, ascending. It keeps the slice.
func (m *Memory) SetSpans(spans []Span) { m.table.Store(&spans) }

// SetSwapped sets whether the process has pages in swap.
func (m *Memory) SetSwapped(swapped bool) { m.swapped.Store(swapped) }

// Spans returns the mappings, not to be modified.
func (m *Memory) Spans() []Span {
	if t := m.table.Load(); t != nil {
		return *t
	}
	return nil
}

// Copy copies memory at addr up to the end of the mapping at most, and returns the number of bytes. tid is any thread
// of the process.
//
//go:nosplit
func (m *Memory) Copy(tid int, addr uint64, buf []byte) int {
	var s Span
	if !m.lookup(addr, uint64(len(buf)), &s) || s.Kind == NotMemory {
		return 0
	}
	if n := s.End - addr; n < uint64(len(buf)) {
		buf = buf[:n]
	}
	if s.Kind != Anonymous || m.swapped.Load() {
		return m.copyPresent(tid, addr, buf, s.Kind)
	}
	m.lastAnonymous = addr
	return m.readAnonymous(m.reader(), tid, addr, buf)
}

// AwaitMmapLock waits for the lock of the mappings, by reading a byte at the last copy. It returns the wait in ns,
// 0 if nothing was read. Precondition: no thread is stopped.
func (m *Memory) AwaitMmapLock() int64 {
	var s Span
	fd := m.mem.fd()
	if fd < 0 || m.lastAnonymous == 0 || m.swapped.Load() || !findSpan(m.table.Load(), m.lastAnonymous, &s) ||
		s.Kind != Anonymous {
		return 0
	}
	var b [1]byte
	var n int
	r := &m.threadReads
	r.waited = 0
	if by := m.reader(); by != nil {
		n = by.pread(fd, b[:], m.lastAnonymous)
	} else {
		worked, began := r.cpu(), Now()
		n = preadLong(fd, b[:], m.lastAnonymous)
		r.endRead(began, worked)
	}
	if n <= 0 && !m.TimedOut() {
		m.lastAnonymous = 0
	}
	return max(r.waited, 1)
}

// MappingStart returns the start of addr's mapping, or 0 if unknown.
//
//go:nosplit
func (m *Memory) MappingStart(addr uint64) uint64 {
	var s Span
	if !m.lookup(addr, 1, &s) {
		return 0
	}
	return s.Start
}

// readAnonymous reads where missing pages have no provider. by: the threads that read, or nil.
//
//go:nosplit
func (m *Memory) readAnonymous(by *threadReads, tid int, addr uint64, buf []byte) int {
	fd, done := m.mem.fd(), 0
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
	return done + max(n, 0)
}

// From manyPages present pages on, process_vm_readv(2) reads, which takes the lock of the mappings once; /proc/PID/mem
// takes it for each page.
const manyPages = 8

func (m *Memory) readPresent(by *threadReads, tid int, addr uint64, buf []byte) int {
	fd := m.pagemap.fd()
	if fd < 0 {
		return 0
	}
	var entries [64 * 8]byte
	from := addr &^ (pageSize - 1)
	want := min((addr+uint64(len(buf))-from+pageSize-1)/pageSize, uint64(len(entries)/8))
	got := max(preadBy(by, fd, entries[:want*8], from/pageSize*8), 0)
	there := uint64(0)
	for there*8+8 <= uint64(got) && isPresentMemory(entries[there*8:]) {
		there++
	}
	if there < manyPages {
		return 0
	}
	return vmReadAll(by, tid, addr, buf[:min(from+there*pageSize-addr, uint64(len(buf)))])
}

func (m *Memory) copyPresent(tid int, addr uint64, buf []byte, kind SpanKind) int {
	if buf = buf[:m.present(m.reader(), addr, len(buf), kind)]; len(buf) == 0 {
		return 0
	}
	if kind == Anonymous {
		return m.readAnonymous(m.reader(), tid, addr, buf)
	}
	// /proc/PID/mem would read devices, too.
	return vmReadAll(m.reader(), tid, addr, buf)
}

func vmReadAll(by *threadReads, tid int, addr uint64, buf []byte) int {
	if len(buf) == 0 {
		return 0
	}
	if by != nil {
		return by.vmRead(tid, addr, buf)
	}
	n, _ := RawReadVM(tid, addr, buf)
	return n
}

const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
)

func (m *Memory) present(by *threadReads, addr uint64, n int, kind SpanKind) int {
	fd := m.pagemap.fd()
	if fd < 0 {
		if kind == Anonymous {
			return n
		}
		return 0
	}
	var entries [64 * 8]byte
	for page := addr &^ (pageSize - 1); page < addr+uint64(n); {
		left := (addr + uint64(n) - page + pageSize - 1) / pageSize
		got := preadBy(by, fd, entries[:min(left*8, uint64(len(entries)))], page/pageSize*8)
		if got < 8 {
			return int(max(page, addr) - addr)
		}
		for i := 0; i+8 <= got; i += 8 {
			if !isPresent(binary.LittleEndian.Uint64(entries[i:]), kind) {
				return int(max(page, addr) - addr)
			}
			page += pageSize
		}
	}
	return n
}

func isPresentMemory(entry []byte) bool {
	return binary.LittleEndian.Uint64(entry)&(pagePresent|pageSwapped) == pagePresent
}

func isPresent(entry uint64, kind SpanKind) bool {
	if kind == Anonymous {
		return entry&pageSwapped == 0
	}
	return entry&pagePresent != 0
}

// Read reads mapped memory at addr, and may wait for a file. Errors: those of [ReadVM]. Preconditions: no thread is
// stopped, and the goroutine is not pinned.
func (m *Memory) Read(tid int, addr uint64, buf []byte) (int, error) {
	done := 0
	for done < len(buf) {
		from, want := addr+uint64(done), buf[done:]
		span, ok := m.spanForRead(from, len(want))
		if !ok {
			break
		}
		if left := span.End - from; left < uint64(len(want)) {
			want = want[:left]
		}
		n, err := m.readSpan(tid, &span, from, want)
		done += n
		if done == 0 && err != nil {
			return 0, err
		}
		if n < len(want) {
			break
		}
	}
	if done == 0 && len(buf) > 0 {
		return 0, ErrFault
	}
	return done, nil
}

// spanForRead asks the table, else the kernel; if neither is possible, it returns n bytes from addr as a file's. False:
// no memory is mapped there.
func (m *Memory) spanForRead(addr uint64, n int) (s Span, ok bool) {
	if !findSpan(m.table.Load(), addr, &s) && !m.query(nil, addr, &s) {
		return Span{End: addr + uint64(n), Kind: FileBacked}, m.noQueries.Load()
	}
	if s.Kind != NotMemory || m.query(nil, addr, &s) && s.Kind != NotMemory {
		return s, true
	}
	s, _, ok = m.QueryAnonymous(addr) // readable, not writable
	return s, ok
}

func (m *Memory) readSpan(tid int, s *Span, addr uint64, buf []byte) (int, error) {
	if s.Kind == Anonymous && m.mem.fd() >= 0 {
		return m.readAnonymous(nil, tid, addr, buf), nil
	}
	return readVMBy(vmReadMayWait, tid, addr, buf)
}
