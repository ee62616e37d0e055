// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/testtargets/typed"
)

var public = []string{"frames", "dwarfunwind", "heuristics", "ptrace", "report"}

// Other programs could not name such a type, unless a public package has an alias for it.
func TestPublicPackagesShowNoInternalTypes(t *testing.T) {
	var paths []string
	for _, p := range public {
		paths = append(paths, module+"/"+p)
	}
	p, err := typed.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	aliases := map[*types.TypeName]bool{}
	for _, path := range paths {
		scope := p.ByPath[path].Scope()
		for _, name := range scope.Names() {
			o, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || !o.Exported() || !o.IsAlias() {
				continue
			}
			if named, ok := types.Unalias(o.Type()).(*types.Named); ok {
				aliases[named.Obj()] = true
			}
		}
	}
	for _, path := range paths {
		scope := p.ByPath[path].Scope()
		w := &walkedAPI{t: t, aliases: aliases, seen: map[types.Type]bool{}}
		for _, name := range scope.Names() {
			if o := scope.Lookup(name); o.Exported() {
				w.object(strings.TrimPrefix(path, module+"/")+"."+name, o)
			}
		}
		if len(w.seen) < 5 {
			t.Errorf("%s: %d types", path, len(w.seen))
		}
	}
}

type walkedAPI struct {
	t       *testing.T
	aliases map[*types.TypeName]bool // types that public packages give a name
	seen    map[types.Type]bool
}

func (w *walkedAPI) object(at string, o types.Object) {
	if name, ok := o.(*types.TypeName); ok && name.IsAlias() {
		w.typ(at, types.Unalias(name.Type()))
		return
	}
	w.typ(at, o.Type())
}

func (w *walkedAPI) typ(at string, typ types.Type) {
	typ = types.Unalias(typ)
	if w.seen[typ] {
		return
	}
	w.seen[typ] = true
	if named, ok := typ.(*types.Named); ok {
		pkg := named.Obj().Pkg()
		if pkg == nil || !strings.HasPrefix(pkg.Path(), module+"/") {
			return
		}
		if strings.HasPrefix(pkg.Path(), module+"/internal/") && !w.aliases[named.Obj()] {
			w.t.Errorf("%s shows %s", at, named)
			return
		}
		for m := range named.Methods() {
			if m.Exported() {
				w.typ(at+"."+m.Name(), m.Type())
			}
		}
		for i := range named.TypeArgs().Len() {
			w.typ(at, named.TypeArgs().At(i))
		}
		w.typ(at, named.Underlying())
		return
	}
	switch u := typ.(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() {
				w.typ(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range u.Methods() {
			if m.Exported() {
				w.typ(at+"."+m.Name(), m.Type())
			}
		}
	case *types.Signature:
		for _, list := range []*types.Tuple{u.Params(), u.Results()} {
			for i := range list.Len() {
				w.typ(at, list.At(i).Type())
			}
		}
	case *types.Map:
		w.typ(at, u.Key())
		w.typ(at, u.Elem())
	case interface{ Elem() types.Type }:
		w.typ(at, u.Elem())
	}
}

func TestPublicPackagesBeginWithAUse(t *testing.T) {
	for _, pkg := range public {
		dir := filepath.Join("..", "..", pkg)
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(dir, "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		use, _, found := strings.Cut(f.Doc.Text(), "# Algorithm")
		if !found || !strings.Contains(use, "\n\n\t") {
			t.Errorf("%s: its page shows no code before the algorithm", pkg)
		}
		example, err := parser.ParseFile(fset, filepath.Join(dir, "example_test.go"), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if all := doc.Examples(example); len(all) == 0 || all[0].Output == "" || all[0].Doc == "" {
			t.Errorf("%s: no example with an output", pkg)
		}
	}
}
