// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

type cfiRow struct {
	pc     uint64
	reg    string
	off    int64
	expr   bool
	places map[string]string
}

type cfiFunc struct {
	lo, hi uint64
	signal bool
	rows   []cfiRow
	states map[uint64]*symbolicState // of confirmedStates, once needed
}

func (f *cfiFunc) split() bool {
	return len(f.rows) > 0 && (f.rows[0].off != 8 && f.rows[0].off != 0 || f.rows[0].reg != "rsp" && f.rows[0].reg != "sp")
}

func (f *cfiFunc) row(pc uint64) *cfiRow {
	var r *cfiRow
	for i := range f.rows {
		if f.rows[i].pc <= pc {
			r = &f.rows[i]
		}
	}
	return r
}

func readCFI(t testing.TB, path string) []cfiFunc {
	t.Helper()
	cmd := exec.Command(testtargets.NeedProgram(t, "readelf"), "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var funcs []cfiFunc
	var columns []string
	var cur *cfiFunc
	signal := map[string]bool{}
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		switch {
		case len(f) > 3 && f[3] == "CIE":
			signal[f[0]] = len(f) > 4 && strings.Contains(f[4], "S")
			cur = nil
		case len(f) > 5 && f[3] == "FDE":
			funcs = append(funcs, cfiFunc{signal: signal[strings.TrimPrefix(f[4], "cie=")]})
			cur = &funcs[len(funcs)-1]
			lo, hi, _ := strings.Cut(strings.TrimPrefix(f[5], "pc="), "..")
			cur.lo, cur.hi = hex(lo), hex(hi)
		case len(f) > 1 && f[0] == "LOC":
			columns = f
		case cur != nil && len(f) == len(columns) && len(f[0]) == 16:
			cur.rows = append(cur.rows, parseRow(f, columns))
		}
	}
	// readelf also fails because of a debug file that is not installed.
	if err := cmd.Wait(); err != nil && len(funcs) == 0 {
		t.Fatalf("readelf of %s: %v", path, err)
	}
	slices.SortFunc(funcs, func(a, b cfiFunc) int { return int(int64(a.lo - b.lo)) })
	return funcs
}

func parseRow(f, columns []string) cfiRow {
	r := cfiRow{pc: hex(f[0]), places: map[string]string{}}
	i := strings.IndexAny(f[1], "+-")
	if i < 0 {
		r.expr = true
	} else {
		r.reg = f[1][:i]
		r.off, _ = strconv.ParseInt(f[1][i:], 10, 64)
	}
	for i := 2; i < len(f); i++ {
		r.places[columns[i]] = f[i]
	}
	return r
}

func hex(s string) uint64 {
	v, _ := strconv.ParseUint(s, 16, 64)
	return v
}

type elfCode struct {
	parts []frames.Region
	entry uint64
	arch  frames.Arch
}

func openCode(t testing.TB, path string) *elfCode {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &elfCode{entry: f.Entry, arch: frames.X86_64}
	if f.Machine == elf.EM_AARCH64 {
		c.arch = frames.ARM64
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			c.parts = append(c.parts, frames.Region{Addr: p.Vaddr, Bytes: b})
		}
	}
	return c
}

func (c *elfCode) ReadCode(addr uint64, buf []byte) int {
	for _, p := range c.parts {
		if addr >= p.Addr && addr-p.Addr < uint64(len(p.Bytes)) {
			return copy(buf, p.Bytes[addr-p.Addr:])
		}
	}
	return 0
}

type fdeFuncs []cfiFunc

func (f fdeFuncs) FuncRange(pc uint64) (uint64, uint64, bool) {
	i, _ := slices.BinarySearchFunc(f, pc, func(c cfiFunc, pc uint64) int {
		if c.lo <= pc {
			return -1
		}
		return 1
	})
	if i == 0 || pc >= f[i-1].hi {
		return 0, 0, false
	}
	return f[i-1].lo, f[i-1].hi, true
}

type tally struct {
	count [wrongCFA + 1]int // of queries with an answer, by verdict
	none  int
	split int // part of none: in parts split off a function
}

func (t tally) total() int {
	return t.none + t.count[right] + t.count[unproven] + t.count[wrongReg] + t.count[wrongCFA]
}

func (t tally) share(n int) float64 { return 100 * float64(n) / float64(max(t.total(), 1)) }

func (t tally) String() string {
	return fmt.Sprintf("%d instructions, %d right, %d without an answer (%d in split parts), %d with a wrong CFA, "+
		"%d with a wrong register, %d unproven", t.total(), t.count[right], t.none, t.split, t.count[wrongCFA],
		t.count[wrongReg], t.count[unproven])
}

var x86Names = map[string]uint8{"rbx": 3, "rbp": 6, "rsp": 7, "r12": 12, "r13": 13, "r14": 14, "r15": 15, "r10": 10,
	"r11": 11,
	"rax": 0, "rdx": 1, "rcx": 2, "rsi": 4, "rdi": 5, "r8": 8, "r9": 9}

func regNumber(name string) uint8 {
	if name == "sp" {
		return frames.ARM64SP
	}
	if n, ok := strings.CutPrefix(name, "x"); ok {
		v, _ := strconv.Atoi(n)
		return uint8(v)
	}
	return x86Names[name]
}

var keptNames = map[frames.Arch][]string{
	frames.X86_64: {"rbx", "rbp", "r12", "r13", "r14", "r15"},
	frames.ARM64:  {"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "ra"},
}

// verdict is of one rule. The greater one counts for a query.
type verdict int

const (
	right    verdict = iota
	unproven         // neither call frame information nor a confirmed state decides
	wrongReg         // a callee-saved register is wrong
	wrongCFA         // the CFA is wrong
)

func (v verdict) String() string { return [...]string{"right", "unproven", "lost", "wrong"}[v] }

// comparison is of rules at one instruction with call frame information, and where that does not decide, with the
// state that it confirms.
type comparison struct {
	source *Source
	f      *cfiFunc
	pc     uint64
	truth  *cfiRow
}

// confirmed returns the state at pc, nil if there is none.
func (c *comparison) confirmed() *symbolicState {
	if c.f.states == nil {
		c.f.states = c.f.confirmedStates(c.source)
	}
	return c.f.states[c.pc]
}

func (c *comparison) judge(r frames.Rule, row *frames.Row) verdict {
	arch := c.source.opt.Arch
	if row == nil {
		row = expand(arch, r)
	}
	v := c.judgeCFA(row)
	for _, name := range keptNames[arch] {
		if v < wrongReg {
			v = max(v, c.judgePlace(row, name))
		}
	}
	return v
}

func (c *comparison) judgeCFA(row *frames.Row) verdict {
	if row.CFAExpr == nil && !row.CFADeref && row.CFAReg == regNumber(c.truth.reg) {
		if row.CFAOff == c.truth.off {
			return right
		}
		return wrongCFA
	}
	st := c.confirmed()
	if st == nil {
		return unproven
	}
	switch gives, known := st.givesCFA(c.source.abi, row); {
	case gives:
		return right
	case known:
		return wrongCFA
	}
	return unproven
}

// readelf does not show a register that is in itself. The compiler may call a register unchanged that is saved already,
// or saved one that is not changed yet, or popped.
func (c *comparison) judgePlace(row *frames.Row, name string) verdict {
	reg := regNumber(name)
	if name == "ra" {
		reg = frames.ARM64LR
	}
	p, s := row.Regs[reg], c.truth.places[name]
	off, _ := strconv.ParseInt(strings.TrimPrefix(s, "c"), 10, 64)
	switch {
	case s == "u":
		return right
	case strings.HasPrefix(s, "c") && p.Kind == frames.RuleOffset && p.Off == off:
		return right
	case (s == "" || s == "s") && p.Kind == frames.RuleSame:
		return right
	}
	st := c.confirmed()
	switch {
	case st == nil && p.Kind != frames.RuleUndefined:
		return unproven
	case st != nil && st.keeps(c.source.abi, p, c.source.abi.hardware(reg)):
		return right
	}
	return wrongReg
}

func expand(arch frames.Arch, r frames.Rule) *frames.Row {
	row := &frames.Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff)}
	for i, reg := range arch.CompactRegs() {
		if reg < frames.NumRegs && r.Saved[i] != 0 {
			row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -8 * int64(r.Saved[i])}
		}
	}
	return row
}

// judge compares every n-th instruction (of callers: call) of a file with its call frame information.
func judge(t testing.TB, path string, funcs []cfiFunc, code *elfCode, bounds bool, every int, caller bool,
	show int) tally {
	o := Options{Arch: code.arch, Code: code, Entry: code.entry}
	if bounds {
		o.Funcs = fdeFuncs(funcs)
	}
	s := New(o)
	var c tally
	k := 0
	for i := range funcs {
		f := &funcs[i]
		if f.signal {
			continue
		}
		f.instructions(s, func(pc, next uint64, fl *flow, _ bool) {
			truth := f.row(pc)
			if caller && fl.kind != flowCall || truth == nil || truth.expr || strings.HasPrefix(truth.places["ra"], "u") {
				return
			}
			if k++; k%every != 0 {
				return
			}
			q := frames.Query{PC: pc, AfterCall: caller}
			if caller {
				q.PC = next
			}
			if v := c.query(s, q, f, truth, pc); show > 0 && strings.Contains(showClass, v) {
				show--
				t.Logf("%s: %s %#x in %#x..%#x, truth %s%+d %v", path, v, q.PC, f.lo, f.hi, truth.reg, truth.off, truth.places)
			}
		})
		f.states = nil // they are large
	}
	return c
}

// Padding after a jump or return is never executed. behindJump: the instruction before does not lead to this one.
func (f *cfiFunc) instructions(s *Source, do func(pc, next uint64, fl *flow, behindJump bool)) {
	buf := make([]byte, f.hi-f.lo)
	s.opt.Code.ReadCode(f.lo, buf)
	dead, behindJump := false, false
	for off := 0; off < len(buf); {
		var st symbolicState
		var fl flow
		s.abi.step(&st, buf[off:], &fl)
		if fl.size == 0 {
			return
		}
		pc := f.lo + uint64(off)
		off += int(fl.size)
		switch fl.kind {
		case flowJump, flowReturn, flowEnd, flowTail, flowIndirect:
			dead = true
		default:
			dead = dead && fl.padding
		}
		if !dead || !fl.padding {
			do(pc, f.lo+uint64(off), &fl, behindJump)
			behindJump = dead
		}
	}
}

// pc is the instruction: with q.AfterCall, the call.
func (t *tally) query(s *Source, q frames.Query, f *cfiFunc, truth *cfiRow, pc uint64) string {
	r, row, ok := s.Rule(q)
	if !ok {
		t.none++
		if f.split() {
			t.split++
			return "split"
		}
		return "none"
	}
	if r.Flags&frames.FlagRoot != 0 {
		t.count[wrongCFA]++
		return wrongCFA.String()
	}
	c := comparison{source: s, f: f, pc: pc, truth: truth}
	v := c.judge(r, row)
	if sp := s.opt.Arch.SP(); regNumber(truth.reg) == sp && r.CFAReg != sp {
		q.SPOnly = true
		if r, row, ok := s.Rule(q); ok {
			v = max(v, c.judge(r, row))
		}
	}
	t.count[v]++
	return v.String()
}

var showClass = "wrong lost"
