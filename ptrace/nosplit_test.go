// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A call of another function may have a safe point, at which the runtime can suspend the tracer while a thread is
// stopped. Functions are told apart by their names only. Not examined are those of procmem (MappingStart), and
// ignoresSignal, which parses a file.
func TestNosplitFunctionsCallSuchOnly(t *testing.T) {
	type function struct {
		nosplit bool
		calls   []string
	}
	functions := map[string][]function{}
	for _, pattern := range []string{"*.go", "../internal/base/monotonic/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				d, ok := d.(*ast.FuncDecl)
				if !ok || d.Body == nil {
					continue
				}
				f := function{nosplit: d.Doc != nil && slices.ContainsFunc(d.Doc.List,
					func(c *ast.Comment) bool { return c.Text == "//go:nosplit" })}
				ast.Inspect(d.Body, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						switch fun := call.Fun.(type) {
						case *ast.Ident:
							f.calls = append(f.calls, fun.Name)
						case *ast.SelectorExpr:
							f.calls = append(f.calls, fun.Sel.Name)
						}
					}
					return true
				})
				functions[d.Name.Name] = append(functions[d.Name.Name], f)
			}
		}
	}
	for name, all := range functions {
		for _, f := range all {
			for _, called := range f.calls {
				if f.nosplit && called != "ignoresSignal" && called != "MappingStart" && len(functions[called]) > 0 &&
					!slices.ContainsFunc(functions[called], func(f function) bool { return f.nosplit }) {
					t.Errorf("%s calls %s, which is not nosplit", name, called)
				}
			}
		}
	}
}
