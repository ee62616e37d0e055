// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"debug/dwarf"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestNamesOfAStackAreThoseThatTheRuntimeGives(t *testing.T) {
	paths := []string{build(t, source, noCgo), build(t, source, noCgo, stripped...)}
	for _, r := range olderReleases(t) {
		paths = append(paths, build(t, plainSource, with(r, noCgo...), stripped...))
	}
	for _, path := range paths {
		tab, _ := open(t, path)
		if tab.gofunc == 0 {
			t.Fatal("moduledata not found")
		}
		out, err := bounded.Output(exec.Command(path))
		if err != nil {
			t.Fatal(err)
		}
		stacks, inlined := 0, 0
		for _, s := range strings.Split(string(out), "STACK\n")[1:] {
			var got, want []string
			seen := map[string]bool{}
			for line := range strings.Lines(s) {
				line = strings.TrimSpace(line)
				if a, ok := strings.CutPrefix(line, "PC "); ok {
					pc, _ := strconv.ParseUint(a, 0, 64)
					for _, l := range tab.Lines(pc, nil) {
						if e := fmt.Sprintln(l.Name, l.File, l.Line); !seen[e] {
							seen[e] = true
							got = append(got, e)
						}
						if l.Inlined {
							inlined++
						}
					}
				} else if f, ok := strings.CutPrefix(line, "FRAME "); ok {
					want = append(want, f+"\n")
				}
			}
			if strings.Join(got, "") != strings.Join(want, "") {
				t.Errorf("got\n%swant\n%s", strings.Join(got, ""), strings.Join(want, ""))
			}
			stacks++
		}
		if stacks != 2 || inlined == 0 {
			t.Errorf("%d stacks, %d inlined calls", stacks, inlined)
		}
	}
}

// The oracles are go tool addr2line and, for inlined calls, addr2line of binutils.
func TestNamesAgreeWithAddr2line(t *testing.T) {
	path := build(t, source, noCgo)
	tab, _ := open(t, path)
	var in bytes.Buffer
	var pcs []uint64
	for i := uint64(0); i < tab.h.nfunc; i++ {
		start, _, _ := tab.ftab(i)
		end, _, _ := tab.ftab(i + 1)
		for pc := start; pc < end; pc += 37 {
			if f, ok := tab.find(pc); ok {
				if _, ok := tab.pcvalue(&f, f.pcln, pc); ok {
					pcs = append(pcs, pc)
					fmt.Fprintf(&in, "%#x\n", pc)
				}
			}
		}
	}
	cmd := exec.Command("go", "tool", "addr2line", path)
	cmd.Stdin = &in
	out, err := bounded.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for i, pc := range pcs {
		l := tab.Lines(pc, nil)
		if len(l) == 0 {
			t.Fatalf("%#x: no name", pc)
		}
		fn, pos := lines[2*i], lines[2*i+1]
		if got := l[len(l)-1].Name; got != fn && got != strings.TrimSuffix(fn, ".abi0") {
			t.Fatalf("%#x: function %q, addr2line %q", pc, got, fn)
		}
		if got := fmt.Sprintf("%s:%d", l[0].File, l[0].Line); got != pos {
			t.Fatalf("%#x: %s, addr2line %s", pc, got, pos)
		}
	}
	if len(pcs) < 10000 {
		t.Errorf("only %d addresses", len(pcs))
	}
}

func TestInlinedCallsAgreeWithDWARF(t *testing.T) {
	tab, f := open(t, build(t, source, noCgo))
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	want := inlineChains(t, d)
	same, other := 0, 0
	for pc, w := range want {
		var got []string
		for _, l := range tab.Lines(pc, nil) {
			got = append(got, l.Name)
		}
		if strings.Join(got, "<") == strings.Join(w, "<") {
			same++
		} else if other++; other < 8 {
			t.Logf("%#x: table %v, DWARF %v", pc, got, w)
		}
	}
	// some compiler ranges begin at an instruction of the line before
	if same < 5000 || other*100 > same {
		t.Errorf("%d chains agree, %d differ", same, other)
	}
	t.Logf("%d chains agree, %d differ", same, other)
}

func inlineChains(t *testing.T, d *dwarf.Data) map[uint64][]string {
	names := map[dwarf.Offset]string{}
	want := map[uint64][]string{}
	var chain []string
	var holds []bool // an open entry added to chain
	for pass := range 2 {
		for r := d.Reader(); ; {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			if e.Tag == 0 {
				if holds[len(holds)-1] {
					chain = chain[1:]
				}
				holds = holds[:len(holds)-1]
				continue
			}
			name, _ := e.Val(dwarf.AttrName).(string)
			if o, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				name = names[o]
			}
			names[e.Offset] = name
			in := e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine
			if in {
				chain = append([]string{name}, chain...)
			}
			if rs, _ := d.Ranges(e); pass == 1 && len(rs) > 0 && e.Tag == dwarf.TagInlinedSubroutine &&
				len(chain) > len(want[rs[0][0]]) {
				want[rs[0][0]] = chain
			}
			if e.Children {
				holds = append(holds, in)
			} else if in {
				chain = chain[1:]
			}
		}
	}
	return want
}

func TestStrippedProgramsGiveTheSameNames(t *testing.T) {
	for _, v := range variants() {
		if v.src != source {
			continue
		}
		a, _ := open(t, build(t, v.src, v.env, v.args...))
		b, _ := open(t, build(t, v.src, v.env, append([]string{"-ldflags=-s -w"}, v.args...)...))
		n := 0
		for off := uint64(0); off < 1<<20; off += 1001 * quantum(a.img.Arch) {
			la, lb := a.Lines(a.text+off, nil), b.Lines(b.text+off, nil)
			if fmt.Sprint(la) != fmt.Sprint(lb) {
				t.Fatalf("%s: %#x: %v and stripped %v", v.name, off, la, lb)
			}
			n += len(la)
		}
		if n == 0 {
			t.Errorf("%s: no names", v.name)
		}
	}
}
