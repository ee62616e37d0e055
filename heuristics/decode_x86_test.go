// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"os"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"prywalk/frames"
	"prywalk/internal/code/x86"
	"prywalk/internal/testtargets"
)

var libcPaths = []string{
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/usr/lib64/libc.so.6",
}

func findLibc(t testing.TB) string {
	t.Helper()
	for _, p := range libcPaths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	testtargets.Need(t, false, "a C library for x86-64", testtargets.SetUp)
	return ""
}

func TestDecoderAgreesOnLengthsWithX86asm(t *testing.T) {
	path := findLibc(t)
	code := openCode(t, path)
	known, differ, alone := 0, 0, 0
	for _, f := range readCFI(t, path) {
		buf := make([]byte, f.hi-f.lo)
		code.ReadCode(f.lo, buf)
		for off := 0; off < len(buf); {
			in, ok := x86.Decode(buf[off:])
			if !ok {
				break
			}
			ref, err := x86asm.Decode(buf[off:], 64)
			switch {
			case err != nil || ref.Op == 0 || in.VEX: // it takes VEX for prefixes
				alone++
			case ref.Len != int(in.Size):
				if differ++; differ < 5 {
					t.Logf("%#x: % x: length %d, x86asm %d (%v)", f.lo+uint64(off), buf[off:min(off+15, len(buf))], in.Size, ref.Len,
						ref)
				}
			default:
				known++
			}
			off += int(in.Size)
		}
	}
	t.Logf("%d instructions agree, %d differ, %d are unknown to x86asm", known, differ, alone)
	if known == 0 || differ > 0 {
		t.Errorf("%d instructions agree, %d differ", known, differ)
	}
}

func FuzzDecodeX86(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa})
	f.Add([]byte{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xde})
	f.Add([]byte{0x66, 0x48, 0x66, 0x48, 0x8b, 0x44, 0x24})
	f.Fuzz(func(t *testing.T, b []byte) {
		in, ok := x86.Decode(b)
		if ok && (in.Size == 0 || int(in.Size) > min(len(b), 15)) {
			t.Errorf("% x: length %d, want 1 to %d", b, in.Size, min(len(b), 15))
		}
		for _, arch := range []frames.Arch{frames.X86_64, frames.ARM64} {
			s := New(Options{Arch: arch, Code: bytesCode{base, b}})
			var st symbolicState
			st.reset(s.abi, 0, everywhere)
			s.abi.step(&st, b, &flow{})
		}
	})
}
