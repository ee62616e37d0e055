// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"math/bits"
)

// lines has an iseq's lines by the rank of instructions, in a succinct set (iseq.c, struct succ_index_table):
//
//	imm_part  6 words, each of 9 ranks of 7 bits: those of positions 0 to 53
//	succ_part blocks of 512 positions: rank before the block (4 bytes, 8 with padding), eight ranks of 9 bits of the
//	          64 positions each but the first, and 8 words of bits
type lines struct {
	entries []int32
	succ    []byte
	first   int
	cut     bool // the tables are too large
}

const (
	immWords, immRanks, immBits = 6, 9, 7
	immPositions                = immWords * immRanks
	blockPositions              = 512
	blockSize                   = 8 + 8 + 8*8
	rankBits                    = 9
)

func succSize(positions uint64) uint64 {
	n := uint64(immWords * 8)
	if positions > immPositions {
		n += (positions - immPositions + blockPositions - 1) / blockPositions * blockSize
	}
	return n
}

// lineAt returns the line before a position: the program counter is the next instruction's.
func (l *lines) lineAt(position uint64) int {
	if position > 0 {
		position--
	}
	switch {
	case l.cut:
		return 0
	case len(l.entries) == 0:
		return l.first
	case len(l.entries) == 1:
		return int(l.entries[0])
	}
	rank := l.rank(position)
	if rank < 1 || rank > uint64(len(l.entries)) {
		return 0
	}
	for rank > 0 && l.entries[rank-1] == 0 { // jump targets have none
		rank--
	}
	if rank == 0 {
		return l.first
	}
	return int(l.entries[rank-1])
}

func (l *lines) rank(position uint64) uint64 {
	missing := false
	word := func(off uint64) uint64 {
		if off+8 > uint64(len(l.succ)) {
			missing = true
			return 0
		}
		return binary.LittleEndian.Uint64(l.succ[off:])
	}
	if position < immPositions {
		return word(position/immRanks*8) >> (position % immRanks * immBits) & (1<<immBits - 1)
	}
	position -= immPositions
	block := immWords*8 + position/blockPositions*blockSize
	bit := position % blockPositions
	rank := word(block) & (1<<32 - 1)
	if small := bit / 64; small > 0 {
		rank += word(block+8) >> ((small - 1) * rankBits) & (1<<rankBits - 1)
	}
	rank += uint64(bits.OnesCount64(word(block+16+bit/64*8) << (63 - bit%64)))
	if missing {
		return 0
	}
	return rank
}

const (
	maxEntries = 1 << 18
	maxCode    = 1 << 20
)

// readISeq reads label, file and lines.
func (h heap) readISeq(addr uint64, o *object) (ok bool) {
	body := h.word(addr + iseqBody)
	var b [bodyCopied]byte
	if h.memory.Read(body, b[:]) != len(b) {
		return false
	}
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	f := o.function
	if f.label, ok = h.readLabel(body, maxLevels); !ok {
		return false
	}
	if f.file, ok = h.path(word(bodyPath)); !ok {
		return false
	}
	o.code, o.size = word(bodyISeqEncoded), word(0)>>32
	if f.first = int(int32(word(bodyFirst))); h.tagged {
		f.first = int(int64(word(bodyFirst)) >> 1)
	}
	f.lines.first = f.first
	return h.readLines(&f.lines, b[h.bodyInfo:], o.size)
}

// readLines leaves out tables that are too large.
func (h heap) readLines(l *lines, info []byte, positions uint64) (ok bool) {
	n := uint64(binary.LittleEndian.Uint32(info[infoCount:]))
	if n == 0 || n > maxEntries || positions > maxCode {
		l.cut = n > 0
		return true
	}
	b := make([]byte, n*uint64(h.entrySize))
	if h.memory.Read(binary.LittleEndian.Uint64(info[infoEntries:]), b) != len(b) {
		return false
	}
	l.entries = make([]int32, n)
	for i := range l.entries {
		l.entries[i] = int32(binary.LittleEndian.Uint32(b[int64(i)*h.entrySize:]))
	}
	if n < 2 {
		return true
	}
	l.succ = make([]byte, succSize(positions))
	return h.memory.Read(binary.LittleEndian.Uint64(info[infoSucc:]), l.succ) == len(l.succ)
}
