// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"prywalk/internal/testtargets"
)

//go:embed c/target.c c/walker.c
var sources embed.FS

type bench struct {
	*settings
	dir     string
	prywalk string
	target  string
	walker  string
}

func newBench(s *settings) (*bench, error) {
	dir, err := os.MkdirTemp("", "prywalk-ladder-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir, prywalk: filepath.Join(dir, "prywalk")}
	if err := b.build(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

func (b *bench) build() (err error) {
	if b.target, err = b.compile("target", "-pthread"); err != nil {
		return err
	}
	if b.walker, err = b.compile("walker"); err != nil {
		return err
	}
	if b.Binary != "" {
		b.prywalk, err = filepath.Abs(b.Binary)
		return err
	}
	return testtargets.BuildPrywalk(b.prywalk)
}

func (b *bench) compile(name string, flags ...string) (string, error) {
	text, err := sources.ReadFile("c/" + name + ".c")
	if err != nil {
		return "", err
	}
	source, result := filepath.Join(b.dir, name+".c"), filepath.Join(b.dir, name)
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return "", err
	}
	return result, output(exec.Command("cc", append(flags, "-O2", "-Wall", "-o", result, source)...))
}

func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
