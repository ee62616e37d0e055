package heuristics

import (
	"os"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"prywalk/frames"
)

// libc is on every machine that runs these tests.
var libcPaths = []string{
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/usr/lib64/libc.so.6",
}

// findLibc gives the C library of x86-64.
func findLibc(t testing.TB) string {
	t.Helper()
	for _, p := range libcPaths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skip("no x86-64 C library on this machine")
	return ""
}

// Every instruction of the C library that x86asm knows has the length that
// x86asm says.
func TestDecoderAgreesOnLengthsWithX86asm(t *testing.T) {
	path := findLibc(t)
	code := openCode(t, path)
	known, differ, alone := 0, 0, 0
	for _, f := range readCFI(t, path) {
		buf := make([]byte, f.hi-f.lo)
		code.ReadCode(f.lo, buf)
		for off := 0; off < len(buf); {
			in, ok := decodeX86(buf[off:])
			if !ok {
				break
			}
			ref, err := x86asm.Decode(buf[off:], 64)
			switch {
			case err != nil || ref.Op == 0 || in.vex: // it takes VEX for prefixes
				alone++
			case ref.Len != int(in.size):
				if differ++; differ < 5 {
					t.Logf("%#x: % x: length %d, x86asm %d (%v)", f.lo+uint64(off), buf[off:min(off+15, len(buf))], in.size, ref.Len, ref)
				}
			default:
				known++
			}
			off += int(in.size)
		}
	}
	t.Logf("%d instructions agree, %d differ, %d are unknown to x86asm", known, differ, alone)
	if known < 100000 || differ > known/5000 {
		t.Errorf("%d instructions agree, %d differ", known, differ)
	}
}

func TestDecoderKnowsLengthsOfNewInstructions(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"endbr64", []byte{0xf3, 0x0f, 0x1e, 0xfa}},
		{"vzeroupper", []byte{0xc5, 0xf8, 0x77}},
		{"vmovdqu ymm0, [rsi]", []byte{0xc5, 0xfe, 0x6f, 0x06}},
		{"vmovdqu64 zmm16, [rsi+64]", []byte{0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x46, 0x01}},
		{"vpternlogd zmm1, zmm2, zmm3, 0xde", []byte{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xde}},
		{"shlx rax, rdx, rcx", []byte{0xc4, 0xe2, 0xf1, 0xf7, 0xc2}},
		{"rorx rax, rdx, 7", []byte{0xc4, 0xe3, 0xfb, 0xf0, 0xc2, 0x07}},
		{"kmovd eax, k0", []byte{0xc5, 0xfb, 0x93, 0xc0}},
		{"rex2 push r16", []byte{0xd5, 0x18, 0x50}},
		{"rdsspq rax", []byte{0xf3, 0x48, 0x0f, 0x1e, 0xc8}},
		{"movabs rax, imm64", []byte{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"tls call with data16", []byte{0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}},
		{"xbegin", []byte{0xc7, 0xf8, 0, 0, 0, 0}},
	} {
		in, ok := decodeX86(append(append([]byte{}, c.code...), 0x90, 0x90))
		if !ok || int(in.size) != len(c.code) {
			t.Errorf("%s: length %d, %v; want %d", c.name, in.size, ok, len(c.code))
		}
	}
}

func FuzzDecodeX86(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa})
	f.Add([]byte{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xde})
	f.Add([]byte{0x66, 0x48, 0x66, 0x48, 0x8b, 0x44, 0x24})
	f.Fuzz(func(t *testing.T, b []byte) {
		in, ok := decodeX86(b)
		if ok && (in.size == 0 || int(in.size) > min(len(b), 15)) {
			t.Errorf("% x: length %d", b, in.size)
		}
		for _, arch := range []frames.Arch{frames.X86_64, frames.AArch64} {
			s := New(Options{Arch: arch})
			var st state
			st.reset(s.abi, 0, 0, ^uint64(0))
			s.abi.exec(&st, b)
		}
	})
}

// TestPlainInstructionsAreDecodedAsAllAre: on real code, from every byte on, so that also what is no instruction
// is compared.
func TestPlainInstructionsAreDecodedAsAllAre(t *testing.T) {
	path := findLibc(t)
	code := openCode(t, path)
	plain, n := 0, 0
	for _, f := range readCFI(t, path) {
		buf := make([]byte, f.hi-f.lo)
		code.ReadCode(f.lo, buf)
		for at := 0; at+plainSize <= len(buf); at++ {
			n++
			if checkPlainX86(t, buf[at:]) {
				plain++
			}
		}
	}
	if plain < n/2 {
		t.Fatalf("%d of %d were plain", plain, n)
	}
}

// checkPlainX86 reports whether the bytes are a plain instruction, which has to be what it is as any.
func checkPlainX86(t *testing.T, b []byte) bool {
	t.Helper()
	var i instX86
	if len(b) < plainSize || !decodePlainX86((*[plainSize]byte)(b), &i) {
		return false
	}
	if want, ok := decodeAnyX86(b); !ok || i != want {
		t.Fatalf("% x: %+v, want %+v, %v", b[:plainSize], i, want, ok)
	}
	return true
}

func FuzzPlainX86(f *testing.F) {
	f.Add([]byte("\x48\x8b\x84\x24\x00\x01\x00\x00\x0f\x1f\x84\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x49\xb8\x01\x02\x03\x04\x05\x06\x07\x08\xf7\x04\x25\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			checkPlainX86(t, b)
			b = b[1:]
		}
	})
}
