// SPDX-License-Identifier: Apache-2.0

// Command house counts a checkout: files and lines, longest functions, largest packages and types, longest pages, as
// tables in Markdown, a column per directory.
//
//	go run ./internal/layers/house NAME=DIRECTORY...
//
// Tests, testdata and generated files count only among the lines of tests.
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

	"prywalk/internal/base/tabular"
)

const most = 5

type sized struct {
	name string
	size int
}

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
	inAll := table{columns: names}
	for _, f := range figures {
		inAll.row(f.name, all, func(h *house) string { return tabular.Thousands(int64(f.of(h))) })
	}
	inAll.print("In all", "")
	for _, l := range lists {
		largest := table{columns: names}
		for _, name := range largestOf(all, l.of) {
			largest.row(name, all, func(h *house) string {
				if n, there := l.of(h)[name]; there {
					return tabular.Thousands(int64(n))
				}
				return ""
			})
		}
		largest.print(l.title, l.what)
	}
}

var figures = []struct {
	name string
	of   func(*house) int
}{
	{"files, without tests", func(h *house) int { return h.files }},
	{"lines", func(h *house) int { return h.lines }},
	{"lines of tests", func(h *house) int { return h.testLines }},
	{"packages over 25 files", func(h *house) int { return over(h.packages, 25) }},
	{"functions over 50 lines", func(h *house) int { return overSized(h.functions, 50) }},
	{"types over 30 fields", func(h *house) int { return overSized(h.types, 30) }},
	{"pairs of files that refer to each other", func(h *house) int { return sum(h.mutual) }},
	{"pages", func(h *house) int { return len(h.pages) }},
	{"words of all pages", func(h *house) int { return sum(h.pages) }},
	{"words of the longest page", func(h *house) int { return slices.Max(slices.Collect(maps.Values(h.pages))) }},
}

var lists = []struct {
	title, what string
	of          func(*house) map[string]int
}{
	{"The largest packages", "files, without tests", func(h *house) map[string]int { return h.packages }},
	{"The longest functions", "lines", func(h *house) map[string]int { return bySize(h.functions) }},
	{"The largest types", "fields", func(h *house) map[string]int { return bySize(h.types) }},
	{"Files that refer to each other", "pairs", func(h *house) map[string]int { return h.mutual }},
	{"The longest pages", "words", func(h *house) map[string]int { return h.pages }},
}

type table struct {
	columns []string
	lines   []string
}

func (t *table) row(name string, all []*house, of func(*house) string) {
	line := "| " + name + " |"
	for _, h := range all {
		line += " " + of(h) + " |"
	}
	t.lines = append(t.lines, line)
}

func (t *table) print(title, what string) {
	fmt.Printf("### %s\n\n| %s | %s |\n|%s\n%s\n\n", title, what, strings.Join(t.columns, " | "),
		strings.Repeat(" --- |", len(t.columns)+1), strings.Join(t.lines, "\n"))
}

func largestOf(all []*house, of func(*house) map[string]int) []string {
	last := of(all[len(all)-1])
	rank := func(m map[string]int) []string {
		names := slices.Sorted(maps.Keys(m))
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(m[b], m[a]) })
		return names[:min(len(names), most)]
	}
	names := rank(last)
	for _, name := range rank(of(all[0])) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

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

// mutual counts methods by name, if only one file has it.
func mutual(files map[string]*ast.File) (pairs int) {
	where := map[string]string{} // "": several files declare it
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

func bySize(all []sized) map[string]int {
	m := map[string]int{}
	for _, s := range all {
		m[s.name] = max(m[s.name], s.size)
	}
	return m
}

func sum(m map[string]int) (n int) {
	for _, size := range m {
		n += size
	}
	return n
}

func overSized(all []sized, bound int) (n int) {
	for _, s := range all {
		if s.size > bound {
			n++
		}
	}
	return n
}

func over(m map[string]int, bound int) (n int) {
	for _, size := range m {
		if size > bound {
			n++
		}
	}
	return n
}
