// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type readCache struct {
	pages     managed.Pages
	process   managed.Reader
	readParts func([]frames.Region) int // or nil
	inUse     bool
	since     int64 // before the first read, in nanoseconds of CLOCK_MONOTONIC
}

// begin drops pages read before after. Until bypass, reads go through the cache. since precedes the oldest read (in
// nanoseconds of CLOCK_MONOTONIC).
func (c *readCache) begin(after int64) (since int64) {
	if c.inUse = true; c.since == 0 || c.since < after {
		c.drop()
	}
	if c.since == 0 {
		c.since = procmem.Now()
	}
	return c.since
}

func (c *readCache) bypass() { c.inUse = false }

func (c *readCache) drop() {
	c.since = 0
	c.pages.Reset(c.process)
}

func (c *readCache) reread() {
	c.since = procmem.Now()
	c.pages.Reread(c.process, c.readParts)
}

// memory reads values, 0 after the first error, which stays in err until the next [VM.memory].
// A value, as frames that are no longer there are read often: it is valid until the next one.
type memory struct {
	from   managed.Reader
	err    error // nil, or &fault
	fault  pointerError
	traced *seal // if not nil, it stores what is read, but for the names of classes
	buf    [8]byte
	text   [maxName]byte
	window [2048]byte
}

// pointerError says what is not at an address where the JVM's structures lead to.
type pointerError struct {
	what string // type of the JVM, or "memory"
	at   uint64
	why  string
}

// Error implements error.
func (e *pointerError) Error() string { return fmt.Sprintf("%s at %#x: %s", e.what, e.at, e.why) }

const unreadable = "it cannot be read"

func (m *memory) fail(what string, at uint64, why string) {
	if m.err == nil {
		m.fault = pointerError{what, at, why}
		m.err = &m.fault
	}
}

// expect fails if no structure of a type can be at an address.
func (m *memory) expect(typ string, at uint64) {
	if at == 0 || at%8 != 0 {
		m.fail(typ, at, "the pointer to it is null or no multiple of 8")
	}
}

func (m *memory) bytes(addr uint64, b []byte) bool {
	if m.traced != nil {
		m.traced.cover(addr, len(b))
	}
	if m.err == nil && m.from.Read(addr, b) == len(b) {
		return true
	}
	m.fail("memory", addr, unreadable)
	clear(b)
	return false
}

func (m *memory) word(addr uint64) uint64 {
	m.bytes(addr, m.buf[:8])
	return binary.LittleEndian.Uint64(m.buf[:8])
}

func (m *memory) int32(addr uint64) int32 {
	m.bytes(addr, m.buf[:4])
	return int32(binary.LittleEndian.Uint32(m.buf[:4]))
}

func (m *memory) name(addr uint64) string {
	b := m.text[:]
	if m.err != nil || addr == 0 {
		return ""
	}
	n := m.from.Read(addr, b)
	if n <= 0 {
		m.fail("text", addr, unreadable)
		return ""
	}
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(text)
}

func wordAt(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func int32At(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }
