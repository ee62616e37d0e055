// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"prywalk/internal/testtargets"
)

//go:embed src
var sources embed.FS

const (
	bigSource  = "big.c"
	javaSource = "Work.java"
)

func source(name string) ([]byte, error) {
	switch name {
	case bigSource:
		return big(), nil
	case javaSource:
		return testtargets.Source(javaSource)
	}
	return sources.ReadFile("src/" + name)
}

const bigFunctions = 600

func big() []byte {
	var b bytes.Buffer
	b.WriteString("struct s { int a[9]; double d; struct s *next; };\nint other(struct s *, int);\n")
	for i := range bigFunctions {
		fmt.Fprintf(&b, `double f%[1]d(struct s *p, int n)
{
	double x = p->d;
	for (int i = 0; i < n; i++) {
		switch ((i ^ %[1]d) %% 7) {
		case 0: x += p->a[i %% 9] * %[1]d; break;
		case 1: x *= p->next ? p->next->d : i; break;
		case 2: if (other(p, i) > n) return x; break;
		default: for (int j = 0; j < 8; j++) p->a[j] += p->a[j + 1] ^ i;
		}
	}
	return x%[2]s;
}
`, i, map[bool]string{true: "", false: fmt.Sprintf(" + f%d(p, n - 1)", i-1)}[i == 0])
	}
	return b.Bytes()
}

func (p *program) missing() string {
	for _, c := range append(p.build[:len(p.build):len(p.build)], p.run, strings.Fields(p.probe())) {
		if strings.HasPrefix(c[0], "./") {
			continue
		}
		if _, err := exec.LookPath(c[0]); err != nil {
			return c[0]
		}
	}
	return ""
}

func (p *program) probe() string {
	command, loops := strings.CutPrefix(p.run[len(p.run)-1], loopBegin)
	if !loops || p.name == "go-build" {
		return "sh"
	}
	return command
}

func (p *program) start(ctx context.Context, limit time.Duration) (*testtargets.Target, error) {
	if name := p.missing(); name != "" {
		return nil, fmt.Errorf("%s is not installed; run scripts/setup-atwork.sh as root (Debian: %s)", name, p.debian)
	}
	dir, err := os.MkdirTemp("", "prywalk-atwork-")
	if err != nil {
		return nil, err
	}
	if err := p.make(ctx, dir); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return testtargets.Command(dir, limit, p.run...)
}

func (p *program) make(ctx context.Context, dir string) error {
	for _, name := range p.sources {
		text, err := source(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			return err
		}
	}
	for _, c := range p.build {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s (Debian: %s): %w: %s", strings.Join(c, " "), p.debian, err, bytes.TrimSpace(out))
		}
	}
	return nil
}
