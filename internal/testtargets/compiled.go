// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

// Compiled is a program or library that a compiler makes. It is kept for the next run, by its sources, flags,
// environment and compilers. Headers, libraries and the linker are not looked at: remove the directory after they
// changed.
type Compiled struct {
	Name    string            // of the result
	Texts   map[string]string // files, by names, of the directory in which the command runs; else the caller's
	Sources []string          // files besides that the command reads
	Env     []string          // besides the caller's
	Command []string          // OUT is replaced by the result's path
}

// toolVariables of the environment change what compilers make.
var toolVariables = []string{"GOFLAGS", "GOTOOLCHAIN", "GOEXPERIMENT", "GOAMD64", "GOARCH", "GOOS", "CGO_ENABLED",
	"CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS", "CC", "CXX", "CPATH", "C_INCLUDE_PATH",
	"CPLUS_INCLUDE_PATH", "LIBRARY_PATH"}

// Build returns the path of a copy, which the test may change. The test is skipped where the compiler is not installed.
func (c Compiled) Build(t testing.TB) string {
	t.Helper()
	NeedProgram(t, c.Command[0])
	text, err := c.Content()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), c.Name)
	if err := WriteExecutable(file, text); err != nil {
		t.Fatal(err)
	}
	return file
}

// Content returns what the compiler made, now or before.
func (c Compiled) Content() ([]byte, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(cacheDir(), key)
	markUsed(kept)
	text, err := os.ReadFile(filepath.Join(kept, c.Name))
	if err == nil {
		return text, nil
	}
	removeUnused(cacheDir())
	if err := makeDir(kept, c.Name, c.compile); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(kept, c.Name))
}

func (c Compiled) key() (string, error) {
	h := sha256.New()
	dir := ""
	if len(c.Texts) == 0 { // debug information has it
		var err error
		if dir, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(h, "%s\n%s\n%q\n%q\n%q\n", dir, c.Name, c.Texts, c.Env, c.Command)
	for _, name := range toolVariables {
		fmt.Fprintf(h, "%s=%q\n", name, os.Getenv(name))
	}
	for _, file := range c.Sources {
		if err := hashFile(h, file); err != nil {
			return "", err
		}
	}
	// Go links by cc where there is C, which it compiles by gcc, or by CC.
	for _, tool := range []string{c.Command[0], "cc", "gcc", cmp.Or(os.Getenv("CC"), "cc")} {
		if err := hashTool(h, tool); err != nil && tool == c.Command[0] {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

func hashFile(h io.Writer, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	return nil
}

func (c Compiled) compile(tmp string) error {
	var args []string
	for _, word := range c.Command[1:] {
		args = append(args, strings.ReplaceAll(word, "OUT", filepath.Join(tmp, c.Name)))
	}
	cmd := exec.Command(c.Command[0], args...)
	cmd.Env = append(os.Environ(), c.Env...)
	if len(c.Texts) > 0 {
		cmd.Dir = filepath.Join(tmp, "src")
		if err := writeTexts(cmd.Dir, c.Texts); err != nil {
			return err
		}
	}
	if out, err := bounded.AllOutput(cmd); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

func writeTexts(dir string, texts map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
