// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"encoding/binary"

	"prywalk/frames"
)

// Almost all functions are described in the same few words. There is an entry in .eh_frame whose address is encoded
// as linkers write it, and a program of advances, changes of the CFA and registers saved below it. Their state fits
// into three words. Such a program is run here, without a [machine] and without a row; what is anything else is
// left to them, before anything was concluded. Without this a cold walk takes more than twice as long.

// plainState is a row of a plain program.
type plainState struct {
	// saved has a byte for each compact register. That is its place below the CFA in words, 0 if it is not saved; and
	// one for the return address, on x86-64 in place plainRA.
	saved  uint64
	cfaOff int32
	cfaReg uint8
}

const (
	plainRA        = 6    // of x86-64, after its compact registers
	plainRoot      = 0xff // there: the return address is undefined
	maxPlainSaved  = 0x7f // units in one byte of LEB128
	maxPlainNested = 4
	// What plainRegs has for a register that is no place in saved.
	regIgnored = 0xfe // the walk does not follow it
	regOther   = 0xff // it needs a row
)

// plainRegs gives, for the registers that an instruction can name, their places in plainState.saved.
type plainRegs [64]uint8

func newPlainRegs(arch frames.Arch) *plainRegs {
	p := new(plainRegs)
	for reg := range p {
		p[reg] = regIgnored
		if reg < frames.NumRegs && arch.Kept()>>reg&1 != 0 || reg == int(arch.SP()) {
			p[reg] = regOther
		}
	}
	for i, reg := range arch.CompactRegs() {
		if reg != frames.NoReg {
			p[reg] = uint8(i)
		}
	}
	if arch == frames.X86_64 {
		p[frames.X86RA] = plainRA
	}
	return p
}

// with gives the state with the byte of a register changed; false if it has none.
func (s plainState) with(place uint8, v uint64) (plainState, bool) {
	if place >= regIgnored {
		return s, place == regIgnored
	}
	shift := place & 7 * 8
	s.saved = s.saved&^(0xff<<shift) | v<<shift
	return s, true
}

// plain finds out whether the entries of a CIE can be run here, and what its own program leaves then.
func (t *Table) plain(c *cie, s *frameSection) bool {
	if !s.eh || c.signal || c.dataAlign != -8 || c.codeAlign > 8 || c.fdeEnc != pePCRel|peSData4 || c.addrSize != 8 ||
		c.segSize != 0 || c.ra != uint64(t.arch.RA()) || c.init.cfaExpr != noExpr || c.init.cfaReg >= frames.NumRegs ||
		c.init.cfaOff>>20 != 0 {
		return false
	}
	if t.regs == nil {
		t.regs = newPlainRegs(t.arch)
	}
	c.row = plainState{cfaOff: int32(c.init.cfaOff), cfaReg: c.init.cfaReg}
	for reg := range c.limit {
		r, units := c.init.regs[reg], uint64(0)
		ok := r.kind == frames.RuleSame
		if r.kind == frames.RuleOffset {
			units, ok = uint64(-r.off/8), r.off < 0 && r.off%8 == 0 && -r.off/8 <= maxPlainSaved
		}
		if ok && units != 0 {
			c.row, ok = c.row.with(t.regs[reg], units)
		}
		if !ok {
			return false
		}
	}
	return true
}

// plainRule gives the rule for q if a plain program has it; else it says nothing.
func (t *Table) plainRule(q frames.Query) (frames.Rule, bool) {
	pc := q.Lookup(t.arch)
	if t.hdr.count == 0 || t.hdr.enc != hdrCommon {
		return frames.Rule{}, false
	}
	addr, _, ok := t.hdr.findCommon(pc)
	if !ok {
		return frames.Rule{}, false
	}
	c, start, prog := t.plainEntry(addr-t.eh.Addr, pc)
	if c == nil {
		return frames.Rule{}, false
	}
	s, ok := c.row, true
	if len(prog) > 0 {
		s, ok = t.runPlain(c, prog, start, pc)
	}
	if !ok {
		return frames.Rule{}, false
	}
	return t.packPlain(&s, pc == start)
}

// plainEntry decodes an entry whose CIE is plain: its CIE, address and program; nil if it is
// not such a one, or does not describe the code at pc.
func (t *Table) plainEntry(off, pc uint64) (c *cie, start uint64, prog []byte) {
	b := t.eh.head(off)
	if len(b) < 17 {
		return nil, 0, nil
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	id := uint64(binary.LittleEndian.Uint32(b[4:]))
	if n < 13 || n > uint64(len(b)-4) || id == 0 || id > off+4 {
		return nil, 0, nil
	}
	if c = t.cieAt(&t.eh, off+4-id); c == nil || !c.plain {
		return nil, 0, nil
	}
	b = b[:n+4]
	start = t.eh.Addr + off + 8 + uint64(int64(int32(binary.LittleEndian.Uint32(b[8:]))))
	size := int64(int32(binary.LittleEndian.Uint32(b[12:])))
	if start-1 >= 1<<62 || size <= 0 || pc-start >= uint64(size) {
		return nil, 0, nil
	}
	from := 16
	if c.augmented {
		from = 17 + int(b[16]&0x7f)
		if b[16] >= 0x80 || from > len(b) {
			return nil, 0, nil
		}
	}
	return c, start, b[from:]
}

// runPlain executes a program until the row for pc is complete; false if it is not plain, or has
// a fault.
func (t *Table) runPlain(c *cie, b []byte, loc, pc uint64) (s plainState, ok bool) {
	var nested [maxPlainNested]plainState
	depth := 0
	s = c.row
	for i := 0; i < len(b); {
		op := b[i]
		i++
		switch op & 0xc0 {
		case cfaAdvanceLoc:
			if loc += uint64(op&0x3f) * c.codeAlign; loc > pc {
				return s, true
			}
			continue
		case cfaOffset:
			if i >= len(b) || b[i]-1 >= maxPlainSaved {
				return s, false
			}
			if s, ok = s.with(t.regs[op&0x3f], uint64(b[i])); !ok {
				return s, false
			}
			i++
			continue
		case cfaRestore:
			place := t.regs[op&0x3f]
			if s, ok = s.with(place, c.row.saved>>(place&7*8)&0xff); !ok {
				return s, false
			}
			continue
		}
		switch op {
		case cfaNop, cfaAArch64NegateRA: // the walker strips signatures whether or not there is one
		case cfaAdvanceLoc1, cfaAdvanceLoc2, cfaAdvanceLoc4:
			n := 1 << (op - cfaAdvanceLoc1)
			if n > len(b)-i {
				return s, false
			}
			if loc += littleEndian(b[i:i+n]) * c.codeAlign; loc > pc {
				return s, true
			}
			i += n
		case cfaDefCFA, cfaDefCFARegister, cfaDefCFAOffset, cfaUndefined, cfaGNUArgsSize:
			if i = t.operandPlain(&s, op, b, i); i < 0 {
				return s, false
			}
		case cfaRememberState:
			if depth == maxPlainNested {
				return s, false
			}
			nested[depth] = s
			depth++
		case cfaRestoreState:
			if depth--; depth < 0 {
				return s, false
			}
			s = nested[depth]
		default:
			return s, false
		}
	}
	return s, true
}

// littleEndian gives the number that the bytes are.
func littleEndian(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// operandPlain executes an instruction with operands in LEB128 at i, and gives where the next one is;
// -1 for what is not plain.
func (t *Table) operandPlain(s *plainState, op byte, b []byte, i int) int {
	v, i := shortULEB(b, i)
	if op == cfaDefCFA || op == cfaDefCFARegister {
		if v >= frames.NumRegs {
			return -1
		}
		s.cfaReg = uint8(v)
		if op == cfaDefCFARegister || i < 0 {
			return i
		}
		v, i = shortULEB(b, i)
	}
	switch {
	case op == cfaUndefined && v == uint64(frames.X86RA) && t.arch == frames.X86_64:
		s.saved |= plainRoot << (8 * plainRA)
	case op == cfaUndefined:
		return -1
	case op != cfaGNUArgsSize:
		s.cfaOff = int32(v)
	}
	return i
}

// shortULEB reads a number of at most four bytes (28 bits), and gives where the next one is; -1 if it
// is longer or cut off.
func shortULEB(b []byte, i int) (v uint64, next int) {
	for shift := 0; shift < 28; shift += 7 {
		if i >= len(b) {
			return 0, -1
		}
		c := b[i]
		i++
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// packPlain makes a state a rule, if one without a row can hold it.
func (t *Table) packPlain(s *plainState, first bool) (r frames.Rule, ok bool) {
	if t.arch == frames.X86_64 {
		ra := s.saved >> (8 * plainRA)
		if ra == plainRoot {
			return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, true
		}
		s.saved &^= plainRoot << (8 * plainRA)
		ok = ra == 1
	} else {
		// What is above the CFA of a function's first instruction: see pushedBefore.
		ok = !first && (s.cfaReg == t.arch.SP() || s.cfaReg == t.arch.FP())
		if s.saved>>8&0xff == 0 {
			r.Flags = frames.FlagLeafRA
		}
	}
	r.CFAOff, r.CFAReg, r.Method = s.cfaOff, s.cfaReg, frames.MethodCFI
	binary.LittleEndian.PutUint64(r.Saved[:], s.saved)
	return r, ok
}
