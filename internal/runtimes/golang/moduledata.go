// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

// moduledata is what is needed of runtime.moduledata (runtime/symtab.go).
type moduledata struct {
	text, etext uint64
	gofunc      uint64 // of the symbol go:func.*, 0 if not found
}

// Words of moduledata, the same since Go 1.16.
const (
	mdFuncnames = 1
	mdPctab     = 10
	mdFtab      = 16
	mdMinpc     = 20
	mdMaxpc     = 21
	mdText      = 22
	mdEtext     = 23
	mdWords     = 44
)

// mdGofunc gives the word that holds go:func.*, since Go 1.18.
func (h *header) mdGofunc() int {
	if h.magic == magic118 {
		return 38
	}
	return 40 // Go 1.20 added covctrs and ecovctrs
}

// findModuledata looks for the moduledata by its first word, the address of the
// header: in the file's contents, or among the relocations of a PIE.
func (t *Table) findModuledata() (moduledata, bool) {
	for _, r := range t.img.Data {
		if md, ok := t.scanRange(r); ok {
			return md, true
		}
	}
	want := t.img.PclntabAddr
	for b := t.img.Rela; len(b) >= 24; b = b[24:] {
		if t.isRelative(b) && binary.LittleEndian.Uint64(b[16:]) == want {
			if md, ok := t.checkModuledata(binary.LittleEndian.Uint64(b)); ok {
				return md, true
			}
		}
	}
	return moduledata{}, false
}

// isRelative reports whether a relocation adds the load bias and nothing else.
func (t *Table) isRelative(rela []byte) bool {
	return binary.LittleEndian.Uint64(rela[8:])&0xffffffff == relative(t.img.Arch)
}

// scanRange looks through the contents of a section.
func (t *Table) scanRange(r Range) (moduledata, bool) {
	buf := make([]byte, min(r.Size, 1<<16)&^7)
	for off := uint64(0); off < r.Size && len(buf) > 0 && t.img.Read != nil; {
		n := t.img.Read(r.Addr+off, buf[:min(uint64(len(buf)), (r.Size-off)&^7)]) &^ 7
		if n <= 0 {
			break
		}
		for i := 0; i < n; i += 8 {
			if binary.LittleEndian.Uint64(buf[i:]) != t.img.PclntabAddr {
				continue
			}
			if md, ok := t.checkModuledata(r.Addr + off + uint64(i)); ok {
				return md, true
			}
		}
		off += uint64(n)
	}
	return moduledata{}, false
}

// checkModuledata reads a candidate and believes it only where it agrees with
// the header in five places.
func (t *Table) checkModuledata(addr uint64) (moduledata, bool) {
	w, ok := t.mdRead(addr)
	if !ok {
		return moduledata{}, false
	}
	base := t.img.PclntabAddr
	if t.h.magic == magic112 {
		return t.checkModuledata112(w)
	}
	names := uint64(len(t.img.Pclntab) - len(t.h.names))
	pctab := uint64(len(t.img.Pclntab) - len(t.h.pctab))
	text := w[mdText]
	if w[mdFuncnames] != base+names || w[mdPctab] != base+pctab || w[mdFtab+1] != t.h.nfunc+1 ||
		w[mdMinpc] < text || w[mdMaxpc] < w[mdMinpc] || w[mdEtext] < text {
		return moduledata{}, false
	}
	md := moduledata{text: text, etext: w[mdEtext]}
	if !t.textFits(text, w[mdMinpc], w[mdMaxpc]) {
		return moduledata{}, false
	}
	if !t.h.old() {
		md.gofunc = w[t.h.mdGofunc()]
	}
	return md, true
}

// Words of moduledata until Go 1.15.
const (
	md112Ftab  = 3
	md112Files = 6
	md112Minpc = 10
	md112Maxpc = 11
	md112Text  = 12
	md112Etext = 13
)

// checkModuledata112 is checkModuledata until Go 1.15.
func (t *Table) checkModuledata112(w [mdWords]uint64) (moduledata, bool) {
	base := t.img.PclntabAddr
	files := uint64(len(t.img.Pclntab) - len(t.h.cus))
	md := moduledata{text: w[md112Text], etext: w[md112Etext]}
	ok := w[md112Ftab] == base+t.h.ftabAt && w[md112Ftab+1] == t.h.nfunc+1 && w[md112Files] == base+files &&
		w[md112Minpc] >= md.text && w[md112Maxpc] >= w[md112Minpc] && md.etext >= md.text
	return md, ok && t.textFits(md.text, w[md112Minpc], w[md112Maxpc])
}

// textFits checks the ends of the text against the function table.
func (t *Table) textFits(text, minpc, maxpc uint64) bool {
	probe := Table{h: t.h, text: text}
	first, _, ok := probe.ftab(0)
	last, _, ok2 := probe.ftab(t.h.nfunc)
	return ok && ok2 && first == minpc && last == maxpc
}

// mdRead reads the words of a candidate, from the file and, where that holds 0,
// from the relocations.
func (t *Table) mdRead(addr uint64) ([mdWords]uint64, bool) {
	var w [mdWords]uint64
	var b [8 * mdWords]byte
	if !t.img.read(addr, b[:]) {
		return w, false
	}
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	for r := t.img.Rela; len(r) >= 24; r = r[24:] {
		if i := (binary.LittleEndian.Uint64(r) - addr) / 8; i < mdWords && t.isRelative(r) {
			w[i] = binary.LittleEndian.Uint64(r[16:])
		}
	}
	return w, true
}
