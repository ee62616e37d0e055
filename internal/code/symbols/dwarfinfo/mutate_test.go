// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"bytes"
	"debug/elf"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

const source = `
namespace outer { struct Box { int v; Box(int x) : v(x * 3) {} int twice() const { return v * 2; } }; }
namespace inner { namespace { struct Rest { int v; int of(int m) const { return v % m; } }; } }
static inline int square(int x) { return x * x; }
static inline int cube(int x) { return square(x) * x; }
__attribute__((noinline)) int work(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) s += cube(i) ^ square(s);
	return s + outer::Box(n).twice() + inner::Rest{s}.of(n);
}
int main(int argc, char **) { return work(argc); }
`

func compile(tb testing.TB, flags ...string) (s Sections, lo, hi uint64) {
	tb.Helper()
	gxx := testtargets.NeedProgram(tb, "g++")
	dir := tb.TempDir()
	src, out := filepath.Join(dir, "a.cc"), filepath.Join(dir, "a.out")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		tb.Fatal(err)
	}
	if msg, err := bounded.AllOutput(exec.Command(gxx, append(flags, "-O2", "-o", out, src)...)); err != nil {
		tb.Fatalf("g++: %v\n%s", err, msg)
	}
	f, err := elf.Open(out)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var info, line, str, lineStr []byte
	defer func() {
		s.Info, s.Line = elffile.InMemory(info), elffile.InMemory(line)
		s.Str, s.LineStr = elffile.InMemory(str), elffile.InMemory(lineStr)
	}()
	for name, to := range map[string]*[]byte{
		".debug_info": &info, ".debug_abbrev": &s.Abbrev, ".debug_line": &line,
		".debug_str": &str, ".debug_line_str": &lineStr, ".debug_ranges": &s.Ranges, ".debug_rnglists": &s.Rnglists,
	} {
		if sec := f.Section(name); sec != nil {
			if *to, err = sec.Data(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	text := f.Section(".text")
	return s, text.Addr, text.Addr + text.Size
}

func contents(w *elffile.Window) []byte { return view(w, 0, w.Size()) }

func damage(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for n := r.IntN(4); n > 0 && len(b) > 0; n-- {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	if r.IntN(20) == 0 {
		b = b[:r.IntN(len(b)+1)]
	}
	return b
}

func TestDamagedSectionsNeitherPanicNorLoop(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-gdwarf-4"}, {"-g", "-gdwarf-5"}, {"-g", "-gdwarf-5", "-gdwarf64"}} {
		good, lo, hi := compile(t, flags...)
		r := rand.New(rand.NewPCG(3, 4))
		for range 3000 {
			s := good
			for _, w := range []**elffile.Window{&s.Info, &s.Line, &s.Str, &s.LineStr} {
				*w = elffile.InMemory(damage(r, contents(*w)))
			}
			for _, b := range []*[]byte{&s.Abbrev, &s.Ranges, &s.Rnglists} {
				*b = damage(r, *b)
			}
			lookUp(t, New(s, nil), lo, hi)
		}
	}
}

func lookUp(t *testing.T, d *Data, lo, hi uint64) {
	t.Helper()
	var out []Call
	for a := lo; a < hi; a += 5 {
		out = d.Calls(a, out[:0])
		if len(out) > maxInline+1 {
			t.Fatalf("%d calls at %#x, more than maxInline", len(out), a)
		}
		for i := range out {
			if out[i].Inlined != (i < len(out)-1) {
				t.Fatalf("call %d of %d at %#x: inlined is %v", i, len(out), a, out[i].Inlined)
			}
		}
	}
}

func TestInlinedCallsComeInnermostFirst(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-gdwarf-4"}, {"-g", "-gdwarf-5"}} {
		s, lo, hi := compile(t, flags...)
		d := New(s, nil)
		chains := make(map[string]bool)
		for a := lo; a < hi; a++ {
			chain := ""
			for _, c := range d.Calls(a, nil) {
				if c.Func != nil {
					chain += c.Func.Name + " "
				}
			}
			chains[chain] = true
		}
		for _, want := range []string{"square cube work ", "square work ", "work ", "main ",
			"inner::(anonymous namespace)::Rest::of work "} {
			if !chains[want] {
				t.Errorf("%v: no address has the chain %q: %v", flags, want, chains)
			}
		}
	}
}

func TestEmptyOrInvalidSectionsHaveNoCalls(t *testing.T) {
	if got := New(Sections{}, nil).Calls(0x1000, nil); len(got) != 0 {
		t.Errorf("calls %v without sections, want none", got)
	}
	for _, info := range [][]byte{nil, {1}, bytes.Repeat([]byte{0xff}, 100), make([]byte, 100)} {
		s := Sections{Info: elffile.InMemory(info)}
		if got := New(s, nil).Calls(0x1000, nil); len(got) != 0 {
			t.Errorf("calls %v, want none", got)
		}
	}
}

func TestCircularReferencesEnd(t *testing.T) {
	abbrev := []byte{
		1, tagCompileUnit, 1, attrLowPC, formAddr, attrHighPC, formData4, 0, 0,
		2, tagSubprogram, 0, attrLowPC, formAddr, attrHighPC, formData4, attrAbstractOrigin, formRef4, 0, 0, 0,
	}
	info := []byte{
		0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8,
		1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
		2, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 24, 0, 0, 0,
		0,
	}
	info[0] = byte(len(info) - 4)
	got := New(Sections{Info: elffile.InMemory(info), Abbrev: abbrev}, nil).Calls(0x1010, nil)
	if len(got) != 1 || got[0].Func == nil || got[0].Func.Name != "" {
		t.Errorf("calls %+v, want one without a name", got)
	}
}

// The units share a long table of abbreviations, which lacks their code.
func TestOverlappingTablesAreBounded(t *testing.T) {
	var s Sections
	var info []byte
	for i := range 100_000 {
		s.Abbrev = append(s.Abbrev, byte(0x80|i&0x7f|2), byte(i>>7&0x7f|0x80), byte(i>>14|1), tagSubprogram, 0, 0, 0)
	}
	unit := []byte{8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1}
	for range 50_000 {
		info = append(info, unit...)
	}
	s.Info = elffile.InMemory(info)
	d := New(s, nil)
	d.Calls(0x1000, nil)
	if d.steps > 0 {
		t.Errorf("%d steps are left, want all used by this input", d.steps)
	}
}

func FuzzCalls(f *testing.F) {
	for _, flags := range [][]string{{"-g", "-gdwarf-4"}, {"-g", "-gdwarf-5"}} {
		s, lo, hi := compile(f, flags...)
		f.Add(contents(s.Info), s.Abbrev, contents(s.Line), contents(s.Str), contents(s.LineStr), s.Ranges,
			s.Rnglists, (lo+hi)/2)
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, lineStr, ranges, rnglists []byte, addr uint64) {
		s := Sections{Info: elffile.InMemory(info), Abbrev: abbrev, Line: elffile.InMemory(line),
			Str: elffile.InMemory(str), LineStr: elffile.InMemory(lineStr), Ranges: ranges, Rnglists: rnglists}
		d := New(s, New(s, nil))
		lookUp(t, d, addr, addr+50)
		for _, r := range d.index[:min(len(d.index), 16)] {
			lookUp(t, d, r.lo, min(r.hi, r.lo+200))
		}
	})
}
