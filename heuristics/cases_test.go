package heuristics

import (
	"bytes"
	"debug/elf"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
)

//go:embed testdata/*_x86.s
var cases embed.FS

// TestCasesFoundBySteppingRealPrograms assembles each case of testdata, the shape of a function in which the
// walk once went wrong, and asks for its rules. A comment at the end of a line says what must come out for the
// instruction of that line: "# = rsp+8" with all registers known, "# sp = rsp+8" with only the stack pointer,
// "# caller = rsp+8" for the call on that line as a caller's; "none" where nothing may be claimed, and
// "[rsp-8]+8" for a CFA that is in memory, "root" where there is no caller, "rsp+0 to rdx" where the code goes to
// another frame. "stays" and "changes" say whether the function runs on its caller's stack there.
func TestCasesFoundBySteppingRealPrograms(t *testing.T) {
	files, err := cases.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(f.Name(), "_x86.s"), func(t *testing.T) {
			text, err := cases.ReadFile("testdata/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			hold, n := assemble(t, text), 0
			for i, line := range strings.Split(string(text), "\n") {
				_, wants, ok := strings.Cut(line, "#")
				if !ok || strings.HasPrefix(line, "#") {
					continue
				}
				for w := range strings.SplitSeq(wants, ";") {
					hold.check(t, i+1, strings.TrimSpace(w))
					n++
				}
			}
			if n == 0 {
				t.Error("the case says nothing")
			}
		})
	}
}

// assembled is a case: its code, and where each line's instruction begins and ends.
type assembled struct {
	source *Source
	at     map[int]uint64
	ends   map[int]uint64
}

// caseFuncs are the functions of a case.
type caseFuncs struct {
	parts
	stranger oneFunc
}

// FuncRange implements Functions.
func (c caseFuncs) FuncRange(pc uint64) (uint64, uint64, bool) {
	if lo, hi, ok := c.stranger.FuncRange(pc); ok {
		return lo, hi, ok
	}
	return c.parts.FuncRange(pc)
}

// assemble translates a case. Each line with an expectation gets a label; the function begins at the first
// instruction and ends with the last, but for what follows the label "part", which is a part that was split off, or
// "stranger", which is another function.
func assemble(t *testing.T, text []byte) *assembled {
	t.Helper()
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("as is not installed: run scripts/setup-tests.sh as root")
	}
	var labelled bytes.Buffer
	labelled.WriteString("start:\n")
	for i, line := range bytes.Split(text, []byte("\n")) {
		n := strconv.Itoa(i + 1)
		if bytes.ContainsRune(line, '#') && !bytes.HasPrefix(line, []byte("#")) {
			labelled.WriteString("line" + n + ": " + string(line) + "\nends" + n + ":\n")
			continue
		}
		labelled.Write(append(line, '\n'))
	}
	labelled.WriteString("finish:\n")
	obj := filepath.Join(t.TempDir(), "case.o")
	cmd := exec.Command(as, "--64", "-o", obj, "-")
	cmd.Stdin = &labelled
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("as does not translate x86-64: %v: %s", err, out)
	}
	return load(t, obj)
}

// load reads an object file.
func load(t *testing.T, obj string) *assembled {
	t.Helper()
	b, err := os.ReadFile(obj)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	a := &assembled{at: map[int]uint64{}, ends: map[int]uint64{}}
	p := caseFuncs{parts: parts{f: oneFunc{base, base + uint64(len(code))}}}
	for _, s := range syms {
		if n, err := strconv.Atoi(strings.TrimPrefix(s.Name, "line")); err == nil {
			a.at[n] = base + s.Value
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(s.Name, "ends")); err == nil {
			a.ends[n] = base + s.Value
		}
		if s.Name == "part" {
			p.cold = oneFunc{base + s.Value, base + uint64(len(code))}
			p.f.hi = base + s.Value
		}
		if s.Name == "stranger" {
			p.stranger = oneFunc{base + s.Value, base + uint64(len(code))}
			p.f.hi = base + s.Value
		}
	}
	a.source = New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: p})
	return a
}

// check asks for one rule.
func (a *assembled) check(t *testing.T, line int, want string) {
	t.Helper()
	if words := strings.Fields(want); slices.Contains([]string{"stays", "changes"}, words[len(words)-1]) {
		a.checkStack(t, line, words)
		return
	}
	how, cfa, ok := strings.Cut(want, "=")
	if !ok {
		t.Fatalf("line %d: cannot read %q", line, want)
	}
	q := frames.Query{PC: a.at[line]}
	switch strings.TrimSpace(how) {
	case "":
	case "sp":
		q.SPOnly = true
	case "caller":
		q.PC, q.Caller = a.ends[line], true
	default:
		t.Fatalf("line %d: cannot read %q", line, want)
	}
	if got := cfaText(a.source.Rule(q)); got != strings.TrimSpace(cfa) {
		t.Errorf("line %d: %s gives %s", line, want, got)
	}
}

// checkStack asks whether the stack was changed.
func (a *assembled) checkStack(t *testing.T, line int, words []string) {
	t.Helper()
	pc, caller := a.at[line], words[0] == "caller"
	if caller {
		pc = a.ends[line]
	}
	if got, want := a.source.ChangesStack(pc, caller), words[len(words)-1] == "changes"; got != want {
		t.Errorf("line %d: %v gives %v", line, words, got)
	}
}

// cfaText writes a rule's CFA.
func cfaText(r frames.Rule, row *frames.Row, ok bool) string {
	names := map[uint8]string{frames.X86RAX: "rax", frames.X86RBX: "rbx", frames.X86RDX: "rdx", frames.X86RCX: "rcx", frames.X86RBP: "rbp", frames.X86RSP: "rsp"}
	plus := func(n int64) string {
		if n < 0 {
			return strconv.FormatInt(n, 10)
		}
		return "+" + strconv.FormatInt(n, 10)
	}
	switch {
	case !ok:
		return "none"
	case r.Flags&frames.FlagRoot != 0:
		return "root"
	case row == nil:
		return names[r.CFAReg] + plus(int64(r.CFAOff))
	case row.CFADeref:
		return "[" + names[row.CFAReg] + plus(row.CFAOff) + "]"
	}
	switch cfa := names[row.CFAReg] + plus(row.CFAOff); row.RA.Kind {
	case frames.PlaceReg:
		return cfa + " to " + names[row.RA.Reg]
	case frames.PlaceRegOffset:
		return cfa + " to [" + names[row.RA.Reg] + plus(row.RA.Off) + "]"
	}
	if e, ok := row.CFAExpr.(savedSP); ok {
		return "[" + names[e.reg] + plus(e.off) + "]" + plus(e.add)
	}
	return names[row.CFAReg] + plus(row.CFAOff)
}
