// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets/bounded"
)

type readelfFDE struct {
	start, end uint64
	columns    []string
	rows       []readelfRow
}

type readelfRow struct {
	loc    uint64
	values []string // the CFA comes first
}

// The file is closed even if it is not read to its end.
func readelfFrames(t *testing.T, path string) iter.Seq[readelfFDE] {
	tool, err := exec.LookPath("readelf")
	if err != nil {
		t.Fatal("readelf (binutils) is not installed; scripts/setup-tests.sh installs it")
	}
	return func(yield func(readelfFDE) bool) {
		cmd := exec.Command(tool, "-W", "--debug-dump=frames-interp", path)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		p := readelfParser{t: t, yield: yield}
		p.parse(out)
		out.Close()
		_ = cmd.Wait() // it fails if the pipe was closed early
	}
}

type readelfParser struct {
	t     *testing.T
	yield func(readelfFDE) bool
	cies  map[string]readelfFDE
	cur   readelfFDE
	name  string // of a CIE
	open  bool   // cur is being read
}

// parse yields each complete FDE. One without rows has the row of its CIE.
func (p *readelfParser) parse(r io.Reader) {
	p.cies = map[string]readelfFDE{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		w := strings.Fields(sc.Text())
		switch {
		case len(w) >= 4 && w[3] == "CIE":
			if !p.done() {
				return
			}
			p.cur, p.name, p.open = readelfFDE{}, w[0], true
		case len(w) >= 6 && w[3] == "FDE":
			if !p.done() {
				return
			}
			p.cur, p.name, p.open = newReadelfFDE(p.t, w, p.cies), "", true
		case len(w) >= 2 && w[0] == "LOC":
			p.cur.columns, p.cur.rows = w[1:], nil
		case len(w) >= 2 && p.open && len(w[0]) == 16:
			p.cur.rows = append(p.cur.rows, readelfRow{number(p.t, w[0]), values(w[1:])})
		case len(w) >= 1 && w[0] == "Contents":
			if !p.done() {
				return
			}
			p.cies = map[string]readelfFDE{}
		}
	}
	p.done()
}

// It returns false if no further entry is needed.
func (p *readelfParser) done() bool {
	defer func() { p.open = false }()
	switch {
	case !p.open:
	case p.name != "":
		p.cies[p.name] = p.cur
	default:
		if len(p.cur.rows) == 0 {
			p.t.Error("an FDE without rows")
		}
		return p.yield(p.cur)
	}
	return true
}

func newReadelfFDE(t *testing.T, w []string, cies map[string]readelfFDE) readelfFDE {
	from, to, _ := strings.Cut(strings.TrimPrefix(w[5], "pc="), "..")
	f := readelfFDE{start: number(t, from), end: number(t, to)}
	if c := cies[strings.TrimPrefix(w[4], "cie=")]; len(c.rows) > 0 {
		f.columns = c.columns
		f.rows = []readelfRow{{f.start, c.rows[0].values}}
	}
	return f
}

// readelf puts names after register numbers.
func values(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w[0] == '(' })
}

func number(t *testing.T, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func regNames(arch frames.Arch) []string {
	if arch == frames.X86_64 {
		return strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip")
	}
	var names []string
	for i := range 31 {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	return append(names, "sp")
}

func (m *machine) cfaText(names []string) string {
	if m.row.CFAExpr != nil || m.row.CFADeref {
		return "exp"
	}
	if int(m.row.CFAReg) >= len(names) {
		return "?"
	}
	return fmt.Sprintf("%s%+d", names[m.row.CFAReg], m.row.CFAOff)
}

func ruleText(r *frames.RegRule, names []string) string {
	switch r.Kind {
	case frames.RuleUndefined:
		return "u"
	case frames.RuleOffset:
		return fmt.Sprintf("c%+d", r.Off)
	case frames.RuleValOffset:
		return fmt.Sprintf("v%+d", r.Off)
	case frames.RuleReg:
		return fmt.Sprintf("r%d", r.Reg)
	case frames.RuleExpr:
		return "exp"
	case frames.RuleValExpr:
		return "vexp"
	}
	return "s"
}

func compareFDE(t *testing.T, table *Table, e FDE, want *readelfFDE) int {
	names := regNames(table.arch)
	rows := slices.Clone(want.rows)
	// For an advance by 0 readelf prints the location twice.
	for i := len(rows) - 2; i >= 0; i-- {
		if rows[i].loc == rows[i+1].loc {
			rows = slices.Delete(rows, i, i+1)
		}
	}
	n := 0
	for loc := range table.Rows(e) {
		if n >= len(rows) {
			t.Fatalf("FDE %#x: more rows than readelf has", e.Start)
		}
		w := rows[n]
		n++
		got := []string{table.machine.cfaText(names)}
		for i, col := range want.columns[1:] {
			m := &table.machine
			reg := uint64(slices.Index(names, col))
			if col == "ra" {
				reg = m.cie.ra
			}
			r := m.cie.place(&m.row, reg)
			if r == nil {
				t.Fatalf("FDE %#x: unknown column %s", e.Start, col)
			}
			text := ruleText(r, names)
			if text == "s" && w.values[i+1] == "u" {
				text = "u" // readelf prints an unspecified rule as undefined
			}
			got = append(got, text)
		}
		if loc != w.loc || !slices.Equal(got, w.values) {
			t.Fatalf("FDE %#x: %#x %v, readelf has %#x %v", e.Start, loc, got, w.loc, w.values)
		}
	}
	if n != len(rows) {
		t.Fatalf("FDE %#x: %d rows, readelf has %d", e.Start, n, len(rows))
	}
	return n
}

// A limit of 0 is for all FDEs. Lookups are compared, too.
func compareFile(t *testing.T, path string, limit int) (fdes, rows int) {
	table := openTable(t, path)
	next, stop := iter.Pull(table.FDEs())
	defer stop()
	for want := range readelfFrames(t, path) {
		if want.start == 0 || want.start == want.end {
			continue // of code that the linker dropped
		}
		e, ok := next()
		if !ok || e.Start != want.start || e.End != want.end {
			t.Fatalf("FDE %#x..%#x, readelf has %#x..%#x", e.Start, e.End, want.start, want.end)
		}
		rows += compareFDE(t, table, e, &want)
		lookupRows(t, table, e, &want)
		if fdes++; fdes == limit {
			break
		}
	}
	if e, more := next(); more && fdes != limit || rows == 0 {
		t.Fatalf("readelf has %d FDEs; the next entry here is %#x..%#x", fdes, e.Start, e.End)
	}
	t.Logf("%d FDEs, %d rows", fdes, rows)
	return fdes, rows
}

func lookupRows(t *testing.T, table *Table, e FDE, want *readelfFDE) {
	for i, w := range want.rows {
		end := e.End
		if i+1 < len(want.rows) {
			end = want.rows[i+1].loc
		}
		if end <= w.loc || w.loc >= e.End {
			continue
		}
		for _, pc := range []uint64{w.loc, min(end, e.End) - 1} {
			if _, _, ok := table.Rule(frames.Query{PC: pc}); !ok {
				t.Fatalf("no rule for %#x", pc)
			}
			if got := table.machine.cfaText(regNames(table.arch)); got != w.values[0] {
				t.Fatalf("CFA at %#x is %s, readelf has %s", pc, got, w.values[0])
			}
			if s, end, ok := table.FuncRange(pc); !ok || s != e.Start || end != e.End {
				t.Fatalf("range of %#x is %#x..%#x, want %#x..%#x", pc, s, end, e.Start, e.End)
			}
		}
	}
}

func TestRowsEqualReadelfsForInstalledFiles(t *testing.T) {
	for path, limit := range map[string]int{libcPath: 0, cxxPath: 0, nodePath: 20000, "/usr/bin/readelf": 0} {
		t.Run(filepath.Base(path), func(t *testing.T) { compareFile(t, path, limit) })
	}
}

func TestRowsEqualReadelfsForCompiledC(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is not installed; scripts/setup-tests.sh installs it")
	}
	for name, flags := range map[string][]string{
		"eh_frame":          {"-O2", "-mavx"},
		"debug_frame":       {"-O2", "-mavx", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"},
		"debug_frame5":      {"-O0", "-gdwarf-5", "-gz=zlib", "-fno-asynchronous-unwind-tables"},
		"debug_frame, zstd": {"-O2", "-g", "-Wl,--compress-debug-sections=zstd", "-fno-asynchronous-unwind-tables"},
		"static":            {"-O2", "-static", "-Wl,--no-eh-frame-hdr"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "prog")
			args := append(slices.Clone(flags), "-o", out, "testdata/shapes.c")
			if msg, err := bounded.AllOutput(exec.Command("gcc", args...)); err != nil {
				t.Fatalf("gcc: %v\n%s", err, msg)
			}
			compareFile(t, out, 0)
		})
	}
}

func buildHello(t *testing.T, arch string) string {
	out := filepath.Join(t.TempDir(), "hello-"+arch)
	cmd := exec.Command("go", "build", "-o", out, "../internal/testtargets/testdata/hello.go")
	cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	if msg, err := bounded.AllOutput(cmd); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	return out
}

func TestRowsEqualReadelfsForGoBinaries(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) { compareFile(t, buildHello(t, arch), 0) })
	}
}
