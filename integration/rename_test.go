// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// user starts a helper process, which needs the module's path in a symbol.
const user = `package main

import (
	"fmt"

	"example.org/tools/pry/dwarfunwind"
	"example.org/tools/pry/frames"
	"example.org/tools/pry/heuristics"
	"example.org/tools/pry/ptrace"
	"example.org/tools/pry/report"
)

func main() {
	_, err := dwarfunwind.New(dwarfunwind.Config{Arch: frames.X86_64})
	source := heuristics.New(heuristics.Options{Arch: frames.X86_64})
	own := ptrace.ErrSelf != nil
	fmt.Println(err, source != nil, own, report.Groupings()[0])
}
`

func TestRenamedModuleIsImportedByAnother(t *testing.T) {
	t.Parallel()
	testtargets.OnlyInAll(t, "compiles the module under another name")
	dir := t.TempDir()
	tree, program := filepath.Join(dir, "tree"), filepath.Join(dir, "program")
	in := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		// With -trimpath only changes are compiled, whatever the directory.
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
		out, err := bounded.AllOutput(cmd)
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	for path := range strings.Lines(in("..", "git", "ls-files", "--cached", "--others", "--exclude-standard")) {
		path = strings.TrimSpace(path)
		text, err := os.ReadFile(filepath.Join("..", path))
		if os.IsNotExist(err) || strings.Contains(path, "testdata/") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(tree, path), string(text))
	}
	in(tree, "git", "init", "-q")
	in(tree, "git", "add", "-A")
	in(tree, "make", "rename", "MODULE=example.org/tools/pry")
	left, _ := bounded.Output(exec.Command("grep", "-rlE",
		`(^|[^[:alnum:]_./-])prywalk/(internal|frames|ptrace|report|cmd)"`, "--include=*.go", tree))
	if len(left) > 0 {
		t.Errorf("files with the old module path:\n%s", left)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(program, "go.sum"), string(sums))
	put(t, filepath.Join(program, "main.go"), user)
	put(t, filepath.Join(program, "go.mod"), "module example.org/program\n\ngo 1.26.0\n\n"+
		"require example.org/tools/pry v0.0.0\n\nreplace example.org/tools/pry => ../tree\n")
	want := "no call frame information true true thread\n"
	if out := in(program, "go", "run", "."); !strings.HasSuffix(out, want) {
		t.Errorf("the program printed %s", out)
	}
	if out := in(tree, "go", "run", "./cmd/prywalk", "version"); !strings.HasPrefix(out, "prywalk ") {
		t.Errorf("prywalk of the renamed module printed %s", out)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
