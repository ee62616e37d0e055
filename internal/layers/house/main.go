// Command house prints what a stranger meets in a checkout, as a table in Markdown. It tells how many files and
// lines, the longest functions, the largest packages and types, references between files, and the words of each
// page.
//
//	go run ./internal/layers/house NAME=DIRECTORY...
//
// Each directory is one column. Tests, testdata and generated files do not count, but in the lines of tests.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// most is how many of the longest and largest are told.
const most = 5

// sized is something with a name and a size.
type sized struct {
	name string
	size int
}

// house is what was counted in one checkout.
type house struct {
	files, lines, testLines int
	functions, types        []sized
	packages, pages         map[string]int
	mutual                  map[string]int // pairs of files that refer to each other, by package
	parsed                  map[string]map[string]*ast.File
}

func main() {
	var names []string
	var all []*house
	for _, arg := range os.Args[1:] {
		name, dir, ok := strings.Cut(arg, "=")
		if !ok {
			dir = name
		}
		h, err := read(dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "house: reading %s: %v\n", dir, err)
			os.Exit(1)
		}
		names, all = append(names, name), append(all, h)
	}
	if len(all) == 0 {
		fmt.Fprintln(os.Stderr, "usage: house NAME=DIRECTORY...")
		os.Exit(2)
	}
	fmt.Printf("| | %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat(" --- |", len(names)+1))
	row := func(what string, of func(*house) string) {
		fmt.Printf("| %s |", what)
		for _, h := range all {
			fmt.Printf(" %s |", of(h))
		}
		fmt.Println()
	}
	row("files, without tests", func(h *house) string { return fmt.Sprint(h.files) })
	row("lines", func(h *house) string { return fmt.Sprint(h.lines) })
	row("lines of tests", func(h *house) string { return fmt.Sprint(h.testLines) })
	row("longest functions, lines", func(h *house) string { return list(h.functions) })
	row("largest packages, files", func(h *house) string { return list(bySize(h.packages)) })
	row("packages over 25 files", func(h *house) string { return fmt.Sprint(over(h.packages, 25)) })
	row("largest types, fields", func(h *house) string { return list(h.types) })
	row("pairs of files that refer to each other", func(h *house) string { return list(bySize(h.mutual)) })
	row("words of the pages", func(h *house) string { return list(bySize(h.pages), len(h.pages)) })
}

// read counts what is in a checkout.
func read(root string) (*house, error) {
	h := &house{
		packages: map[string]int{}, pages: map[string]int{}, mutual: map[string]int{},
		parsed: map[string]map[string]*ast.File{},
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || name == "tools" || strings.HasPrefix(name, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return h.add(path, filepath.ToSlash(rel))
	})
	if err != nil {
		return nil, err
	}
	for pkg, files := range h.parsed {
		h.mutual[pkg] = mutual(files)
	}
	return h, nil
}

// add counts one file.
func (h *house) add(path, rel string) error {
	page := filepath.Ext(rel) == ".md" && (filepath.Dir(rel) == "docs" || filepath.Dir(rel) == ".")
	if !page && filepath.Ext(rel) != ".go" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte("\n"))
	switch {
	case page:
		h.pages[rel] = len(bytes.Fields(text))
		return nil
	case strings.HasSuffix(rel, "_test.go"):
		h.testLines += lines
		return nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	pkg := filepath.ToSlash(filepath.Dir(rel))
	h.files, h.lines = h.files+1, h.lines+lines
	h.packages[pkg]++
	if h.parsed[pkg] == nil {
		h.parsed[pkg] = map[string]*ast.File{}
	}
	h.parsed[pkg][filepath.Base(rel)] = file
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			h.functions = append(h.functions, sized{pkg + " " + n.Name.Name,
				set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1})
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				h.types = append(h.types, sized{pkg + " " + n.Name.Name, s.Fields.NumFields()})
			}
		}
		return true
	})
	return nil
}

// mutual counts the pairs of files of a package of which each uses something that the other declares. Methods count as
// their names do, if no other file has one of that name.
func mutual(files map[string]*ast.File) (pairs int) {
	where := map[string]string{} // "" for what several files declare
	note := func(name, file string) {
		if old, ok := where[name]; ok && old != file {
			file = ""
		}
		where[name] = file
	}
	for file, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				note(d.Name.Name, file)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						note(s.Name.Name, file)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							note(n.Name, file)
						}
					}
				}
			}
		}
	}
	uses := map[[2]string]bool{}
	for file, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && where[id.Name] != "" && where[id.Name] != file {
				uses[[2]string{file, where[id.Name]}] = true
			}
			return true
		})
	}
	for u := range uses {
		if u[0] < u[1] && uses[[2]string{u[1], u[0]}] {
			pairs++
		}
	}
	return pairs
}

// bySize makes a list of a map.
func bySize(m map[string]int) (all []sized) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, sized{name, m[name]})
	}
	return all
}

// over counts what is larger than a bound.
func over(m map[string]int, bound int) (n int) {
	for _, size := range m {
		if size > bound {
			n++
		}
	}
	return n
}

// list tells the largest, at most n of them.
func list(all []sized, n ...int) string {
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	var text []string
	for _, s := range all[:min(len(all), append(n, most)[0])] {
		text = append(text, fmt.Sprintf("%s %d", s.name, s.size))
	}
	return strings.Join(text, "<br>")
}
