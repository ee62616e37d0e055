// SPDX-License-Identifier: Apache-2.0

package layers

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// foreignNames are names of runtimes, libraries and other tools. Lines that begin with # are comments.
//
//go:embed testdata/foreign_names.txt
var foreignNames string

var (
	word = regexp.MustCompile(`[A-Za-z_]\w*`)
	// mixedCase has capitals inside a word.
	mixedCase = regexp.MustCompile(`^([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)$`)
	// docLink is a doc link (https://go.dev/doc/comment#links). A lone name in lower case may also be a register or a
	// mapping ([rsp], [heap]): no link.
	docLink = regexp.MustCompile(`(?:^|[\s(—,"])` +
		`\[\*?((?:[\w./]*[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Za-z]\w*)?|(?:[\w./]*[a-z]\w*\.)+\w+|[a-z]{2,}[A-Z]\w*)\]` +
		`(?:$|[\s.,;:)!?'"—])`)
)

type goFile struct {
	path, dir, pkg string
	fset           *token.FileSet
	syntax         *ast.File
}

type tree struct {
	files []goFile
	// members are by directory; members of types are "Type.Member".
	members map[string]map[string]bool
	// imports are paths by directory and name.
	imports map[string]map[string]string
	// words are all words outside of Go comments and of prose.
	words map[string]bool
}

var onceRead = sync.OnceValues(readTree)

func treeOf(t *testing.T) *tree {
	t.Helper()
	all, err := onceRead()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readTree() (*tree, error) {
	root := filepath.Join("..", "..")
	all := &tree{members: map[string]map[string]bool{}, imports: map[string]map[string]string{}, words: map[string]bool{}}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		return nil, err
	}
	patterns := strings.Fields(string(ignored))
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := "/" + strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, root)), "/")
		if slices.ContainsFunc(patterns, func(p string) bool {
			matches, _ := filepath.Match(strings.TrimSuffix(p, "/"), name)
			return matches
		}) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		for _, part := range word.FindAllString(d.Name(), -1) {
			all.words[part] = true
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || filepath.Ext(path) == ".md" {
			return err
		}
		if path == filepath.Join(root, "internal", "layers", "testdata", "foreign_names.txt") {
			return nil
		}
		if filepath.Ext(path) == ".go" {
			return all.addGo(root, path)
		}
		text, err := os.ReadFile(path)
		if err == nil && !slices.Contains(text[:min(len(text), 1<<10)], 0) {
			all.add(string(text))
		}
		return err
	})
	return all, err
}

func (all *tree) add(text string) {
	for _, w := range word.FindAllString(text, -1) {
		all.words[w] = true
	}
}

func (all *tree) addGo(root, path string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	dir = filepath.ToSlash(dir)
	all.files = append(all.files, goFile{path, dir, file.Name.Name, fset, file})
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommentGroup:
			return false
		case *ast.Ident:
			all.words[n.Name] = true
		case *ast.BasicLit:
			all.add(n.Value)
		}
		return true
	})
	if all.members[dir] == nil {
		all.members[dir], all.imports[dir] = map[string]bool{}, map[string]string{}
	}
	declare(file, all.members[dir])
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		if i.Name != nil {
			name = i.Name.Name
		}
		all.imports[dir][name] = path
	}
	return nil
}

// declare adds a type that embeds another as "Type.*": any member may be promoted to it.
func declare(file *ast.File, names map[string]bool) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					declareMembers(s, names)
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name + "."
		}
		return name == ""
	})
	return name
}

func declareMembers(s *ast.TypeSpec, names map[string]bool) {
	var fields *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			names[s.Name.Name+".*"] = true
		}
		for _, n := range f.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
	}
}

func has(names map[string]bool, name string) bool {
	typ, _, member := strings.Cut(name, ".")
	return names[name] || member && names[typ+".*"]
}

// resolves takes a package by its name if a file of the directory imports it, else by its path, as go/doc does. A
// package outside of the tree resolves if it is imported.
func (all *tree) resolves(f *goFile, link string) bool {
	if has(all.members[f.dir], link) {
		return true
	}
	slash := strings.LastIndexByte(link, '/')
	dot := strings.IndexByte(link[slash+1:], '.')
	if dot < 0 {
		return false
	}
	pkg, name := link[:slash+1+dot], link[slash+dot+2:]
	if path := all.imports[f.dir][pkg]; path != "" {
		pkg = path
	}
	if dir, ok := strings.CutPrefix(pkg, module+"/"); ok {
		return has(all.members[dir], name)
	}
	return all.imports[f.dir][filepath.Base(pkg)] == pkg
}

// eachComment leaves out directives.
func (all *tree) eachComment(do func(f *goFile, place, text string)) {
	for i := range all.files {
		f := &all.files[i]
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				for n, line := range strings.Split(c.Text, "\n") {
					if strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "//nolint") {
						continue
					}
					at := f.fset.Position(c.Pos())
					do(f, fmt.Sprintf("%s:%d", at.Filename, at.Line+n), strings.TrimPrefix(line, "//"))
				}
			}
		}
	}
}

func TestDocLinksResolve(t *testing.T) {
	all := treeOf(t)
	links := 0
	all.eachComment(func(f *goFile, place, text string) {
		for _, m := range docLink.FindAllStringSubmatch(text, -1) {
			links++
			if !all.resolves(f, m[1]) {
				t.Errorf("%s: [%s] leads nowhere", place, m[1])
			}
		}
	})
	t.Logf("%d doc links", links)
	if links == 0 {
		t.Error("no doc link was found")
	}
}

func TestNamesInCommentsExist(t *testing.T) {
	all := treeOf(t)
	foreign := map[string]bool{}
	for line := range strings.Lines(foreignNames) {
		if !strings.HasPrefix(line, "#") {
			for _, w := range strings.Fields(line) {
				foreign[w] = true
			}
		}
	}
	used := map[string]bool{}
	all.eachComment(func(_ *goFile, place, text string) {
		for _, w := range word.FindAllString(text, -1) {
			if !mixedCase.MatchString(w) || all.words[w] {
				continue
			}
			used[w] = true
			if !foreign[w] {
				t.Errorf("%s: there is no %s", place, w)
			}
		}
	})
	for w := range foreign {
		if !used[w] {
			t.Errorf("testdata/foreign_names.txt: no comment needs %s", w)
		}
	}
}

// A comment of a group may begin with any of the group's names.
func TestDocCommentsBeginWithTheirName(t *testing.T) {
	for _, f := range treeOf(t).files {
		check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
			if doc == nil {
				return
			}
			first := word.FindString(strings.TrimPrefix(doc.List[0].Text, "// "))
			text, begins := strings.CutPrefix(doc.List[0].Text, "// "+first)
			if !begins || !mixedCase.MatchString(first) && !isFunc(first, text, names) {
				return
			}
			if !slices.ContainsFunc(names, func(n *ast.Ident) bool { return n.Name == first }) {
				t.Errorf("%s: the comment of %v begins with %s", f.fset.Position(doc.Pos()), names, first)
			}
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name)
			case *ast.GenDecl:
				checkGroup(d, check)
			}
		}
	}
}

func isFunc(first, text string, names []*ast.Ident) bool {
	return len(names) == 1 && strings.ToLower(first) == first && (strings.HasPrefix(text, ": ") ||
		strings.HasPrefix(text, " gives ") || strings.HasPrefix(text, " reports whether "))
}

func checkGroup(d *ast.GenDecl, check func(*ast.CommentGroup, ...*ast.Ident)) {
	var all []*ast.Ident
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			all = append(all, s.Names...)
			check(s.Doc, s.Names...)
		case *ast.TypeSpec:
			all = append(all, s.Name)
			check(s.Doc, s.Name)
		}
	}
	check(d.Doc, all...)
}
