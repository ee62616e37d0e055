// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// eachRelease calls check with the sources of each installed release of Go; minor is 26 for Go 1.26.
func eachRelease(t *testing.T, check func(t *testing.T, src string, minor int)) {
	t.Helper()
	for _, release := range append(append(laterReleases(t), olderReleases(t)...), "") {
		t.Run(cmp.Or(release, "current"), func(t *testing.T) {
			command, _ := testtargets.GoCommand(release)
			cmd := exec.Command(command, "env", "GOROOT", "GOVERSION")
			cmd.Env, cmd.Dir = os.Environ(), t.TempDir()
			if release != "" {
				cmd.Env = append(cmd.Env, with(release)...)
			}
			out, err := bounded.Output(cmd)
			if err != nil {
				t.Fatal(err)
			}
			root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			parts := strings.Split(cmp.Or(strings.TrimPrefix(version, "go"), release), ".")
			if len(parts) < 2 {
				t.Fatalf("Go of %q", out)
			}
			minor, err := strconv.Atoi(parts[1])
			if err != nil {
				t.Fatal(err)
			}
			check(t, filepath.Join(root, "src"), minor)
		})
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// funcIDs returns the names in node that begin with funcID_, in any case, without it.
func funcIDs(node ast.Node) (ids []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok {
			if _, id, ok := strings.Cut(strings.ToLower(i.Name[:1])+i.Name[1:], "funcID_"); ok {
				ids = append(ids, id)
			}
		}
		return true
	})
	return ids
}

func TestSystemGoroutinesAreThoseOfTheRuntimesSources(t *testing.T) {
	eachRelease(t, func(t *testing.T, src string, _ int) {
		reasons, err := os.ReadFile(filepath.Join(src, "runtime/runtime2.go"))
		if err != nil {
			t.Fatal(err)
		}
		excepted := 0
		for _, d := range parse(t, filepath.Join(src, "runtime/traceback.go")).Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "isSystemGoroutine" {
				for _, id := range funcIDs(f) {
					excepted++
					name := "runtime." + strings.TrimPrefix(id, "runtime_")
					reason, calls := callsUserCode[name]
					if isSystemStart(name) && !calls {
						t.Errorf("%s is always the runtime's own here, not in isSystemGoroutine", name)
					}
					if calls && !strings.Contains(string(reasons), strconv.Quote(reason)) {
						t.Errorf("%s does not wait for %q", name, reason)
					}
				}
			}
		}
		if excepted < 3 {
			t.Errorf("%d exceptions in isSystemGoroutine", excepted)
		}
	})
}

// wordsOf returns the size of a type in words of 8 bytes, or 0 if it is not known.
func wordsOf(typ ast.Expr) int {
	switch e := typ.(type) {
	case *ast.ArrayType:
		return 3
	case *ast.StarExpr:
		return 1
	case *ast.Ident:
		return map[string]int{"uintptr": 1, "string": 2}[e.Name]
	}
	return 0
}

// moduledataWords returns the words at which fields begin, until the first of unknown size.
func moduledataWords(t *testing.T, src string) map[string]int {
	t.Helper()
	at, words := 0, map[string]int{}
	ast.Inspect(parse(t, filepath.Join(src, "runtime/symtab.go")), func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSpec)
		if !ok || s.Name.Name != "moduledata" {
			return true
		}
		for _, f := range s.Type.(*ast.StructType).Fields.List {
			size := wordsOf(f.Type)
			if size == 0 && len(f.Names) > 0 {
				return false
			}
			for _, name := range f.Names {
				words[name.Name] = at
				at += size
			}
		}
		return false
	})
	return words
}

func TestWordsOfModuledataAreThoseOfTheRuntimesSources(t *testing.T) {
	eachRelease(t, func(t *testing.T, src string, minor int) {
		want := map[string]int{"funcnametab": mdFuncnames, "pctab": mdPctab, "ftab": mdFtab, "minpc": mdMinpc,
			"maxpc": mdMaxpc, "text": mdText, "etext": mdEtext}
		words := moduledataWords(t, src)
		for name, word := range want {
			if got, ok := words[name]; !ok || got != word {
				t.Errorf("%s is word %d, %v, not %d", name, got, ok, word)
			}
		}
		const table, size, gofunc = 0x5000, 0x1000, 0x9000
		s := moduleScan{funcs: &funcs{img: Image{PclntabAddr: table, Pclntab: make([]byte, size)}}}
		s.funcs.h.magic = magic120
		if minor < 20 {
			s.funcs.h.magic = magic118
		}
		var w [mdWords]uint64
		at, ok := words["gofunc"]
		if !ok {
			t.Fatal("moduledata has no field gofunc")
		}
		w[at] = gofunc
		if end, ok := words["epclntab"]; ok {
			w[end] = table + size
		}
		if got := s.gofunc(&w); got != gofunc {
			t.Errorf("go:func.* is at %#x, not word %d", got, at)
		}
	})
}
