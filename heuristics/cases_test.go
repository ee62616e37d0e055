// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"
	"debug/elf"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

//go:embed testdata/*.s
var cases embed.FS

type caseArch struct {
	arch  frames.Arch
	as    []string
	mark  string // start of an expected result
	names map[uint8]string
}

var caseArches = map[string]caseArch{
	"_x86.s": {frames.X86_64, []string{"as", "--64"}, "#", map[uint8]string{
		frames.X86RAX: "rax", frames.X86RBX: "rbx", frames.X86RDX: "rdx", frames.X86RCX: "rcx", frames.X86RBP: "rbp",
		frames.X86RSP: "rsp"}},
	"_aarch64.s": {frames.ARM64, []string{"aarch64-linux-gnu-as"}, "//", map[uint8]string{
		0: "x0", 1: "x1", 2: "x2", 3: "x3", 16: "x16", frames.ARM64FP: "x29", frames.ARM64LR: "x30", frames.ARM64SP: "sp"}},
}

// Each case of testdata is a form of function for which a walk once failed. A comment at the end of a line is the
// expected result for its instruction: "# = rsp+8" with all registers known, "# sp = rsp+8" with the stack pointer
// only, "# caller = rsp+8" for the line's call as a caller's. Results: "none"; "[rsp-8]+8", a CFA in memory; "root", no
// caller; "rsp+0 to rdx", a switch to another frame. "stays" and "changes": whether the function runs on its caller's
// stack there.
func TestCasesFoundBySteppingRealPrograms(t *testing.T) {
	files, err := cases.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(f.Name(), ".s"), func(t *testing.T) {
			ca := caseArches[f.Name()[strings.LastIndexByte(f.Name(), '_'):]]
			text, err := cases.ReadFile("testdata/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			hold, n := assemble(t, ca, text), 0
			for i, line := range strings.Split(string(text), "\n") {
				_, wants, ok := strings.Cut(line, ca.mark)
				if !ok || strings.HasPrefix(line, ca.mark) {
					continue
				}
				for w := range strings.SplitSeq(wants, ";") {
					hold.check(t, i+1, strings.TrimSpace(w))
					n++
				}
			}
			if n == 0 {
				t.Error("the case has no expected results")
			}
		})
	}
}

type assembled struct {
	names  map[uint8]string
	source *Source
	at     map[int]uint64
	ends   map[int]uint64
}

type caseFuncs struct {
	parts
	next oneFunc
}

// FuncRange implements Functions.
func (c caseFuncs) FuncRange(pc uint64) (uint64, uint64, bool) {
	if lo, hi, ok := c.next.FuncRange(pc); ok {
		return lo, hi, ok
	}
	return c.parts.FuncRange(pc)
}

// The label "part" begins a part that was split off; "nextfunc" begins another function.
func assemble(t *testing.T, ca caseArch, text []byte) *assembled {
	t.Helper()
	as := testtargets.NeedProgram(t, ca.as[0])
	var labelled bytes.Buffer
	labelled.WriteString("start:\n")
	for i, line := range bytes.Split(text, []byte("\n")) {
		n := strconv.Itoa(i + 1)
		if code, _, ok := strings.Cut(string(line), ca.mark); ok && code != "" {
			labelled.WriteString("line" + n + ": " + code + "\nends" + n + ":\n")
			continue
		}
		labelled.Write(append(line, '\n'))
	}
	labelled.WriteString("finish:\n")
	obj := filepath.Join(t.TempDir(), "case.o")
	cmd := exec.Command(as, append(ca.as[1:], "-o", obj, "-")...)
	cmd.Stdin = &labelled
	if out, err := bounded.AllOutput(cmd); err != nil {
		testtargets.Need(t, ca.arch != frames.X86_64 || runtime.GOARCH == "amd64", "an assembler for x86-64",
			testtargets.SetUp)
		t.Fatalf("%v does not translate %v: %v: %s", ca.as, ca.arch, err, out)
	}
	return load(t, ca, obj)
}

func load(t *testing.T, ca caseArch, obj string) *assembled {
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
	a := &assembled{names: ca.names, at: map[int]uint64{}, ends: map[int]uint64{}}
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
		if s.Name == "nextfunc" {
			p.next = oneFunc{base + s.Value, base + uint64(len(code))}
			p.f.hi = base + s.Value
		}
	}
	a.source = New(Options{Arch: ca.arch, Code: bytesCode{base, code}, Funcs: p})
	return a
}

func (a *assembled) check(t *testing.T, line int, want string) {
	t.Helper()
	if words := strings.Fields(want); slices.Contains([]string{"stays", "changes"}, words[len(words)-1]) {
		a.checkStack(t, line, words)
		return
	}
	how, cfa, ok := strings.Cut(want, "=")
	if !ok {
		t.Fatalf("line %d: invalid expected result %q", line, want)
	}
	q := frames.Query{PC: a.at[line]}
	switch strings.TrimSpace(how) {
	case "":
	case "sp":
		q.SPOnly = true
	case "caller":
		q.PC, q.AfterCall = a.ends[line], true
	default:
		t.Fatalf("line %d: invalid expected result %q", line, want)
	}
	r, row, ok := a.source.Rule(q)
	if got := a.cfaText(r, row, ok); got != strings.TrimSpace(cfa) {
		t.Errorf("line %d: CFA %s, want %s", line, got, want)
	}
}

func (a *assembled) checkStack(t *testing.T, line int, words []string) {
	t.Helper()
	pc, caller := a.at[line], words[0] == "caller"
	if caller {
		pc = a.ends[line]
	}
	if got, want := a.source.SwitchesStack(pc, caller), words[len(words)-1] == "changes"; got != want {
		t.Errorf("line %d: %v: SwitchesStack is %v", line, words, got)
	}
}

func (a *assembled) cfaText(r frames.Rule, row *frames.Row, ok bool) string {
	plus := func(reg uint8, n int64) string { return fmt.Sprintf("%s%+d", a.names[reg], n) }
	switch {
	case !ok:
		return "none"
	case r.Flags&frames.FlagRoot != 0:
		return "root"
	case row == nil && r.Flags&frames.FlagRAInLR != 0:
		return plus(r.CFAReg, int64(r.CFAOff)) + " leaf"
	case row == nil:
		return plus(r.CFAReg, int64(r.CFAOff))
	case row.CFADeref:
		return "[" + plus(row.CFAReg, row.CFAOff) + "]"
	}
	cfa := plus(row.CFAReg, row.CFAOff)
	if e, ok := row.CFAExpr.(CFA); ok {
		return fmt.Sprintf("[%s]%+d", plus(e.Reg, e.Off), e.Add)
	}
	switch row.RA.Kind {
	case frames.RuleReg:
		return cfa + " to " + a.names[row.RA.Reg]
	case frames.RuleRegOffset:
		return cfa + " to [" + plus(row.RA.Reg, row.RA.Off) + "]"
	}
	return cfa
}
