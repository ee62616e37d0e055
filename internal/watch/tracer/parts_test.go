// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"prywalk/internal/watch/target"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type source struct {
	fset  *token.FileSet
	files []*ast.File
	info  types.Info
	pkg   *types.Package
}

func parseSource(t *testing.T) *source {
	t.Helper()
	s := &source{fset: token.NewFileSet(), info: types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, f)
	}
	conf := types.Config{Error: func(error) {}}
	s.pkg, _ = conf.Check("tracer", s.fset, s.files, &s.info)
	return s
}

// parts returns the types to which the tracer's fields point, without Options and Control, which others make.
func (s *source) parts() (parts []*types.Named) {
	tracer := s.pkg.Scope().Lookup("Tracer").Type().Underlying().(*types.Struct)
	for field := range tracer.Fields() {
		if part := pointedTo(field); part != nil && !part.Obj().Exported() {
			parts = append(parts, part)
		}
	}
	return parts
}

func pointedTo(field *types.Var) *types.Named {
	to, ok := field.Type().(*types.Pointer)
	if !ok {
		return nil
	}
	named, _ := to.Elem().(*types.Named)
	return named
}

func hasField(part *types.Named, v types.Object) bool {
	for field := range part.Underlying().(*types.Struct).Fields() {
		if field == v {
			return true
		}
	}
	return false
}

func (s *source) file(at token.Pos) string { return filepath.Base(s.fset.Position(at).Filename) }

// partsFields are fields of processes and threads that one part uses, by its file.
var partsFields = map[string]string{
	"EndedReport": "endedthreads.go", "LastPass": "endedthreads.go", "Tail": "newthreads.go",
}

func TestFieldsOfAPartAreUsedOnlyInItsFile(t *testing.T) {
	s := parseSource(t)
	parts := s.parts()
	uses := 0
	for selector, selected := range s.info.Selections {
		field := selected.Obj()
		if selected.Kind() != types.FieldVal {
			continue
		}
		if slices.ContainsFunc(parts, func(part *types.Named) bool { return hasField(part, field) }) {
			if uses++; s.file(selector.Pos()) != s.file(field.Pos()) {
				t.Errorf("%s uses the field %s of %s", s.fset.Position(selector.Pos()), field.Name(), s.file(field.Pos()))
			}
		}
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || partsFields[selector.Sel.Name] == "" {
				return true
			}
			if uses++; s.file(n.Pos()) != partsFields[selector.Sel.Name] {
				t.Errorf("%s uses the field %s", s.fset.Position(n.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
	if len(parts) < 10 || uses < 100 {
		t.Errorf("%d parts, %d uses of their fields: the rule finds too little", len(parts), uses)
	}
}

func TestPartsPointOnlyToPartsAboveThem(t *testing.T) {
	parts, pointers := parseSource(t).parts(), 0
	for i, part := range parts {
		for field := range part.Underlying().(*types.Struct).Fields() {
			to := pointedTo(field)
			at := slices.Index(parts, to)
			if at >= 0 {
				pointers++
			}
			if to != nil && at >= i {
				t.Errorf("%s points to %s, which is not above it", part.Obj().Name(), to.Obj().Name())
			}
		}
	}
	if pointers < 20 {
		t.Errorf("%d pointers to parts are found, want 20 or more: the source was not understood", pointers)
	}
}

func TestPartsHaveAllThatTheyPointTo(t *testing.T) {
	set := map[string]bool{ // set later, or nil has a meaning
		"pacer.quota": false, "taskCreations.file": false,
	}
	tracer, fields := newTracer(target.SamplingOptions{Freq: 99, Children: true}), 0
	check := func(name string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Func:
		default:
			return
		}
		fields++
		if _, later := set[name]; later {
			set[name] = true
		} else if v.IsNil() {
			t.Errorf("%s is nil", name)
		}
	}
	of := reflect.ValueOf(tracer).Elem()
	for i := range of.NumField() {
		part := of.Field(i)
		check("Tracer."+of.Type().Field(i).Name, part)
		if part.Kind() != reflect.Pointer || part.IsNil() || part.Elem().Kind() != reflect.Struct ||
			of.Type().Field(i).Type.Elem().PkgPath() != of.Type().PkgPath() {
			continue
		}
		part = part.Elem()
		for j := range part.NumField() {
			if part.Type() != reflect.TypeFor[target.SamplingOptions]() {
				check(part.Type().Name()+"."+part.Type().Field(j).Name, part.Field(j))
			}
		}
	}
	for name, found := range set {
		if !found {
			t.Errorf("%s is no field of a part", name)
		}
	}
	if fields < 60 {
		t.Errorf("%d fields are checked, want 60 or more", fields)
	}
}

func TestSharedStateIsSetByTheLoop(t *testing.T) {
	shared := []string{"Observer", "Tick", "Ending", "EngineSamples", "Unassigned"}
	set := 0
	s := parseSource(t)
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			var changed []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				changed = n.Lhs
			case *ast.IncDecStmt:
				changed = []ast.Expr{n.X}
			}
			for _, e := range changed {
				for selector, ok := e.(*ast.SelectorExpr); ok; selector, ok = selector.X.(*ast.SelectorExpr) {
					if !slices.Contains(shared, selector.Sel.Name) {
						continue
					}
					if set++; s.file(selector.Pos()) != "tick.go" && s.file(selector.Pos()) != "run.go" {
						t.Errorf("%s sets %s", s.fset.Position(selector.Pos()), selector.Sel.Name)
					}
				}
			}
			return true
		})
	}
	if set == 0 {
		t.Error("the rule finds nothing, not even what is allowed")
	}
}
