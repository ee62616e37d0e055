// SPDX-License-Identifier: Apache-2.0

package arm64

import "prywalk/frames"

// Adapter returns the rule in an adapter between interpreted and compiled code. From the interpreter
// (gen_i2c_adapter):
//
//	[sub x8, sp, #…; and sp, x8, #-16;] …; br x8
//
// From compiled code, after an optional call (gen_c2i_adapter):
//
//	[stp x29, x30, [sp, #-16]!; mov x29, sp; …; ldp x29, x30, [sp], #16;] mov sender, sp; [sub sp, sp, #…;] …; br x8
func (r *Rules) Adapter(p *Piece, pc uint64, afterCall bool) (frames.Rule, *frames.Row, bool) {
	if r.sender == 0 || pc%insnBytes != 0 {
		return frames.Rule{}, nil, false
	}
	from := max(p.Begin, pc-min(pc, maxAdapter))
	v := window{from, r.Code(from, pc-from)}
	for q := pc - insnBytes; ; q -= insnBytes {
		w, ok := v.at(q)
		f, _ := w.flow()
		switch {
		case ok && w == setFP:
			return byRecord(), nil, true
		case ok && w == pushPair && !afterCall:
			return framed(2 * wordBytes), nil, q+insnBytes == pc
		case afterCall && (!ok || w == popPair):
			return frames.Rule{}, nil, false
		case !ok:
			return leaf, nil, q < p.Begin
		case w == popPair, f == flowAway, f == flowReturn, f == flowJump:
			return leaf, nil, !afterCall
		case w.is(0xffffffe0, 0x910003e0) && w.rd() == r.sender: // mov sender, sp
			return inLR(bySender(r.sender))
		}
	}
}

const maxAdapter = 2048 // bytes
