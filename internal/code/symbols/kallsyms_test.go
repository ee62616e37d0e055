// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestKernelFunctionsHaveNames(t *testing.T) {
	k, err := parseKernelNames([]byte(`ffffffff81000000 T _stext
ffffffff81000000 t first
ffffffff81000100 d data
ffffffff81004000 W second
no line
ffffffffc0000000 t inner	[module]
ffffffffc0002100 t last	[module]
ffffffffc0009000 t next	[later]
ffffffffc0010000 t ftrace_trampoline	[__builtin__ftrace]
ffffffffc0020000 t ftrace_trampoline	[__builtin__ftrace]
ffffffffc0030040 t bpf_prog_0a1b_count	[bpf]
ffffffffc0040000 t bpf_trampoline_1	[bpf]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		addr uint64
		name string
	}{
		{0xffffffff80ffffff, ""},
		{0xffffffff81000000, "first"}, {0xffffffff81003fff, "first"},
		{0xffffffff81004000, "second"}, {0xffffffff81004fff, "second"},
		{0xffffffff81005000, ""}, // modules' memory begins
		{0xffffffffc0000000, "inner"}, {0xffffffffc00020ff, "inner"},
		{0xffffffffc0002100, "last"}, {0xffffffffc0002fff, "last"},
		{0xffffffffc0003000, ""}, // classic BPF, or a module loaded later
		{0xffffffffc0009000, "next"},
		{0xffffffffc0010fff, "ftrace_trampoline"}, {0xffffffffc0011000, ""},
		{0xffffffffc0030fff, "[bpf]"}, {0xffffffffc0031000, ""}, {0xffffffffc0040000, "[bpf]"},
		{^uint64(0), ""},
	} {
		if got := k.Name(want.addr); got != want.name {
			t.Errorf("%#x: %q, want %q", want.addr, got, want.name)
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
		if _, err := parseKernelNames([]byte(text)); !errors.Is(err, errKernelHidden) {
			t.Errorf("%q: error %v, want %v", text, err, errKernelHidden)
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

func TestKernelAddressesAreVisibleUnlessTheyAreZero(t *testing.T) {
	f, err := os.Open("/proc/kallsyms")
	text := make([]byte, 256)
	if err == nil {
		defer f.Close()
		_, err = f.Read(text)
	}
	first, _, _ := strings.Cut(string(text), " ")
	if got, want := KernelAddressesVisible(), err == nil && strings.Trim(first, "0") != ""; got != want {
		t.Errorf("visible: %t, but the first line begins with %q (%v)", got, first, err)
	}
}
