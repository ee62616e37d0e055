// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// readCache caches pages during a walk or query, from enable to disable. Before a second reading a query drops them.
type readCache struct {
	managed.Pages
	process   reader
	readParts func([]frames.Region) int // nil: one at a time
	enabled   bool
	since     int64 // before the first read, CLOCK_MONOTONIC ns
}

type reader struct {
	read  func(addr uint64, b []byte) int
	count int
}

// Read implements [managed.Reader].
func (r *reader) Read(addr uint64, b []byte) int {
	r.count++
	return r.read(addr, b)
}

// enable enables the cache, drops reads before after, and gives the time of the oldest read.
func (k *readCache) enable(after int64) (since int64) {
	if k.enabled = true; k.since == 0 || k.since < after {
		k.drop()
	}
	if k.since == 0 {
		k.since = procmem.Now()
	}
	return k.since
}

func (k *readCache) disable() { k.enabled = false }

func (k *readCache) drop() {
	k.since = 0
	k.Reset(&k.process)
}

// reread is drop for a query that repeats much of the last.
func (k *readCache) reread() {
	k.since = procmem.Now()
	k.process.count++
	k.Reread(&k.process, k.readParts)
}

// memory has a sticky error.
type memory struct {
	read   func(addr uint64, b []byte) int
	failed bool
	buf    [8]byte
	text   [maxName]byte
	window [2048]byte
}

func (m *memory) bytes(addr uint64, b []byte) bool {
	if m.failed || m.read(addr, b) != len(b) {
		m.failed = true
		clear(b)
	}
	return !m.failed
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
	if m.failed || addr == 0 {
		return ""
	}
	n := m.read(addr, b)
	if n <= 0 {
		m.failed = true
		return ""
	}
	for i, c := range b[:n] {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b[:n])
}

func wordAt(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func int32At(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }
