// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed peers
var sources embed.FS

type peer struct {
	name         string
	binary       string
	passes, cold int
}

func buildPeers(dir string) ([]peer, error) {
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	src := filepath.Join(dir, "peers")
	var out []peer
	try := func(p peer, work string, command ...string) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = work
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "left out: %s: %v\n%s\n", p.name, err, lastLines(text))
			return
		}
		out = append(out, p)
	}
	try(peer{"framehop", filepath.Join(src, "framehop/target/release/framehop-peer"), 100, 5},
		filepath.Join(src, "framehop"),
		"cargo", "build", "--release", "--locked", "--quiet")
	try(peer{"libunwind", filepath.Join(src, "libunwind"), 4, 2}, src,
		"gcc", "-O2", "-o", "libunwind", "libunwind.c", "-lunwind-x86_64", "-lunwind")
	try(peer{"elfutils", filepath.Join(src, "elfutils"), 4, 2}, src,
		"gcc", "-O2", "-o", "elfutils", "elfutils.c", "-ldw", "-lelf")
	return out, nil
}

func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

func (p *peer) run(file string) (result, error) {
	var r result
	cmd := exec.Command(p.binary, file, strconv.Itoa(p.passes), strconv.Itoa(p.cold))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s on %s: %w", p.name, filepath.Base(file), err)
	}
	return r, nil
}
