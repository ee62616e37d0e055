// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"prywalk/internal/testtargets/bounded"
)

//go:embed testdata
var sources embed.FS

// Program is a program to be stepped.
type Program struct {
	Name  string
	Share float64
	build []string // SRC and OUT stand for the directory of the sources, and the result
}

// Programs are the programs of a run.
var Programs = []Program{
	{"libc", 0.35, []string{"cc", "-w", "-O2", "-fcommon", "-Wl,-z,lazy", "-fno-builtin", "-o", "OUT", "SRC/libc.c",
		"-lm"}},
	{"libs", 0.25, []string{"cc", "-w", "-O2", "-Wl,-z,lazy", "-o", "OUT", "SRC/libs.c", "-ldl"}},
	{"cpp", 0.15, []string{"c++", "-w", "-std=c++17", "-O2", "-Wl,-z,lazy", "-o", "OUT", "SRC/cpp.cc"}},
	{"rust", 0.1, []string{"rustc", "--edition", "2021", "-O", "-o", "OUT", "SRC/rust.rs"}},
	{"go", 0.15, []string{"go", "build", "-C", "SRC/goprog", "-trimpath", "-buildvcs=false", "-o", "OUT", "."}},
}

// Split has .cold parts and no call frame information: its code is walked by instructions and symbols.
var Split = Program{"split", 1, []string{"cc", "-w", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables",
	"-fno-unwind-tables",
	"-freorder-blocks-and-partition", "-o", "OUT", "SRC/split.c"}}

// Build compiles below dir, and returns the file. The error has the compiler's output.
func (p *Program) Build(dir string) (string, error) {
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, p.Name)
	if err := unpack(src); err != nil {
		return "", err
	}
	argv := make([]string, len(p.build))
	for i, a := range p.build {
		argv[i] = strings.NewReplacer("SRC", src, "OUT", out).Replace(a)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if msg, err := bounded.AllOutput(cmd); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", p.Name, err, msg)
	}
	return out, nil
}

func unpack(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	sub := "testdata"
	if err := os.MkdirAll(filepath.Join(dir, "goprog"), 0o755); err != nil {
		return err
	}
	for _, d := range []string{"", "goprog"} {
		entries, err := sources.ReadDir(strings.TrimSuffix(sub+"/"+d, "/"))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			b, err := sources.ReadFile(strings.TrimSuffix(sub+"/"+d, "/") + "/" + e.Name())
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, d, e.Name()), b, 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "goprog", "go.mod"), []byte("module goprog\n\ngo 1.26\n"), 0o644)
}
