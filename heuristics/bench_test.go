// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"prywalk/frames"
	"prywalk/internal/code/x86"
)

func somePlaces(b *testing.B) (*elfCode, []cfiFunc, []uint64) {
	path := findLibc(b)
	funcs, code := readCFI(b, path), openCode(b, path)
	var pcs []uint64
	k := 0
	for _, f := range funcs {
		buf := make([]byte, f.hi-f.lo)
		code.ReadCode(f.lo, buf)
		for off := 0; off < len(buf); {
			in, ok := x86.Decode(buf[off:])
			if !ok {
				break
			}
			if k++; k%101 == 0 {
				pcs = append(pcs, f.lo+uint64(off))
			}
			off += int(in.Size)
		}
	}
	return code, funcs, pcs
}

func BenchmarkRule(b *testing.B) {
	code, funcs, pcs := somePlaces(b)
	for name, f := range map[string]Functions{"forward": nil, "bounds": fdeFuncs(funcs)} {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Arch: frames.X86_64, Code: code, Funcs: f})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Rule(frames.Query{PC: pcs[i%len(pcs)]})
				i++
			}
		})
	}
}

func BenchmarkCallBefore(b *testing.B) {
	code, _, pcs := somePlaces(b)
	s := New(Options{Arch: frames.X86_64, Code: code})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.CallBefore(pcs[i%len(pcs)])
		i++
	}
}

func BenchmarkJIT(b *testing.B) {
	var text []byte
	for range 25 {
		text = append(text, 0x48, 0x8b, 0x45, 0xe8, 0x48, 0x39, 0xd8, 0x75, 0x02, 0x48, 0x01, 0xc3) // mov, cmp, jne, add
	}
	text = append(text, 0x48, 0x89, 0xec, 0x5d, 0xc3) // mov rsp,rbp; pop rbp; ret
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, text}, JIT: true})
	a := s.analysis()
	defer a.free()
	b.ReportAllocs()
	for b.Loop() {
		if v := a.searchEpilogues(base, true, everywhere, acceptedEnds{}); !v.showsWholeFrame(s.abi) {
			b.Fatal("no epilogue")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	code, _, pcs := somePlaces(b)
	var insts [][]byte
	for _, pc := range pcs {
		buf := make([]byte, 15)
		code.ReadCode(pc, buf)
		insts = append(insts, buf)
	}
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			x86.Decode(insts[i%len(insts)])
			i++
		}
	})
	b.Run("x86asm", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			x86asm.Decode(insts[i%len(insts)], 64)
			i++
		}
	})
}
