// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
)

// Name, inline chain, file and line are compared for every seventh byte of the code.
func TestFramesAgreeWithOtherTools(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			file := p.build(t)
			table := openTable(t, file)
			var addrs []uint64
			for _, e := range table.symbols().code {
				for a := e.lo; a < e.hi; a += 7 {
					addrs = append(addrs, a)
				}
			}
			addrs = thin(addrs, testtargets.Times(500, 1500))
			if p.unfit != "llvm" {
				compare(t, "llvm", table, addrs, llvmFrames(t, file, addrs))
			}
			if p.unfit != "bfd" {
				compare(t, "bfd", table, addrs, bfdFrames(t, file, addrs))
			}
		})
	}
}

func thin(addrs []uint64, n int) []uint64 {
	step := len(addrs)/n + 1
	var out []uint64
	for i := 0; i < len(addrs); i += step {
		out = append(out, addrs[i])
	}
	return out
}

func compare(t *testing.T, tool string, table *Table, addrs []uint64, want [][]refFrame) {
	t.Helper()
	at := symbolExtents(table)
	count := make(map[string]int)
	var out []Frame
	for i, a := range addrs {
		out = table.Frames(a, out[:0])
		kind := classify(a, out, want[i], at)
		count[kind]++
		if !slices.Contains(explained, kind) && count[kind] <= 3 {
			t.Errorf("%s %s at %#x:\n got  %v\n want %v", tool, kind, a, brief(out), want[i])
		}
	}
	t.Logf("%s: %v of %d", tool, count, len(addrs))
	for _, w := range table.Warnings() {
		t.Error(w)
	}
}

// explained lists the accepted kinds of results:
//
//   - same: names (see sameName), depth, files and lines are equal;
//   - plt: the tools name no PLT entries, or by the symbol before them;
//   - only here: the tools have no result;
//   - none: no result here, and of the tools none, or only a line, or the symbol before the address.
var explained = []string{"same", "plt", "only here", "none"}

func symbolExtents(table *Table) map[string][]extent {
	at := make(map[string][]extent)
	files := []*elffile.File{table.from.File}
	if d := table.debugFile(); d != nil {
		files = append(files, d.File)
	}
	for _, f := range files {
		syms, _ := f.Symbols(elffile.SymTab)
		for i := range syms {
			name := f.SymbolName(elffile.SymTab, &syms[i])
			at[name] = append(at[name], extent{syms[i].Value, syms[i].Value + syms[i].Size})
		}
	}
	return at
}

func brief(fs []Frame) string {
	s := ""
	for _, f := range fs {
		s += fmt.Sprintf("{%s %s %s %d}", f.Name, f.System, f.File, f.Line)
	}
	return s
}

func classify(addr uint64, got []Frame, want []refFrame, at map[string][]extent) string {
	unknown := len(want) == 0 || len(want) == 1 && want[0].name == "??"
	switch {
	case len(got) == 0 && (unknown || len(want) == 1 && !covered(at[want[0].name], addr)):
		return "none"
	case len(got) == 0:
		return "unknown"
	case strings.HasSuffix(got[0].Name, "@plt"):
		return "plt"
	case unknown && want[0].line == "0":
		return "only here"
	case len(got) != len(want):
		return "depth"
	}
	for i := range got {
		if !slices.ContainsFunc(got, func(g Frame) bool { return sameName(g, want[i].name, at) }) {
			return "name"
		}
		line, _ := strconv.Atoi(want[i].line)
		if got[i].Line != line {
			return "line"
		}
		f := want[i].file
		if f != "??" && line != 0 && path.Clean(f) != path.Clean(got[i].File) && !strings.HasSuffix(got[i].File, "/"+f) {
			return "file"
		}
	}
	return "same"
}

// sameName ignores suffixes of copies, and scopes and template arguments of functions without linkage name; other names
// of the same address count as equal. addr2line sometimes names an inlined call by the function around it.
func sameName(got Frame, want string, at map[string][]extent) bool {
	base, _ := cutCloneSuffix(want)
	mine, _ := cutCloneSuffix(got.System)
	if base == mine || want == "??" || strings.HasSuffix(mine, "::"+base) {
		return true
	}
	if strings.Contains(want, "<") && shortName(want) == shortName(got.Name) {
		return true
	}
	return slices.ContainsFunc(at[want], func(a extent) bool {
		return slices.ContainsFunc(at[got.System], func(b extent) bool { return a.lo == b.lo })
	})
}

func covered(at []extent, addr uint64) bool {
	return slices.ContainsFunc(at, func(e extent) bool { return addr >= e.lo && addr < e.hi })
}

func shortName(name string) string {
	name, _, _ = strings.Cut(name, "<")
	return name[strings.LastIndexByte(name, ':')+1:]
}
