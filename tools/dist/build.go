// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

type program struct{ arch, path string }

func (r *release) build(arch string) (program, error) {
	p := program{arch, filepath.Join(r.work, "prywalk-"+arch)}
	return p, r.goBuild(arch, p.path)
}

// goBuild keeps the symbol table: by it a command is launched with the signals that prywalk was started with.
func (r *release) goBuild(arch, out string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-w -buildid= -X main.built=" + r.version, "-o", out}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/prywalk")...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building for %s: %w\n%s", arch, err, text)
	}
	return nil
}

// agentUnit is not enabled, and packages for hosts without systemd lack it.
const agentUnit = "/usr/lib/systemd/system/prywalk-agent.service"

type file struct {
	path, source string
	mode         os.FileMode
}

// sharedFiles are those of each architecture.
func (r *release) sharedFiles(notices []file) ([]file, error) {
	host := filepath.Join(r.work, "prywalk-host")
	if err := r.goBuild(runtime.GOARCH, host, "-tags", "man"); err != nil {
		return nil, err
	}
	files, err := r.manPages(host)
	if err != nil {
		return nil, err
	}
	for shell, path := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/prywalk",
		"fish": "/usr/share/fish/vendor_completions.d/prywalk.fish",
		"zsh":  "/usr/share/zsh/vendor-completions/_prywalk",
	} {
		script, err := exec.Command(host, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
		f, err := r.made("completion."+shell, script, path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	unit := file{agentUnit, filepath.Join(r.root, "docs/deploy/prywalk-agent.service"), 0o644}
	return append(append(files, notices...), unit), nil
}

func (r *release) manPages(host string) ([]file, error) {
	dir := filepath.Join(r.work, "man")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(host, "man", dir)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("writing the manual pages: %w\n%s", err, text)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages were written (%v)", err)
	}
	var files []file
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(page) + ".gz"
		f, err := r.made(name, compress(text), "/usr/share/man/man1/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// notices are the licences, and the pages that a user reads first.
func (r *release) notices() ([]file, error) {
	var files []file
	for source, name := range map[string]string{
		"LICENSE": "copyright", "THIRD_PARTY.md": "", "README.md": "", "CHANGELOG.md": "", "SECURITY.md": "",
	} {
		if name == "" {
			name = source
		}
		files = append(files, file{"/usr/share/doc/prywalk/" + name, filepath.Join(r.root, source), 0o644})
	}
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	var texts strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&texts, "==== %s %s (%s)\n\n%s\n", m.path, m.version, m.licence, m.text)
	}
	f, err := r.made("licences.txt", []byte(texts.String()), "/usr/share/doc/prywalk/THIRD_PARTY_LICENSES.txt")
	return append(files, f), err
}

func (r *release) made(name string, content []byte, path string) (file, error) {
	source := filepath.Join(r.work, name)
	return file{path, source, 0o644}, os.WriteFile(source, content, 0o644)
}
