// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func nmSymbols(t *testing.T, file string, flags ...string) map[extent][]string {
	t.Helper()
	args := append([]string{need(t, "nm"), "-S", "--defined-only"}, append(flags, file)...)
	out := make(map[extent][]string)
	for _, line := range strings.Split(run(t, "", args...), "\n") {
		f := strings.Fields(line)
		if len(f) != 4 || !strings.ContainsAny(f[2], "tTwWi") {
			continue
		}
		lo, _ := strconv.ParseUint(f[0], 16, 64)
		size, _ := strconv.ParseUint(f[1], 16, 64)
		name := cutVersion(f[3])
		out[extent{lo, lo + size}] = append(out[extent{lo, lo + size}], name)
	}
	return out
}

func TestSymbolsAgreeWithNm(t *testing.T) {
	gcc := need(t, "gcc")
	dir := t.TempDir()
	src := write(t, dir, "a.c", cSource)
	exe := filepath.Join(dir, "a.out")
	run(t, dir, gcc, "-O2", "-static", "-o", exe, src)
	libc := strings.TrimSpace(run(t, dir, gcc, "-print-file-name=libc.so.6"))
	for file, flags := range map[string][]string{exe: nil, libc: {"-D"}} {
		table := openTable(t, file)
		table.from.Open = nil
		want := nmSymbols(t, file, flags...)
		if len(want) < 500 {
			t.Fatalf("nm lists only %d functions in %s", len(want), file)
		}
		for e, names := range want {
			s := table.symbols().find(e.lo)
			if s == nil {
				t.Errorf("%s: %v at %#x has no symbol", file, names, e.lo)
				continue
			}
			got := cutVersion(table.syms.name(s.name))
			if s.addr != e.lo || !strings.Contains(" "+strings.Join(names, " ")+" ", " "+got+" ") && !sameStart(want, e.lo,
				got) {
				t.Errorf("%s: at %#x got %s at %#x, want %v of nm", file, e.lo, got, s.addr, names)
			}
		}
	}
}

func sameStart(all map[extent][]string, addr uint64, name string) bool {
	for e, names := range all {
		if e.lo == addr {
			for _, n := range names {
				if n == name {
					return true
				}
			}
		}
	}
	return false
}

func TestSymbolTableWithoutFunctionsTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	obj := filepath.Join(dir, "data.o")
	run(t, dir, need(t, "gcc"), "-c", "-o", obj, write(t, dir, "data.c", "int one, two, three;"))
	table := openTable(t, obj)
	memory := table.from.File.Memory()
	before := memory.Used()
	if n := len(table.symbols().syms); n != 0 {
		t.Fatalf("%d functions, want none", n)
	}
	if left := memory.Used() - before; left != 0 {
		t.Errorf("%d bytes are counted for no functions, want 0", left)
	}
}

func TestAliasesGetTheirPublicName(t *testing.T) {
	libc := strings.TrimSpace(run(t, "", need(t, "gcc"), "-print-file-name=libc.so.6"))
	table := openTable(t, libc)
	table.from.Open = nil
	at := make(map[string]uint64)
	for e, names := range nmSymbols(t, libc, "-D") {
		for _, n := range names {
			at[n] = e.lo
		}
	}
	for _, name := range []string{"malloc", "free", "write", "read", "poll", "qsort", "puts", "fopen", "open"} {
		fs := table.Frames(at[name], nil)
		got := ""
		if len(fs) == 1 {
			got = fs[0].Name
		}
		if got != name && got != name+"64" {
			t.Errorf("%[1]s: got %[2]q, want %[1]s", name, got)
		}
	}
}

var pltLine = regexp.MustCompile(`^([0-9a-f]+) <(.+)@plt>:$`)

func TestPLTEntriesAgreeWithObjdump(t *testing.T) {
	gcc, objdump := need(t, "gcc"), need(t, "objdump")
	for _, flags := range [][]string{{"-O1"}, {"-O1", "-fcf-protection=full", "-Wl,-z,ibtplt"}, {"-O1", "-Wl,-z,now"},
		{"-O1", "-no-pie"}, {"-O1", "-Wl,-z,lazy"}} {
		dir := t.TempDir()
		exe := filepath.Join(dir, "a.out")
		run(t, dir, append([]string{gcc, "-o", exe, write(t, dir, "a.c", cSource)}, flags...)...)
		table := openTable(t, exe)
		n := 0
		sc := bufio.NewScanner(strings.NewReader(run(t, dir, objdump, "-d", exe)))
		for sc.Scan() {
			m := pltLine.FindStringSubmatch(sc.Text())
			if m == nil || strings.HasPrefix(m[2], "*ABS*") {
				continue
			}
			n++
			addr, _ := strconv.ParseUint(m[1], 16, 64)
			want := cutVersion(m[2]) + "@plt"
			if fs := table.Frames(addr+1, nil); len(fs) != 1 || fs[0].Name != want {
				t.Errorf("%v: at %#x got %v, want %s", flags, addr, fs, want)
			}
		}
		if n < 4 {
			t.Errorf("%v: objdump shows only %d entries", flags, n)
		}
	}
}

func TestPLTEntryOfARM64HasItsSlot(t *testing.T) {
	// adrp x16, 0x420000; ldr x17, [x16, #0xfd8]; add x16, x16, #0xfd8; br x17
	code := []byte{0x10, 0x01, 0x00, 0x90, 0x11, 0xee, 0x47, 0xf9, 0x10, 0x62, 0x3f, 0x91, 0x20, 0x02, 0x1f, 0xd6}
	if slot, ok := decodeStubARM64(code, 0x400510); !ok || slot != 0x420fd8 {
		t.Errorf("slot %#x, %v; want 0x420fd8", slot, ok)
	}
	copy(code, []byte{0xf0, 0xff, 0xff, 0xf0})
	if slot, ok := decodeStubARM64(code, 0x400510); !ok || slot != 0x3fffd8 {
		t.Errorf("negative page: slot %#x, %v; want 0x3fffd8", slot, ok)
	}
	if _, ok := decodeStubARM64(make([]byte, 16), 0); ok {
		t.Error("zeros are decoded as a PLT entry")
	}
}

const asmSource = `
	.text
	.globl	unsized
	.type	unsized, @function
unsized:
	nop
	nop
local_label:
	nop
	.globl	sized
	.type	sized, @function
sized:
	nop
inner_label:
	nop
	.size	sized, . - sized
	nop
	.globl	main
main:
	xorl	%eax, %eax
	ret
	.section .note.GNU-stack,"",@progbits
`

func TestASymbolWithoutASizeDoesNotNameAllThatFollows(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "a.out")
	source := ".globl main\n.type main, %function\nmain:\n\tnop\n\t.skip 0x8000\n.section .note.GNU-stack,\"\",%progbits\n"
	run(t, dir, need(t, "gcc"), "-o", exe, write(t, dir, "a.s", source))
	table := openTable(t, exe)
	table.symbols()
	for i := range table.syms.syms {
		s := &table.syms.syms[i]
		if table.syms.name(s.name) != "main" {
			continue
		}
		near, far := table.syms.linkageName(s.addr+100), table.syms.linkageName(s.addr+0x4000)
		if near != "main" || far != "" {
			t.Errorf("main+100 is %q, main+0x4000 is %q", near, far)
		}
		return
	}
	t.Error("no main")
}

func TestAssemblySymbolsReachToTheNext(t *testing.T) {
	gcc := need(t, "gcc")
	out, _ := bounded.Output(exec.Command(gcc, "-dumpmachine"))
	testtargets.Need(t, strings.HasPrefix(string(out), "x86_64"), "a compiler for x86-64", "another machine")
	dir := t.TempDir()
	exe := filepath.Join(dir, "a.out")
	run(t, dir, gcc, "-o", exe, write(t, dir, "a.s", asmSource))
	table := openTable(t, exe)
	var start uint64
	for i := range table.symbols().syms {
		if table.syms.name(table.syms.syms[i].name) == "unsized" {
			start = table.syms.syms[i].addr
		}
	}
	var got []string
	for a := start; a < start+9; a++ {
		name := "-"
		if fs := table.Frames(a, nil); len(fs) > 0 {
			name = fs[0].Name
		}
		got = append(got, name)
	}
	want := "[unsized unsized local_label sized sized - main main main]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if lo, hi, ok := table.FuncRange(start + 1); !ok || lo != start || hi != start+2 {
		t.Errorf("the range of unsized is %#x to %#x, want %#x to %#x", lo, hi, start, start+2)
	}
}
