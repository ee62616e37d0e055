// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "prywalk"

// order lists packages from the lowest up. A package imports only from earlier lines; packages on one line never import
// each other.
var order = [][]string{
	{"docs", "frames", "internal/wire", "internal/x86", "internal/sample", "internal/languages", "internal/protobuf",
		"internal/osthread", "internal/statistics"},
	{"internal/printable", "internal/filememory", "internal/incomplete", "internal/unnamedcode", "internal/otlp",
		"internal/userregs"},
	{"internal/outfile", "internal/safeopen", "internal/tabular", "internal/exit", "internal/refusal",
		"internal/httpserver"},
	{"internal/fdlimit", "internal/schema", "internal/attribute", "internal/symbolized"},
	{"internal/elffile", "internal/procmem", "internal/cgroup", "internal/container"},
	{"dwarfunwind", "heuristics", "internal/process", "internal/perfevents", "internal/launch", "internal/waits",
		"internal/runstats"},
	{"internal/managed", "internal/console", "internal/conclusion", "internal/sourcelines", "internal/selfhang",
		"internal/chains"},
	{"internal/runtimes", "internal/selection"},
	{"internal/loadedcode", "internal/callstack"},
	{"internal/symbols", "ptrace", "internal/core", "internal/pace", "internal/descendants"},
	{"internal/observe", "internal/dump/stacks"},
	{"internal/dump/walk", "internal/dump/locks", "internal/dump/changes"},
	{"internal/profile", "internal/selfruntime"},
	{"internal/view", "internal/profilenames", "internal/dump/sleepers", "internal/dump/goroutines", "internal/dump/text"},
	{"internal/export"},
	{"internal/target"},
	{"internal/engine"},
	{"internal/tracer", "internal/perfengine", "internal/aggregator"},
	{"internal/condition"},
	{"report", "internal/sampler", "internal/doctor", "internal/demo", "internal/dump", "internal/top", "internal/agent"},
	{"internal/commandline", "internal/mcpserver"},
	{"internal/recording"},
	{"cmd/prywalk"},
}

// tools import anything, and nothing of the product imports them.
var tools = []string{"benchmarks", "integration", "internal/layers", "internal/testtargets"}

var raw = []string{"internal/procmem", "internal/fdlimit", "internal/launch", "ptrace"}

var rawCalls = regexp.MustCompile(`^(syscall|unix)\.(Raw)?Syscall(6|9|NoError)?$`)

type source struct {
	path, pkg string
	file      *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, f := range treeOf(t).files {
		if !strings.HasSuffix(f.path, "_test.go") && isOurs(f.dir) {
			all = append(all, source{f.path, f.dir, f.syntax})
		}
	}
	return all
}

func isOurs(dir string) bool {
	for at := dir; at != "."; at = path.Dir(at) {
		if name := path.Base(at); name == "testdata" || strings.HasPrefix(name, ".") ||
			isModule(filepath.Join("..", "..", filepath.FromSlash(at))) {
			return false
		}
	}
	return true
}

// isModule excepts benchmarks, in which the rules hold, too.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && filepath.Base(dir) != "benchmarks"
}

func (s *source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// level is −1 for a package outside of order. A package below a listed one is on the same line.
func level(pkg string) int {
	return slices.IndexFunc(order, func(line []string) bool { return under(pkg, line) })
}

func under(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		return pkg == p || strings.HasPrefix(pkg, p+"/")
	})
}

// violation returns "" for an allowed import.
func violation(pkg, imported string) string {
	from, to := level(pkg), level(imported)
	switch {
	case from < 0:
		return ""
	case to < 0:
		return fmt.Sprintf("%s is for tests and measurements only", imported)
	case to < from, family(pkg) == family(imported):
		return ""
	case to == from:
		return fmt.Sprintf("%s is on the same line", imported)
	}
	return fmt.Sprintf("%s is above it", imported)
}

func family(pkg string) string {
	for _, line := range order {
		for _, p := range line {
			if under(pkg, []string{p}) {
				return p
			}
		}
	}
	return pkg
}

func TestPackagesImportOnlyFromBelow(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			imported, ours := strings.CutPrefix(path, module+"/")
			if !ours {
				continue
			}
			if v := violation(s.pkg, imported); v != "" {
				t.Errorf("%s imports %s, but %s", s.path, path, v)
			}
		}
	}
}

func TestEveryPackageIsInTheOrder(t *testing.T) {
	for _, s := range sources(t) {
		if level(s.pkg) < 0 && !under(s.pkg, tools) {
			t.Errorf("%s: package %s stands neither in order nor in tools", s.path, s.pkg)
		}
	}
}

func TestUnsafeAndRawSystemCallsStayInTheirPackages(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		if slices.Contains(s.imports(), "C") {
			t.Errorf("%s uses cgo", s.path)
		}
		if slices.Contains(s.imports(), "unsafe") {
			if needed[s.pkg] = true; !under(s.pkg, raw) {
				t.Errorf("%s imports unsafe", s.path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && rawCalls.MatchString(x.Name+"."+sel.Sel.Name) {
				if needed[s.pkg] = true; !under(s.pkg, raw) {
					t.Errorf("%s makes a raw system call: %s.%s", s.path, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
	used(t, raw, needed, "raw")
}

// engines observe threads; mechanisms are their means.
var (
	engines = []string{
		"ptrace", "internal/perfevents", "internal/perfengine", "internal/descendants", "internal/observe",
		"internal/tracer",
	}
	mechanisms = []string{"ptrace", "internal/perfevents", "internal/perfengine"}
)

// The four open the samples, check whether they are allowed, sample once for a dump, and release all threads before
// prywalk is stopped.
var mayImportMechanisms = []string{
	"cmd/prywalk/engine.go", "internal/doctor/perf.go", "internal/dump/rawsamples.go", "internal/recording/jobcontrol.go",
}

func TestFewFilesBesideTheEnginesKnowHowThreadsAreObserved(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range sources(t) {
		if under(s.pkg, engines) || under(s.pkg, tools) {
			continue
		}
		path := strings.TrimPrefix(filepath.ToSlash(s.path), "../../")
		for _, imported := range s.imports() {
			if !under(strings.TrimPrefix(imported, module+"/"), mechanisms) {
				continue
			}
			if needed[path] = true; !slices.Contains(mayImportMechanisms, path) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	}
	used(t, mayImportMechanisms, needed, "mayImportMechanisms")
}

func TestFramesNeedsTheStandardLibraryOnly(t *testing.T) {
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			if first, _, _ := strings.Cut(path, "/"); s.pkg == "frames" && (first == module || strings.Contains(first, ".")) {
				t.Errorf("%s imports %s", s.path, path)
			}
		}
	}
}

func TestTheRulesFindWhatTheyForbid(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		ok            bool
	}{
		{"cmd/prywalk", "frames", true},
		{"internal/observe", "ptrace", true},
		{"internal/observe", "internal/symbols", true},
		{"ptrace", "internal/symbols", false},
		{"frames", "dwarfunwind", false},
		{"report", "internal/sampler", false},
		{"report", "report/page", true},
		{"internal/observe", "internal/testtargets", false},
		{"benchmarks", "cmd/prywalk", true},
	} {
		if got := violation(c.pkg, c.imported) == ""; got != c.ok {
			t.Errorf("%s importing %s: allowed %v", c.pkg, c.imported, got)
		}
	}
}
