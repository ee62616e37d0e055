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
	{"internal/base/monotonic"},
	{"docs", "frames", "internal/base/wire", "internal/code/x86", "internal/base/sample",
		"internal/base/languages", "internal/base/protobuf", "internal/base/statistics", "internal/base/cache"},
	{"internal/base/printable", "internal/host/filememory", "internal/base/incomplete",
		"internal/code/unnamedcode", "internal/store/otlp"},
	{"internal/host/outfile", "internal/host/safeopen", "internal/base/tabular", "internal/base/errs"},
	{"internal/host/fdlimit", "internal/base/schema", "internal/account/attribute"},
	{"internal/code/elffile", "internal/host/procmem", "internal/host/cgroup", "internal/host/container"},
	{"dwarfunwind", "heuristics", "internal/host/process", "internal/watch/perfevents", "internal/host/launch",
		"internal/walk/waits", "internal/account/runstats"},
	{"internal/walk/managed", "internal/command/console", "internal/show/conclusion",
		"internal/code/sourcelines", "internal/host/selfhang", "internal/show/chains"},
	{"internal/walk/runtimes", "internal/host/selection"},
	{"internal/code/loadedcode", "internal/walk/callstack"},
	{"internal/code/symbols", "ptrace", "internal/walk/core"},
	{"internal/watch/observe", "internal/show/dump/stacks"},
	{"internal/show/dump/walk", "internal/show/dump/locks", "internal/show/dump/changes"},
	{"internal/store/profile", "internal/host/selfruntime"},
	{"internal/show/view", "internal/store/profilenames", "internal/show/dump/sleepers",
		"internal/show/dump/goroutines", "internal/show/dump/text"},
	{"internal/show/export"},
	{"internal/watch/target"},
	{"internal/watch/tracer", "internal/watch/perfengine", "internal/watch/aggregator"},
	{"internal/command/condition"},
	{"report", "internal/watch/sampler", "internal/command/doctor", "internal/command/demo",
		"internal/show/dump", "internal/show/top", "internal/command/agent"},
	{"internal/command/commandline", "internal/command/mcpserver"},
	{"internal/command/recording"},
	{"cmd/prywalk"},
}

// tools import anything, and nothing of the product imports them.
var tools = []string{"benchmarks", "integration", "internal/layers", "internal/testtargets"}

var raw = []string{"internal/host/procmem", "internal/host/fdlimit", "internal/host/launch", "ptrace"}

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
		"ptrace", "internal/watch/perfevents", "internal/watch/perfengine",
		"internal/watch/observe", "internal/watch/tracer",
	}
	mechanisms = []string{"ptrace", "internal/watch/perfevents", "internal/watch/perfengine"}
)

// The four open the samples, check whether they are allowed, sample once for a dump, and release all threads before
// prywalk is stopped.
var mayImportMechanisms = []string{
	"cmd/prywalk/engine.go", "internal/command/doctor/perf.go", "internal/show/dump/rawsamples.go",
	"internal/command/recording/jobcontrol.go",
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
		{"internal/watch/observe", "ptrace", true},
		{"internal/watch/observe", "internal/code/symbols", true},
		{"ptrace", "internal/code/symbols", false},
		{"frames", "dwarfunwind", false},
		{"report", "internal/watch/sampler", false},
		{"report", "report/page", true},
		{"internal/watch/observe", "internal/testtargets", false},
		{"benchmarks", "cmd/prywalk", true},
	} {
		if got := violation(c.pkg, c.imported) == ""; got != c.ok {
			t.Errorf("%s importing %s: allowed %v", c.pkg, c.imported, got)
		}
	}
}
