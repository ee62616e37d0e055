// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"debug/elf"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/code/elffile"
)

const (
	codePageSize = 4096
	maxLivePages = 1024
)

// liveCode keeps a JIT compiler's pages to detect changes.
type liveCode struct {
	p     *Process
	pages map[uint64][]byte // by address ÷ codePageSize; nil means unreadable
	lost  bool              // pages were dropped: refresh must assume a change
}

// ReadCode implements heuristics.Code.
func (l *liveCode) ReadCode(addr frames.Addr, buf []byte) int {
	done := 0
	for done < len(buf) {
		at := addr + uint64(done)
		page := l.page(at / codePageSize)
		if page == nil {
			break
		}
		done += copy(buf[done:], page[at%codePageSize:])
	}
	return done
}

func (l *liveCode) page(num uint64) []byte {
	if b, ok := l.pages[num]; ok {
		return b
	}
	l.lost = l.lost || len(l.pages) >= maxLivePages
	b := make([]byte, codePageSize)
	if _, err := l.p.ReadMem(num*codePageSize, b); err != nil {
		b = nil
	}
	cache.Put(&l.pages, maxLivePages, num, b)
	return b
}

func (l *liveCode) refresh() bool {
	changed := l.lost
	now := make([]byte, 0, codePageSize)
	for num, was := range l.pages {
		if changed {
			break
		}
		now = now[:codePageSize]
		_, err := l.p.ReadMem(num*codePageSize, now)
		changed = (err == nil) != (was != nil) || was != nil && !bytes.Equal(now, was)
	}
	if changed {
		clear(l.pages)
		l.lost = false
	}
	return changed
}

type fileCode struct{ f *elffile.File }

// ReadCode implements heuristics.Code.
func (c fileCode) ReadCode(addr frames.ModuleAddr, buf []byte) int {
	for i := range c.f.Segments {
		s := &c.f.Segments[i]
		if off := addr - s.VAddr; s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && off < s.FileSize {
			return c.f.ReadAddr(addr, buf[:min(uint64(len(buf)), s.FileSize-off)])
		}
	}
	return 0
}
