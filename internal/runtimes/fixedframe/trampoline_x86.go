// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"prywalk/frames"
	"prywalk/heuristics"
)

// trampoline makes a frame for the generated code that it jumps to.
type trampoline struct {
	start, end uint64
	size       int64           // with return address
	saved      map[uint8]int64 // distances below the CFA
}

const (
	maxTrampoline = 160 // bytes
	maxFrameWords = 64
)

// readTrampoline analyses code up to its first indirect jump; nil without a plain rule.
func (p *process) readTrampoline(start uint64) *trampoline {
	var code [maxTrampoline]byte
	n := p.Read(start, code[:])
	t := &trampoline{start: start, end: start + uint64(n)}
	text := &codeAt{start: start, bytes: code[:n]}
	s := heuristics.New(heuristics.Options{Arch: p.Arch(), Code: text, Funcs: t})
	for i := 0; i+2 < n; i++ {
		long := indirectJump(code[i:n])
		if long == 0 {
			continue
		}
		t.end = start + uint64(i+long)
		r, row, ok := s.Rule(frames.Query{PC: start + uint64(i)})
		if !ok || row != nil || r.CFAReg != frames.X86RSP || r.Flags != 0 || r.CFAOff < 16 || r.CFAOff > 8*maxFrameWords {
			return nil
		}
		t.size = int64(r.CFAOff)
		t.saved = map[uint8]int64{}
		for i, reg := range compactX86 {
			if units := r.Saved[i]; units != 0 {
				t.saved[reg] = 8 * int64(units)
			}
		}
		return t
	}
	return nil
}

// indirectJump returns the length of FF /4 by register (Intel SDM volume 2, JMP), possibly with a prefix, else 0.
func indirectJump(code []byte) int {
	n := 0
	if code[0]&0xf0 == 0x40 {
		n = 1
	}
	if len(code) >= n+2 && code[n] == 0xff && code[n+1]&0xf8 == 0xe0 {
		return n + 2
	}
	return 0
}

// FuncRange implements [heuristics.Functions].
func (t *trampoline) FuncRange(pc uint64) (start, end uint64, ok bool) {
	return t.start, t.end, pc >= t.start && pc < t.end
}

type codeAt struct {
	start uint64
	bytes []byte
}

// ReadCode implements [heuristics.Code].
func (c *codeAt) ReadCode(addr uint64, b []byte) int {
	if addr < c.start || addr-c.start > uint64(len(c.bytes)) {
		return 0
	}
	return copy(b, c.bytes[addr-c.start:])
}
