// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"

	"prywalk/internal/procmem"
)

const (
	livePage = 4096
	// maxLivePages bounds the copies of pages of code: 4 MiB.
	maxLivePages = 1024
)

// liveCode reads code that a process itself writes (JIT compilers), and keeps the pages that were looked at. So a
// Refresh can tell whether what was concluded from them still holds.
type liveCode struct {
	tid    int
	memory *procmem.Memory
	pages  map[uint64][]byte // by address / livePage; nil: not readable
	// lost: pages had to be dropped, and changes there will not be noticed.
	lost bool
}

func newLiveCode(tid int, m *procmem.Memory) *liveCode {
	return &liveCode{tid: tid, memory: m, pages: map[uint64][]byte{}}
}

// ReadCode reads code at a run-time address, and gives the number of bytes read.
func (l *liveCode) ReadCode(addr uint64, buf []byte) int {
	done := 0
	for done < len(buf) {
		at := addr + uint64(done)
		page := l.page(at / livePage)
		if page == nil {
			break
		}
		done += copy(buf[done:], page[at%livePage:])
	}
	return done
}

// page gives a page's copy, nil if it cannot be read.
func (l *liveCode) page(num uint64) []byte {
	if b, ok := l.pages[num]; ok {
		return b
	}
	if len(l.pages) >= maxLivePages {
		clear(l.pages)
		l.lost = true
	}
	b := make([]byte, livePage)
	if _, err := readMemory(l.memory, l.tid, num*livePage, b); err != nil {
		b = nil
	}
	l.pages[num] = b
	return b
}

// drop forgets the pages of a range.
func (l *liveCode) drop(start, end uint64) {
	for num := range l.pages {
		if num >= start/livePage && num*livePage < end {
			delete(l.pages, num)
		}
	}
}

// refresh reads the pages again; it reports whether any is not what it was, and then
// forgets them all.
func (l *liveCode) refresh() bool {
	changed := l.lost
	now := make([]byte, 0, livePage)
	for num, was := range l.pages {
		if changed {
			break
		}
		now = now[:livePage]
		_, err := readMemory(l.memory, l.tid, num*livePage, now)
		changed = (err == nil) != (was != nil) || was != nil && !bytes.Equal(now, was)
	}
	if changed {
		clear(l.pages)
		l.lost = false
	}
	return changed
}
