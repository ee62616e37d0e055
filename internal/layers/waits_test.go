// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayWait are packages whose waits are ended from outside, with the reason.
var mayWait = map[string]string{
	"integration/machine/init": "the first program of an emulated machine, which the test ends",
	"internal/testtargets/src": "programs to sample, which the test ends",
	"integration/torture/src":  "programs to sample, which the test ends",
}

// A wait without a bound ends by go test's time limit, which ends all tests of the package and does not say what the
// test waited for. A comment beside a receive says why it needs none.
func TestWaitsInTestsAreBounded(t *testing.T) {
	exempt, needed := slices.Sorted(maps.Keys(mayWait)), map[string]bool{}
	for _, f := range inTests(t) {
		for _, w := range unboundedWaits(f) {
			if i := slices.IndexFunc(exempt, func(dir string) bool { return under(f.dir, []string{dir}) }); i >= 0 {
				needed[exempt[i]] = true
				continue
			}
			t.Errorf("%s:%d: %s", filepath.ToSlash(f.path), f.fset.Position(w.at).Line, w.what)
		}
	}
	used(t, exempt, needed, "mayWait")
}

type unboundedWait struct {
	at   token.Pos
	what string
}

// waitFinder finds waits that end by what they wait for alone: commands, and receives on the test's own goroutine. The
// functions of other goroutines may wait for the test.
type waitFinder struct {
	file      *goFile
	commented map[int]bool    // lines
	limited   map[string]bool // commands with a context of their own, of the function
	filled    []string        // channels of which the statement around says that they have something
	found     []unboundedWait
}

func unboundedWaits(f *goFile) []unboundedWait {
	w := &waitFinder{file: f, commented: f.commentedLines()}
	for _, d := range f.syntax.Decls {
		w.limited = limitedCommands(d)
		ast.Inspect(d, w.visit)
	}
	return w.found
}

func (w *waitFinder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return false
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" {
			return false
		}
		w.command(n)
	case *ast.CommClause: // of a select, whose other cases may bound it
		for _, s := range n.Body {
			ast.Inspect(s, w.visit)
		}
		return false
	case *ast.ForStmt:
		return w.conditional(n.Cond, n.Body)
	case *ast.IfStmt:
		return n.Init != nil || n.Else != nil || w.conditional(n.Cond, n.Body)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			w.receive(n)
		}
	}
	return true
}

// conditional inspects the body of "if len(channel) > 0", and returns false; true for another condition.
func (w *waitFinder) conditional(cond ast.Expr, body *ast.BlockStmt) bool {
	compared, ok := cond.(*ast.BinaryExpr)
	if !ok || compared.Op != token.GTR {
		return true
	}
	call, ok := compared.X.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || types.ExprString(call.Fun) != "len" {
		return true
	}
	w.filled = append(w.filled, types.ExprString(call.Args[0]))
	ast.Inspect(body, w.visit)
	w.filled = w.filled[:len(w.filled)-1]
	return false
}

func (w *waitFinder) receive(n *ast.UnaryExpr) {
	from := types.ExprString(n.X)
	if slices.Contains(w.filled, from) || strings.HasPrefix(from, "time.After(") ||
		w.commented[w.file.fset.Position(n.Pos()).Line] {
		return
	}
	w.found = append(w.found, unboundedWait{n.Pos(), "a receive without a bound: use bounded.Receive"})
}

func (w *waitFinder) command(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) > 0 || !slices.Contains([]string{"Run", "Output", "CombinedOutput"}, sel.Sel.Name) ||
		!slices.ContainsFunc(w.file.syntax.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"os/exec"` }) {
		return
	}
	of := types.ExprString(sel.X)
	if made, ok := sel.X.(*ast.CallExpr); of == "m" || w.limited[of] || ok && isLimited(made) { // m is a testing.M
		return
	}
	w.found = append(w.found, unboundedWait{call.Pos(), "a command without a bound: use bounded.Run, Output or AllOutput"})
}

// limitedCommands are the variables of a declaration to which commands with a context of their own are assigned.
func limitedCommands(decl ast.Decl) map[string]bool {
	limited := map[string]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || len(assigned.Lhs) != len(assigned.Rhs) {
			return true
		}
		for i, from := range assigned.Rhs {
			if call, ok := from.(*ast.CallExpr); ok && isLimited(call) {
				limited[types.ExprString(assigned.Lhs[i])] = true
			}
		}
		return true
	})
	return limited
}

// isLimited reports whether a command is made with a context other than the test's, which lasts as long as the test.
func isLimited(call *ast.CallExpr) bool {
	if types.ExprString(call.Fun) != "exec.CommandContext" || len(call.Args) == 0 {
		return false
	}
	ctx := types.ExprString(call.Args[0])
	return ctx != "context.Background()" && !strings.HasSuffix(ctx, ".Context()")
}

func TestWaitsWithoutABoundAreFound(t *testing.T) {
	const text = `package some
import "os/exec"
func TestSome(t *testing.T) {
	exec.Command("one").Run() // no reason for a command
	cmd := exec.CommandContext(t.Context(), "two")
	cmd.Output()
	limited := exec.CommandContext(ctx, "three")
	limited.Output()
	exec.CommandContext(ctx, "four").CombinedOutput()
	go func() { <-stop }()
	wg.Go(func() { <-stop })
	t.Run("", func(t *testing.T) { <-done })
	<-ready // it is there
	select {
	case <-done:
		<-further
	case <-late:
	}
	for len(got) > 0 {
		<-got
		<-done
	}
	if x := <-done; x {
	}
}`
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "some_test.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, w := range unboundedWaits(&goFile{"some_test.go", "some", "some", fset, syntax}) {
		lines = append(lines, fset.Position(w.at).Line)
	}
	if want := []int{4, 6, 12, 16, 21, 23}; !slices.Equal(lines, want) {
		t.Errorf("waits without a bound are found in lines %v, want %v", lines, want)
	}
}
