// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type environment struct {
	dir, src string
	python   string
	newest   string
	modules  string
	missing  map[string]string
}

var (
	packages = []string{"py-spy", "austin-dist<4", "flask", "mypy", "pytest", "trio", "numpy", "pandas"}
	uncoded  = []string{"black"}
	forNew   = []string{"flask", "black"}
)

func (s *settings) install(ctx context.Context) (*environment, error) {
	e := &environment{dir: s.dir, src: filepath.Join(s.dir, "src"), python: filepath.Join(s.dir, "venv", "bin", "python"),
		modules: filepath.Join(s.dir, "newest"), missing: map[string]string{}}
	if err := e.write(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(e.python); err != nil {
		base, err := s.base()
		if err != nil {
			return nil, err
		}
		if err := run(ctx, base, "-m", "venv", filepath.Join(s.dir, "venv")); err != nil {
			return nil, err
		}
		for _, list := range [][]string{packages, append([]string{"--no-binary", "black"}, uncoded...)} {
			if err := run(ctx, append([]string{e.python, "-m", "pip", "-q", "install"}, list...)...); err != nil {
				fmt.Fprintln(os.Stderr, "python:", err)
			}
		}
	}
	if err := e.fetchSuite(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "python:", err)
	}
	if _, err := os.Stat(s.newest); err != nil {
		fmt.Fprintf(os.Stderr, "python: no Tachyon: %v; run scripts/setup-pythons.sh\n", err)
		return e, nil
	}
	e.newest = s.newest
	if _, err := os.Stat(e.modules); err != nil {
		args := []string{e.python, "-m", "pip", "-q", "install", "--target", e.modules, "--python-version", "3.15",
			"--only-binary", ":all:"}
		if err := run(ctx, append(args, forNew...)...); err != nil {
			fmt.Fprintln(os.Stderr, "python:", err)
		}
	}
	return e, nil
}

const suite = "suite"

// fetchSuite fetches the installed Jinja's tests, which only its source distribution contains.
func (e *environment) fetchSuite(ctx context.Context) error {
	dir := filepath.Join(e.dir, suite)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	version, err := exec.CommandContext(ctx, e.python, "-c",
		"import importlib.metadata as m; print(m.version('jinja2'))").Output()
	if err != nil {
		return fmt.Errorf("jinja2: %w", err)
	}
	packed := filepath.Join(e.dir, "packed")
	if err := run(ctx, e.python, "-m", "pip", "-q", "download", "--no-deps", "--no-binary", ":all:", "-d", packed,
		"jinja2=="+string(bytes.TrimSpace(version))); err != nil {
		return err
	}
	found, _ := filepath.Glob(filepath.Join(packed, "*.tar.gz"))
	if len(found) != 1 {
		return fmt.Errorf("%d source distributions of jinja2", len(found))
	}
	return run(ctx, e.python, "-m", "tarfile", "-e", found[0], dir)
}

func (s *settings) base() (string, error) {
	if s.python != "" {
		return s.python, nil
	}
	home, _ := os.UserHomeDir()
	found, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.12*/bin/python3"))
	if len(found) > 0 {
		return found[0], nil
	}
	path, err := exec.LookPath("python3.12")
	if err != nil {
		return "", errors.New("no CPython 3.12: install it with pyenv, or name another one with -python")
	}
	return path, nil
}

func (e *environment) write() error {
	sub, err := fs.Sub(sources, "src")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(e.src); err != nil {
		return err
	}
	return os.CopyFS(e.src, sub)
}

func run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func (e *environment) interpreter(p *program) string {
	if p.newest {
		return e.newest
	}
	return e.python
}

func (e *environment) command(ctx context.Context, p *program, env ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, e.interpreter(p), filepath.Join(e.src, p.file))
	c.Dir = e.dir
	c.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE="), env...)
	if p.newest {
		c.Env = append(c.Env, "PYTHONPATH="+e.modules)
	}
	return c
}

func (e *environment) lacks(p *program) string {
	if e.interpreter(p) == "" {
		return "no interpreter of 3.15"
	}
	if p.file == "pytest_suite.py" {
		if found, _ := filepath.Glob(filepath.Join(e.dir, suite, "*", "tests")); len(found) == 0 {
			return "no tests of Jinja"
		}
	}
	for _, module := range p.need {
		c := exec.Command(e.interpreter(p), "-c", "import "+module)
		c.Env = append(os.Environ(), "PYTHONPATH="+e.modules)
		if !p.newest {
			c.Env = nil
		}
		if out, err := c.CombinedOutput(); err != nil {
			return module + ": " + lastLine(out)
		}
	}
	return ""
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

const noted = "5"

func (e *environment) edges(ctx context.Context, p *program) (known, error) {
	file := filepath.Join(e.dir, p.name+".edges")
	if _, err := os.Stat(file); err != nil {
		fmt.Fprintf(os.Stderr, "python: %s: noting who calls whom\n", p.name)
		t, err := e.start(ctx, p, "EDGES="+file, "SECONDS="+noted)
		if err != nil {
			return nil, err
		}
		t.resume()
		ended := make(chan struct{})
		go func() { _ = t.cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(time.Minute):
		}
		t.kill()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var pairs [][2]string
	if err := json.Unmarshal(text, &pairs); err != nil {
		return nil, err
	}
	k := known{}
	for _, pair := range pairs {
		k[pair] = true
	}
	return k, nil
}
