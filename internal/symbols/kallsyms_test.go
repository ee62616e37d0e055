// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"testing"
)

func TestKernelFunctionsHaveNames(t *testing.T) {
	k, err := parseKernelNames([]byte("ffffffff81000000 T _stext\nffffffff81000000 t first\nffffffff81000200 T " +
		"second\t[module]\n" +
		"ffffffff81000100 d data\nno line\nffffffff81000300 W third\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xffffffff80ffffff: "", 0xffffffff81000000: "first", 0xffffffff810001ff: "first", 0xffffffff81000200: "second",
		0xffffffff81000300: "third", ^uint64(0): "third",
	} {
		if got := k.Name(addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
}

func TestSpanOfAKernelFunctionEndsAtTheNextOne(t *testing.T) {
	k, err := parseKernelNames([]byte("ffffffff81000000 T _stext\nffffffff81000000 t first\nffffffff81000200 T second\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]uint64{
		"_stext": {0xffffffff81000000, 0xffffffff81000200}, "first": {0xffffffff81000000, 0xffffffff81000200},
		"second": {}, "third": {},
	} {
		if from, to := k.FuncRange(name); from != want[0] || to != want[1] {
			t.Errorf("%s: %#x to %#x, want %#x", name, from, to, want)
		}
	}
}

func TestKernelNamesAreReadOnce(t *testing.T) {
	a, errA := ReadKernelNamesOnce()
	b, errB := ReadKernelNamesOnce()
	if a != b || errA != errB {
		t.Errorf("two reads return %p and %p, %v and %v; want the same", a, b, errA, errB)
	}
}

func TestHiddenKernelSymbolsAreAnError(t *testing.T) {
	for _, text := range []string{"", "0000000000000000 T _text\n0000000000000000 T f\n", "x y z\n"} {
		if _, err := parseKernelNames([]byte(text)); !errors.Is(err, ErrKernelHidden) {
			t.Errorf("%q: error %v, want %v", text, err, ErrKernelHidden)
		}
	}
}

func FuzzKernelNames(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _stext\nffffffff81000200 T second\t[module]\n"), uint64(0xffffffff81000001))
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		if k, err := parseKernelNames(b); err == nil {
			k.Name(addr)
		}
	})
}
