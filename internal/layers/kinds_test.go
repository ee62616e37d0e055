// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bounds are the functions that give a statistical test its bounds, by their packages.
var bounds = map[string]string{
	"BinomialRange": "statistics", "HoeffdingDistance": "statistics", "ErrorRate": "statistics",
}

// testFunction is one function of a test file, with the functions of its package that it calls.
type testFunction struct {
	file  *goFile
	decl  *ast.FuncDecl
	calls map[string]bool
	bound bool
}

// testFunctions are by directory, package and name.
func testFunctions(t *testing.T) map[string]map[string]*testFunction {
	t.Helper()
	all := map[string]map[string]*testFunction{}
	for i := range treeOf(t).files {
		f := &treeOf(t).files[i]
		if !strings.HasSuffix(f.path, "_test.go") || !isOurs(f.dir) || f.dir == "internal/base/statistics" {
			continue
		}
		key := f.dir + " " + f.pkg
		if all[key] == nil {
			all[key] = map[string]*testFunction{}
		}
		for _, d := range f.syntax.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			tf := &testFunction{file: f, decl: decl, calls: map[string]bool{}}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					tf.calls[n.Name] = true
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && bounds[n.Sel.Name] == x.Name {
						tf.bound = true
					}
				}
				return true
			})
			all[key][receiver(decl)+decl.Name.Name] = tf
		}
	}
	return all
}

// A helper that takes bounds makes the tests that call it statistical.
func TestBoundsOfStatisticsAreTakenByTestsThatSaySoInTheirName(t *testing.T) {
	found := 0
	for _, functions := range testFunctions(t) {
		for changed := true; changed; {
			changed = false
			for _, f := range functions {
				for name, called := range functions {
					_, method, is := strings.Cut(name, ".")
					if !is {
						method = name
					}
					if !f.bound && called.bound && f.calls[method] && !strings.HasPrefix(name, "Test") {
						f.bound, changed = true, true
					}
				}
			}
		}
		for name, f := range functions {
			statistical := strings.HasPrefix(name, "TestStatistical")
			if statistical {
				found++
			}
			if strings.HasPrefix(name, "Test") && statistical != f.bound {
				t.Errorf("%s: %s: named as statistical: %v, takes bounds from package statistics: %v", f.file.path, name,
					statistical, f.bound)
			}
		}
	}
	t.Logf("%d statistical tests", found)
}

// skipText is what testtargets.Need and OnlyInAll say.
var skipText = regexp.MustCompile(`^(needs .+: .+|left to make test-all: .+|run by Test.+)$`)

// otherSkips are texts of other forms, with the reason.
var otherSkips = map[string]string{}

var skipCalls = regexp.MustCompile(`^(t|tb|b)\.Skip(f|Now)?$`)

// skips calls found with the text of each call that skips a test, unless no command can change why it is there: the
// processor's architecture, -short, and input that a fuzz test does not judge.
func skips(f *goFile, found func(at token.Pos, text string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !strings.HasPrefix(n.Name.Name, "Fuzz")
		case *ast.IfStmt:
			return !asks(n.Cond, "testing.Short") && !asks(n.Cond, "runtime.GOARCH")
		case *ast.CallExpr:
			if skipCalls.MatchString(types.ExprString(n.Fun)) {
				text := ""
				for _, arg := range n.Args {
					text += literal(arg)
				}
				found(n.Pos(), text)
			}
		}
		return true
	})
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
	needed := map[string]bool{}
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
		})
	}
	used(t, slices.Collect(maps.Keys(otherSkips)), needed, "otherSkips")
}

// A test waits for a state (testtargets.Eventually, Comes, Still); a comment beside any other pause says why it is
// there.
func TestPausesInTestsSayWhy(t *testing.T) {
	pauses := 0
	for i := range treeOf(t).files {
		f := &treeOf(t).files[i]
		if !isOurs(f.dir) || !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		commented := map[int]bool{}
		for _, c := range f.syntax.Comments {
			commented[f.fset.Position(c.Pos()).Line] = true
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "time.Sleep" {
				pauses++
				if line := f.fset.Position(call.Pos()).Line; !commented[line] {
					t.Errorf("%s:%d: time.Sleep without a reason", filepath.ToSlash(f.path), line)
				}
			}
			return true
		})
	}
	t.Logf("%d pauses", pauses)
}
