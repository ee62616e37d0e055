// SPDX-License-Identifier: Apache-2.0

package ruby

import "encoding/binary"

const (
	maxEntries = 1 << 18
	maxCode    = 1 << 20
)

type enclosingLabel func(iseq uint64) (label, bool)

// readISeq reads label, file and lines; whole: all lines.
func (h heap) readISeq(addr uint64, o *object, enclosing enclosingLabel) (whole, ok bool) {
	body := h.word(addr + iseqBody)
	var b [bodyCopied]byte
	if h.Read(body, b[:]) != len(b) {
		return false, false
	}
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	f := o.function
	if f.label, ok = h.readLabel(body, enclosing); !ok {
		return false, false
	}
	if f.file, ok = h.path(word(bodyPath)); !ok {
		return false, false
	}
	o.code, o.size = word(bodyISeqEncoded), word(0)>>32
	if f.first = int(int32(word(bodyFirst))); h.tagged {
		f.first = int(int64(word(bodyFirst)) >> 1)
	}
	f.lines.first = f.first
	return h.readLines(&f.lines, b[h.bodyInfo:], o.size), true
}

func (h heap) readLines(l *lines, info []byte, positions uint64) (whole bool) {
	n := uint64(binary.LittleEndian.Uint32(info[infoCount:]))
	if n > maxEntries || positions > maxCode {
		l.cut = true
		return false
	}
	b := make([]byte, n*uint64(h.entrySize))
	if n > 0 {
		b = b[:h.Read(binary.LittleEndian.Uint64(info[infoEntries:]), b)]
	}
	l.entries = make([]int32, len(b)/int(h.entrySize))
	for i := range l.entries {
		l.entries[i] = int32(binary.LittleEndian.Uint32(b[int64(i)*h.entrySize:]))
	}
	l.cut = uint64(len(l.entries)) < n
	if n < 2 {
		return !l.cut
	}
	l.succ = make([]byte, succSize(positions))
	got := h.Read(binary.LittleEndian.Uint64(info[infoSucc:]), l.succ)
	whole = got == len(l.succ) && !l.cut
	l.succ = l.succ[:got]
	return whole
}
