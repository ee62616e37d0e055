// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func FuzzRule(f *testing.F) {
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3}, uint16(1), false, false)
	f.Add([]byte{0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x4c, 0x39, 0xdc, 0x75, 0xf4, 0xc3}, uint16(0), true, false)
	f.Add([]byte{0xfd, 0x7b, 0xbe, 0xa9, 0xfd, 0x7b, 0xc2, 0xa8, 0xc0, 0x03, 0x5f, 0xd6}, uint16(4), true, true)
	f.Add([]byte{0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8, 0x55, 0x48, 0x89, 0xe5,
		0x41, 0x52}, uint16(19), true, false)
	f.Fuzz(func(t *testing.T, b []byte, at uint16, bounds, arm64 bool) {
		o := Options{Arch: frames.X86_64, Code: bytesCode{base, b}, Entry: base + 64}
		if arm64 {
			o.Arch = frames.ARM64
		}
		if bounds {
			o.Funcs = oneFunc{base, base + uint64(len(b))}
		}
		s := New(o)
		for _, q := range []frames.Query{{}, {AfterCall: true}, {SPOnly: true}} {
			q.PC = base + uint64(at)
			s.Rule(q)
		}
		s.CallBefore(base + uint64(at))
		s.FuncStart(base + uint64(at))
		s.SwitchesStack(base+uint64(at), at&1 != 0)
		s.Popped(base+uint64(at), int(1+at&7))
		s.EndsInTailCall(base)
	})
}

type hostileCode struct{}

func (hostileCode) ReadCode(_ uint64, buf []byte) int {
	for i := range buf {
		buf[i] = 0x75 // jne +0x75, everywhere
	}
	return len(buf) + 100
}

func TestAnalysisOfEndlessCodeIsBounded(t *testing.T) {
	s := New(Options{Arch: frames.X86_64, Code: hostileCode{}, Funcs: oneFunc{0, ^uint64(0)}})
	a := s.analysis()
	defer a.free()
	a.searchPrologue(frames.Query{PC: 1 << 40}, everywhere, span{})
	if a.steps > maxSteps {
		t.Errorf("%d steps, want at most %d", a.steps, maxSteps)
	}
	for _, pc := range []uint64{0, 1 << 40, ^uint64(0) - 3, ^uint64(0)} {
		s.Rule(frames.Query{PC: pc})
		s.CallBefore(pc)
	}
}

type codeFromZero struct {
	bytesCode
	t *testing.T
}

func (c codeFromZero) ReadCode(addr uint64, buf []byte) int {
	if addr > 1<<32 {
		c.t.Errorf("code % x is read at %#x", c.b, addr)
	}
	return c.bytesCode.ReadCode(addr, buf)
}

func TestCodeBeforeAddressZeroIsNotRead(t *testing.T) {
	for _, b := range [][]byte{
		{0x48, 0x89, 0xe5, 0xc9, 0xc3},                   // mov rbp,rsp; leave; ret
		{0x5b, 0x41, 0x5c, 0xc3},                         // pop rbx; pop r12; ret
		{0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0}, // the first entry of a PLT
	} {
		for _, jit := range []bool{false, true} {
			s := New(Options{Arch: frames.X86_64, Code: codeFromZero{bytesCode{0, b}, t}, JIT: jit})
			for pc := range uint64(len(b)) {
				for _, q := range []frames.Query{{PC: pc}, {PC: pc, AfterCall: true}, {PC: pc, SPOnly: true}} {
					s.Rule(q)
				}
				s.CallBefore(pc)
				s.SwitchesStack(pc, false)
				for n := 1; n < 8; n++ {
					s.Popped(pc, n)
				}
			}
		}
	}
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{0, []byte{0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0}}})
	if r, _, ok := s.Rule(frames.Query{PC: 6}); !ok || r.CFAOff != 24 {
		t.Errorf("behind the push of a PLT at address 0: %+v, %v; want CFA = sp + 24", r, ok)
	}
}
