// SPDX-License-Identifier: Apache-2.0

package loadedcode

import "prywalk/internal/elffile"

// fileCode reads the executable segments of a file.
type fileCode struct{ parts []*elffile.Window }

func newFileCode(f *elffile.File) *fileCode {
	c := &fileCode{}
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elffile.SegLoad || s.Flags&elffile.SegExec == 0 {
			continue
		}
		if w, err := f.WindowAt(s.VAddr, s.FileSize); err == nil {
			c.parts = append(c.parts, w)
		}
	}
	return c
}

// ReadCode implements heuristics.Code.
func (c *fileCode) ReadCode(addr uint64, buf []byte) int {
	for _, w := range c.parts {
		if off := addr - w.Addr(); off < w.Size() {
			b, _ := w.View(off, int(min(uint64(len(buf)), w.Size()-off))) // nil on error
			return copy(buf, b)
		}
	}
	return 0
}
