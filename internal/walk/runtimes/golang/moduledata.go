// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

// moduledata is the used part of Go's moduledata (runtime/symtab.go).
type moduledata struct {
	text      uint64
	gofunc    uint64 // of go:func.*, or 0
	bss, ebss uint64 // of variables with pointers, without initial value
}

type moduleScan struct {
	funcs   *funcs
	checked int
}

const maxCandidates = 64

// Word indexes.
const (
	mdFuncnames = 1
	mdPctab     = 10
	mdFtab      = 16
	mdMinpc     = 20
	mdMaxpc     = 21
	mdText      = 22
	mdEtext     = 23
	mdBss       = 28
	mdEbss      = 29
	mdWords     = 45
)

// Word of go:func.* in Go 1.18; in 1.20 (covctrs, ecovctrs added); in 1.27 (typedesclen, itaboffset, itabsize added).
// Since 1.26, epclntab follows: the end of the table.
const (
	mdGofunc118 = 38
	mdGofunc120 = 40
	mdGofunc127 = 43
)

// gofunc returns the address of go:func.*. Where neither form has the table's end (Go 1.20 to 1.25), it is word 40.
func (s *moduleScan) gofunc(w *[mdWords]uint64) uint64 {
	if s.funcs.h.magic == magic118 {
		return w[mdGofunc118]
	}
	isEnd := func(v uint64) bool {
		return v > s.funcs.img.PclntabAddr && v <= s.funcs.img.PclntabAddr+uint64(len(s.funcs.img.Pclntab))
	}
	if !isEnd(w[mdGofunc120+1]) && isEnd(w[mdGofunc127+1]) {
		return w[mdGofunc127]
	}
	return w[mdGofunc120]
}

// findModuledata finds moduledata by its first word, the table's address.
func (s *moduleScan) findModuledata() (moduledata, bool) {
	for _, r := range s.funcs.img.Data {
		if md, ok := s.scanRange(r); ok {
			return md, true
		}
	}
	want := s.funcs.img.PclntabAddr
	for b := s.funcs.img.Rela; len(b) >= 24; b = b[24:] {
		if s.isRelative(b) && binary.LittleEndian.Uint64(b[16:]) == want {
			if md, ok := s.checkModuledata(binary.LittleEndian.Uint64(b)); ok {
				return md, true
			}
		}
	}
	return moduledata{}, false
}

func (s *moduleScan) isRelative(rela []byte) bool {
	return binary.LittleEndian.Uint64(rela[8:])&0xffffffff == relative(s.funcs.img.Arch)
}

func (s *moduleScan) scanRange(r Range) (moduledata, bool) {
	buf := make([]byte, min(r.Size, 1<<16)&^7)
	for off := uint64(0); off < r.Size && len(buf) > 0 && s.funcs.img.Read != nil; {
		n := s.funcs.img.Read(r.Addr+off, buf[:min(uint64(len(buf)), (r.Size-off)&^7)]) &^ 7
		if n <= 0 {
			break
		}
		for i := 0; i < n; i += 8 {
			if binary.LittleEndian.Uint64(buf[i:]) != s.funcs.img.PclntabAddr {
				continue
			}
			if md, ok := s.checkModuledata(r.Addr + off + uint64(i)); ok {
				return md, true
			}
		}
		off += uint64(n)
	}
	return moduledata{}, false
}

func (s *moduleScan) checkModuledata(addr uint64) (moduledata, bool) {
	if s.checked++; s.checked > maxCandidates {
		return moduledata{}, false
	}
	w, ok := s.mdRead(addr)
	if !ok {
		return moduledata{}, false
	}
	base := s.funcs.img.PclntabAddr
	names := uint64(len(s.funcs.img.Pclntab) - len(s.funcs.h.names))
	pctab := uint64(len(s.funcs.img.Pclntab) - len(s.funcs.h.pctab))
	text := w[mdText]
	if w[mdFuncnames] != base+names || w[mdPctab] != base+pctab || w[mdFtab+1] != s.funcs.h.nfunc+1 ||
		w[mdMinpc] < text || w[mdMaxpc] < w[mdMinpc] || w[mdEtext] < text {
		return moduledata{}, false
	}
	md := moduledata{text: text, bss: w[mdBss], ebss: w[mdEbss]}
	if !s.funcs.textFits(text, w[mdMinpc], w[mdMaxpc]) {
		return moduledata{}, false
	}
	md.gofunc = s.gofunc(&w)
	return md, true
}

func (t *funcs) textFits(text, minpc, maxpc uint64) bool {
	probe := funcs{h: t.h, text: text}
	first, _, ok := probe.ftab(0)
	last, _, ok2 := probe.ftab(t.h.nfunc)
	return ok && ok2 && first == minpc && last == maxpc
}

func (s *moduleScan) mdRead(addr uint64) ([mdWords]uint64, bool) {
	var w [mdWords]uint64
	var b [8 * mdWords]byte
	if !s.funcs.img.read(addr, b[:]) {
		return w, false
	}
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	for r := s.funcs.img.Rela; len(r) >= 24; r = r[24:] {
		if i := (binary.LittleEndian.Uint64(r) - addr) / 8; i < mdWords && s.isRelative(r) {
			w[i] = binary.LittleEndian.Uint64(r[16:])
		}
	}
	return w, true
}
