// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"prywalk/internal/testtargets/bounded"
)

//go:embed src
var sources embed.FS

type program struct {
	source string
	// SRC, OUT and DIR are replaced; empty: the source is the result.
	command []string
	strip   bool
	result  string // file name in DIR; without command the source's
}

func cProgram(flags ...string) *program {
	command := append([]string{"cc", "-O2", "-pthread", "-o", "OUT", "SRC"}, flags...)
	return &program{source: "native.c", command: command, result: "native"}
}

func stripped(p *program) *program {
	p.strip = true
	return p
}

// Compile returns a compiled C source of src, cached; flags follow "-g -pthread".
func Compile(source string, flags ...string) (string, error) {
	p := &program{source: source, result: strings.TrimSuffix(source, ".c")}
	p.command = append([]string{"cc", "-g", "-pthread", "-o", "OUT", "SRC"}, flags...)
	b, err := p.build()
	return b.file, err
}

var cppProgram = &program{
	source: "inlined.cc", result: "inlined",
	command: []string{"c++", "-std=c++17", "-O2", "-g", "-pthread", "-o", "OUT", "SRC"},
}

var rustProgram = &program{
	source: "load.rs", result: "load",
	command: []string{"rustc", "--edition", "2021", "-O", "-g", "-o", "OUT", "SRC"},
}

var javaProgram = javaClass("Load")

func javaClass(name string) *program {
	return &program{source: name + ".java", result: name + ".class", command: []string{"javac", "-d", "DIR", "SRC"}}
}

func goBuild(flags ...string) *program {
	command := append([]string{"go", "build", "-trimpath", "-buildvcs=false", "-o", "OUT"}, flags...)
	return &program{source: "goload/main.go", command: append(command, "SRC"), result: "goload"}
}

func script(source string) *program { return &program{source: source, result: source} }

type built struct {
	file       string
	unstripped string
}

func (p *program) build() (built, error) {
	text, err := sources.ReadFile("src/" + p.source)
	if err != nil {
		return built{}, err
	}
	key, err := p.key(text)
	if err != nil {
		return built{}, err
	}
	dir := filepath.Join(cacheDir(), key)
	markUsed(dir) // before it is looked for, as others may remove what is unused just then
	if _, err := os.Stat(filepath.Join(dir, p.result)); err != nil {
		if err := p.make(text, dir); err != nil {
			return built{}, err
		}
	}
	b := built{file: filepath.Join(dir, p.result)}
	if p.strip {
		b.unstripped = b.file
		b.file += ".stripped"
	}
	return b, nil
}

func cacheDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprint("cache-", os.Getuid()))
	}
	return filepath.Join(cache, "prywalk-test")
}

func (p *program) key(text []byte) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%v\n%s", p.source, p.command, p.strip, text)
	if len(p.command) > 0 {
		if err := hashTool(h, p.command[0]); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

func hashTool(h io.Writer, name string) error {
	tool, err := exec.LookPath(name)
	if err != nil {
		return notInstalled(name, err)
	}
	info, err := os.Stat(tool)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d %d", tool, info.Size(), info.ModTime().UnixNano())
	return nil
}

func (p *program) make(text []byte, dir string) error {
	return makeDir(dir, p.result, func(tmp string) error {
		src, out := filepath.Join(tmp, filepath.Base(p.source)), filepath.Join(tmp, p.result)
		if err := os.WriteFile(src, text, 0o644); err != nil {
			return err
		}
		return p.compile(tmp, src, out)
	})
}

// makeDir renames a new directory, so that concurrent builds are safe.
func makeDir(dir, result string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	err = os.Rename(tmp, dir)
	if _, statErr := os.Stat(filepath.Join(dir, result)); statErr == nil {
		return nil
	}
	return err
}

func (p *program) compile(dir, src, out string) error {
	var args []string
	for _, a := range p.command {
		args = append(args, strings.NewReplacer("SRC", src, "OUT", out, "DIR", dir).Replace(a))
	}
	if len(args) > 0 {
		if err := run(dir, args...); err != nil {
			return err
		}
	}
	if p.strip {
		return run(dir, "strip", "-s", "-o", out+".stripped", out)
	}
	return nil
}

func run(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := bounded.AllOutput(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// WriteExecutable starts no process meanwhile: a child with the file open for writing would make the program's exec
// fail (ETXTBSY of execve(2)).
func WriteExecutable(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755)
}
