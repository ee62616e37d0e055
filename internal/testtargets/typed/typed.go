// SPDX-License-Identifier: Apache-2.0

// Package typed loads the types of the module's packages, for tests.
package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"prywalk/internal/testtargets/bounded"
)

// Packages are packages of the module, checked from their sources, and their imports, from the build cache.
type Packages struct {
	Fset   *token.FileSet
	ByPath map[string]*types.Package
	lines  map[string]map[int]string // comments of a file, by the line below
	dirs   map[string]string         // directories of packages
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// Load checks packages, by their import paths. The imports are compiled as those of make test are (-trimpath), which is
// mostly done.
func Load(paths ...string) (*Packages, error) {
	args := append([]string{"list", "-trimpath", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles"}, paths...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := bounded.Output(cmd)
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all[l.ImportPath] = l
	}
	p := &Packages{Fset: token.NewFileSet(), ByPath: map[string]*types.Package{}, lines: map[string]map[int]string{}}
	p.dirs = map[string]string{}
	for path, l := range all {
		p.dirs[path] = l.Dir
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) }
	conf := types.Config{Importer: importer.ForCompiler(p.Fset, "gc", lookup)}
	for _, path := range paths {
		var files []*ast.File
		for _, name := range all[path].GoFiles {
			f, err := parser.ParseFile(p.Fset, filepath.Join(all[path].Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		if p.ByPath[path], err = conf.Check(path, p.Fset, files, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Comment returns the comment above, or at the end of, the line that declares an object.
func (p *Packages) Comment(o types.Object) string {
	at := p.Fset.Position(o.Pos())
	if p.lines[at.Filename] == nil {
		p.lines[at.Filename] = map[int]string{}
		fset := token.NewFileSet()
		// A file of a package that was compiled with -trimpath has its import path for a directory.
		file := at.Filename
		if dir := p.dirs[path.Dir(file)]; dir != "" {
			file = filepath.Join(dir, path.Base(file))
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return ""
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				for _, name := range n.Names {
					text := n.Doc.Text()
					if text == "" {
						text = n.Comment.Text()
					}
					p.lines[at.Filename][fset.Position(name.Pos()).Line] = text
				}
			case *ast.GenDecl:
				for _, spec := range n.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						text := t.Doc.Text()
						if text == "" {
							text = n.Doc.Text()
						}
						p.lines[at.Filename][fset.Position(t.Name.Pos()).Line] = text
					}
				}
			}
			return true
		})
	}
	return p.lines[at.Filename][at.Line]
}
