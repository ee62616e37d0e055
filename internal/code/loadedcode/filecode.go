// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"prywalk/internal/code/elffile"
)

const codePages = 64

type fileCode struct {
	f     *elffile.File
	pages [codePages]codePage
}

type codePage struct {
	data  []byte
	start uint64
}

// ReadCode implements heuristics.Code.
func (c *fileCode) ReadCode(addr uint64, buf []byte) int {
	done := 0
	for done < len(buf) {
		page := c.page(addr + uint64(done))
		if len(page) == 0 {
			break
		}
		done += copy(buf[done:], page)
	}
	return done
}

func (c *fileCode) page(addr uint64) []byte {
	p := &c.pages[addr/codePageSize%codePages]
	if addr-p.start < uint64(len(p.data)) {
		return p.data[addr-p.start:]
	}
	s := c.segment(addr)
	if s == nil {
		return nil
	}
	start := max(addr&^(codePageSize-1), s.VAddr)
	size := min(codePageSize-start%codePageSize, s.FileSize-(start-s.VAddr))
	if cap(p.data) < codePageSize {
		p.data = make([]byte, codePageSize)
	}
	p.start, p.data = start, p.data[:size]
	p.data = p.data[:c.f.ReadAddr(start, p.data)]
	return p.data[min(addr-start, uint64(len(p.data))):]
}

func (c *fileCode) segment(addr uint64) *elffile.Segment {
	for i := range c.f.Segments {
		s := &c.f.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr-s.VAddr < s.FileSize {
			return s
		}
	}
	return nil
}
