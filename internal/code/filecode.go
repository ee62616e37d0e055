// SPDX-License-Identifier: Apache-2.0

package code

import "prywalk/internal/elffile"

// codePages is how many pages of code are kept for each file that is analysed: 256 KiB.
const codePages = 64

// fileCode reads a file's instructions. Its segments without the right to execute are no code. The pages that were
// read last are kept. To read anew what the analysis of one function after the other looks at took an eighth of a
// walk through V8's builtins.
type fileCode struct {
	f     *elffile.File
	pages [codePages]codePage
}

// codePage is a piece of a segment's code.
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

// page gives the code from addr to the end of its page or of its segment.
func (c *fileCode) page(addr uint64) []byte {
	p := &c.pages[addr/livePage%codePages]
	if addr-p.start < uint64(len(p.data)) {
		return p.data[addr-p.start:]
	}
	s := c.segment(addr)
	if s == nil {
		return nil
	}
	start := max(addr&^(livePage-1), s.VAddr)
	size := min(livePage-start%livePage, s.FileSize-(start-s.VAddr))
	if cap(p.data) < livePage {
		p.data = make([]byte, livePage)
	}
	p.start, p.data = start, p.data[:size]
	p.data = p.data[:c.f.ReadAddr(start, p.data)]
	return p.data[min(addr-start, uint64(len(p.data))):]
}

// segment gives the segment of code that an address is in, nil if there is none.
func (c *fileCode) segment(addr uint64) *elffile.Segment {
	for i := range c.f.Segments {
		s := &c.f.Segments[i]
		if s.Type == elffile.SegLoad && s.Flags&elffile.SegExec != 0 && addr-s.VAddr < s.FileSize {
			return s
		}
	}
	return nil
}
