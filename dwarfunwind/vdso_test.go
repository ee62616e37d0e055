// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
)

func vdso(t *testing.T) []byte {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for sc := bufio.NewScanner(bytes.NewReader(maps)); sc.Scan(); {
		w := strings.Fields(sc.Text())
		if w[len(w)-1] != "[vdso]" {
			continue
		}
		from, to, _ := strings.Cut(w[0], "-")
		start, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		b := make([]byte, end-start)
		if _, err := mem.ReadAt(b, int64(start)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	testtargets.Need(t, false, "a vDSO", "a kernel without vdso=0")
	return nil
}

func TestVDSOFunctionsHaveRules(t *testing.T) {
	b := vdso(t)
	f, err := elffile.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(t, f)
	syms, err := f.Symbols(elffile.DynSym)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range syms {
		if s.Type() != elf.STT_FUNC || s.Size == 0 {
			continue
		}
		n++
		rule, _, ok := table.Rule(frames.Query{PC: s.Value})
		if !ok || rule.Flags&^(frames.FlagRAInLR|frames.FlagExactPC) != 0 {
			t.Errorf("%s: rule %+v, %v", f.SymbolName(elffile.DynSym, &s), rule, ok)
		}
	}
	if n == 0 {
		t.Error("the vDSO has no functions")
	}
}

func TestWindowsAndMemoryHaveTheSameRules(t *testing.T) {
	lazy := openTable(t, libcPath)
	load := func(s Section) Section {
		b := bytes.Clone(s.view(0, int(s.Size)))
		return NewSection(s.Addr, b)
	}
	whole, err := New(Config{Arch: lazy.arch, EhFrameHdr: load(lazy.hdr.sec), EhFrame: load(lazy.eh.section)})
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := New(Config{Arch: lazy.arch, EhFrame: load(lazy.eh.section)})
	if err != nil {
		t.Fatal(err)
	}
	for e := range lazy.FDEs() {
		for _, pc := range []uint64{e.Start, (e.Start + e.End) / 2, e.End - 1, e.End} {
			q := frames.Query{PC: pc}
			a, _, okA := lazy.Rule(q)
			b, _, okB := whole.Rule(q)
			c, _, okC := indexed.Rule(q)
			if a != b || a != c || okA != okB || okA != okC {
				t.Fatalf("%#x: by blocks %+v %v, in memory %+v %v and %+v %v; want the same", pc, a, okA, b, okB, c, okC)
			}
		}
	}
}
