// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bounds are what gives a statistical test its bounds: functions and constants, by directory.
var bounds = []string{
	statisticsPackage + ".BinomialRange", statisticsPackage + ".HoeffdingDistance", statisticsPackage + ".ErrorRate",
}

const statisticsPackage = "internal/testtargets/statistics"

// takerOfBounds is one function, with the functions that it may call.
type takerOfBounds struct {
	file  *goFile
	decl  *ast.FuncDecl
	calls map[string]bool // names that it has, which may be functions and methods of its package
	other map[string]bool // what it has of other packages of the tree, as "DIRECTORY.Name"
	bound bool
}

func (f *takerOfBounds) inTestFile() bool { return strings.HasSuffix(f.file.path, "_test.go") }

func (f *takerOfBounds) isTest() bool {
	return f.inTestFile() && strings.HasPrefix(f.decl.Name.Name, "Test")
}

// functionsByPackage are by directory and package, and by name. Helpers of tests are in test files and beside them.
func functionsByPackage(t *testing.T) map[string]map[string]*takerOfBounds {
	t.Helper()
	all := map[string]map[string]*takerOfBounds{}
	for i := range treeOf(t).files {
		f := &treeOf(t).files[i]
		if !isOurs(f.dir) {
			continue
		}
		key := f.dir + " " + f.pkg
		if all[key] == nil {
			all[key] = map[string]*takerOfBounds{}
		}
		imports := f.ourImports()
		for _, d := range f.syntax.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				name := receiver(decl) + decl.Name.Name
				if all[key][name] != nil { // of another architecture, or init
					name += " of " + f.path
				}
				all[key][name] = newTaker(f, decl, imports)
			}
		}
	}
	return all
}

func newTaker(f *goFile, decl *ast.FuncDecl, imports map[string]string) *takerOfBounds {
	taker := &takerOfBounds{file: f, decl: decl, calls: map[string]bool{}, other: map[string]bool{}}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			taker.calls[n.Name] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				taker.other[imports[x.Name]+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return taker
}

// ourImports are directories of the tree, by the names that the file has for their packages.
func (f *goFile) ourImports() map[string]string {
	imports := map[string]string{}
	for _, spec := range f.syntax.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(name, module+"/")
		if !ours {
			continue
		}
		if name = path.Base(dir); spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = dir
	}
	return imports
}

// takesBounds marks the functions that take bounds: by themselves, or by one of their package or of another one that
// does. A test is called by nothing.
func takesBounds(all map[string]map[string]*takerOfBounds) {
	exported := map[string]bool{} // functions that take bounds, of other packages
	for _, name := range bounds {
		exported[name] = true
	}
	for changed := true; changed; {
		changed = false
		for key, functions := range all {
			dir, _, _ := strings.Cut(key, " ")
			for _, f := range functions {
				if f.bound || !f.takesBoundsOf(exported) && !f.takesBoundsIn(functions) {
					continue
				}
				f.bound, changed = true, true
				exported[dir+"."+receiver(f.decl)+f.decl.Name.Name] = true
			}
		}
	}
}

func (f *takerOfBounds) takesBoundsOf(exported map[string]bool) bool {
	for name := range f.other {
		if exported[name] {
			return true
		}
	}
	return false
}

func (f *takerOfBounds) takesBoundsIn(functions map[string]*takerOfBounds) bool {
	for _, called := range functions {
		reachable := f.inTestFile() || !called.inTestFile()
		if reachable && called.bound && f.calls[called.decl.Name.Name] && !called.isTest() {
			return true
		}
	}
	return false
}

// A helper that takes bounds makes the tests that call it statistical, in whichever package it is. The tests of
// statistics itself call its functions by their names alone, and are exact.
func TestBoundsOfStatisticsAreTakenByTestsThatSaySoInTheirName(t *testing.T) {
	all := functionsByPackage(t)
	takesBounds(all)
	found, taken := 0, map[string]bool{}
	for _, functions := range all {
		for name, f := range functions {
			for other := range f.other {
				taken[other] = true
			}
			statistical := strings.HasPrefix(name, "TestStatistical")
			if statistical {
				found++
			}
			if f.isTest() && statistical != f.bound {
				t.Errorf("%s: %s: named as statistical: %v, takes bounds from package statistics: %v", f.file.path, name,
					statistical, f.bound)
			}
		}
	}
	used(t, bounds, taken, "bounds")
	t.Logf("%d statistical tests", found)
}

// The helper is in a file that is no test, of another package.
func TestHelpersOfOtherPackagesTakeBoundsToo(t *testing.T) {
	const helper = `package helper
import "prywalk/internal/testtargets/statistics"
func AtMost() { bound() }
func bound()  { statistics.BinomialRange(1, 0, statistics.ErrorRate) }
func Exact()  {}`
	const test = `package some
import other "prywalk/some/helper"
func TestOne()    { through() }
func TestOther()  { other.Exact() }
func through()    { other.AtMost() }`
	all := map[string]map[string]*takerOfBounds{}
	for file, text := range map[string]string{"some/helper/helper.go": helper, "some/some_test.go": test} {
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := &goFile{file, path.Dir(file), syntax.Name.Name, fset, syntax}
		functions := map[string]*takerOfBounds{}
		for _, d := range syntax.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				functions[decl.Name.Name] = newTaker(f, decl, f.ourImports())
			}
		}
		all[f.dir+" "+f.pkg] = functions
	}
	takesBounds(all)
	for name, want := range map[string]bool{"TestOne": true, "TestOther": false, "through": true} {
		if got := all["some some"][name].bound; got != want {
			t.Errorf("%s takes bounds: %v, want %v", name, got, want)
		}
	}
}

// skipText is what testtargets.Need and OnlyInAll say.
var skipText = regexp.MustCompile(`^(needs .+: .+|left to make test-all: .+|run by Test.+)$`)

// otherSkips are texts of other forms, with the reason.
var otherSkips = map[string]string{}

var skipCalls = regexp.MustCompile(`^(t|tb|b)\.Skip(f|Now)?$`)

// Tests that are skipped by these ask nothing of the user, as no command can change why they are skipped: the
// processor's architecture, -short, and input that a fuzz test does not judge.
var (
	conditionsOfSkips = []string{"testing.Short", "runtime.GOARCH"}
	prefixesOfSkips   = []string{"Fuzz"}
)

// skips calls found with the text of each call that skips a test, and exempt with what exempts one.
func skips(f *goFile, found func(at token.Pos, text string), exempt func(by string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		by := ""
		switch n := n.(type) {
		case *ast.FuncDecl:
			if i := slices.IndexFunc(prefixesOfSkips, func(p string) bool { return strings.HasPrefix(n.Name.Name, p) }); i >= 0 {
				by = prefixesOfSkips[i]
			}
		case *ast.IfStmt:
			if i := slices.IndexFunc(conditionsOfSkips, func(c string) bool { return asks(n.Cond, c) }); i >= 0 {
				by = conditionsOfSkips[i]
			}
		case *ast.CallExpr:
			if text, ok := skipped(n); ok {
				found(n.Pos(), text)
			}
		}
		if by == "" {
			return true
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if _, ok := skipped(call); ok {
					exempt(by)
				}
			}
			return true
		})
		return false
	})
}

// skipped returns the text of a call that skips a test.
func skipped(call *ast.CallExpr) (text string, ok bool) {
	if !skipCalls.MatchString(types.ExprString(call.Fun)) {
		return "", false
	}
	for _, arg := range call.Args {
		text += literal(arg)
	}
	return text, true
}

func asks(cond ast.Expr, name string) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && types.ExprString(s) == name {
			found = true
		}
		return true
	})
	return found
}

// literal has … for what is known at run time only.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return "…"
}

func TestSkippedTestsSayWhatTheyNeed(t *testing.T) {
	needed, exempt := map[string]bool{}, map[string]bool{}
	for i := range treeOf(t).files {
		f := &treeOf(t).files[i]
		if !isOurs(f.dir) || !strings.HasSuffix(f.path, "_test.go") && !under(f.dir, []string{"internal/testtargets"}) {
			continue
		}
		skips(f, func(at token.Pos, text string) {
			if needed[text] = true; !skipText.MatchString(text) && otherSkips[text] == "" {
				t.Errorf("%s:%d: skipped with %q: use testtargets.NeedProgram, NeedRoot, Need or OnlyInAll",
					filepath.ToSlash(f.path), f.fset.Position(at).Line, text)
			}
		}, func(by string) { exempt[by] = true })
	}
	used(t, slices.Concat(conditionsOfSkips, prefixesOfSkips), exempt, "exemptions from TestSkippedTestsSayWhatTheyNeed")
	used(t, slices.Collect(maps.Keys(otherSkips)), needed, "otherSkips")
}

// inTests are the files of tests: test files, and the packages that only these import. Benchmarks measure time, and may
// wait for it.
func inTests(t *testing.T) (list []*goFile) {
	t.Helper()
	for i := range treeOf(t).files {
		f := &treeOf(t).files[i]
		if isOurs(f.dir) && (strings.HasSuffix(f.path, "_test.go") || under(f.dir, testCode)) {
			list = append(list, f)
		}
	}
	return list
}

// testCode are packages of tests besides test files.
var testCode = []string{"integration", "internal/layers", "internal/testtargets"}

// targetPrograms are below these: programs to sample, whose pauses are what tests look at.
var targetPrograms = []string{"internal/testtargets/src", "integration/torture/src"}

// commentedLines are the lines at which a comment begins.
func (f *goFile) commentedLines() map[int]bool {
	commented := map[int]bool{}
	for _, c := range f.syntax.Comments {
		commented[f.fset.Position(c.Pos()).Line] = true
	}
	return commented
}

// A test waits for a state (testtargets.Eventually, Comes, Still); a comment beside any other pause says why it is
// there.
func TestPausesInTestsSayWhy(t *testing.T) {
	pauses, needed := 0, map[string]bool{}
	for _, f := range inTests(t) {
		commented := f.commentedLines()
		i := slices.IndexFunc(targetPrograms, func(dir string) bool { return under(f.dir, []string{dir}) })
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "time.Sleep" {
				return true
			}
			if i >= 0 {
				needed[targetPrograms[i]] = true
				return true
			}
			pauses++
			if line := f.fset.Position(call.Pos()).Line; !commented[line] {
				t.Errorf("%s:%d: time.Sleep without a reason", filepath.ToSlash(f.path), line)
			}
			return true
		})
	}
	used(t, targetPrograms, needed, "targetPrograms")
	t.Logf("%d pauses", pauses)
}
