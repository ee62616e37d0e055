// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/watch/target"
)

func nodes(t *testing.T) map[string]string {
	t.Helper()
	return releases(t, "/usr/local/lib/node-releases", os.Getenv("NODE_RELEASES"))
}

// The system's Node and those of NODE_RELEASES, for long tests.
func chosen(t *testing.T) map[string]string {
	t.Helper()
	return releases(t, os.Getenv("NODE_RELEASES"))
}

func releases(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "*/bin/node"))
		for _, exe := range found {
			all[filepath.Base(filepath.Dir(filepath.Dir(exe)))] = exe
		}
	}
	exe := testtargets.NeedProgram(t, "node")
	if !testtargets.All() { // one release
		clear(all)
	}
	all["system"] = exe
	return all
}

func start(t *testing.T, exe, script string, flags ...string) int {
	t.Helper()
	pid, _ := startSaying(t, exe, script, flags...)
	return pid
}

func startSaying(t *testing.T, exe, script string, flags ...string) (pid int, says *bufio.Reader) {
	t.Helper()
	text, err := testtargets.Source(script)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), script)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	i := len(flags)
	if i > 0 && !strings.HasPrefix(flags[i-1], "--") { // its argument
		i--
	}
	args := slices.Concat(flags[:i], []string{file}, flags[i:])
	cmd := exec.Command(exe, args...)
	says = testtargets.Ready(t, cmd)
	return cmd.Process.Pid, says
}

func record(t *testing.T, pid int, samples int64, o target.SamplingOptions) *pprof.Profile {
	t.Helper()
	return observed.Record(t, pid, observed.Recording{Options: o, Stops: samples})
}

type call struct {
	name, file, typ string
	line, start     int
	inlined         bool
}

func calls(s *pprof.Sample) (out []call) {
	for _, l := range s.Location {
		if l.Mapping != nil && l.Mapping.File == unnamed { // the code has gone
			out = append(out, call{name: unnamed})
		}
		if l.Mapping == nil || !strings.HasPrefix(l.Mapping.File, "[Node ") {
			continue
		}
		for i, ln := range l.Line {
			f := ln.Function
			out = append(out, call{f.Name, filepath.Base(f.Filename), profile.FrameType(f.Name, f.SystemName), int(ln.Line),
				int(f.StartLine), i < len(l.Line)-1})
		}
	}
	return out
}

func (c call) lost() bool { return c.name == "[moved]" || c.name == "[freed]" || c.name == unnamed }

const unnamed = "[anon]"

func (c call) String() string { return fmt.Sprintf("%s:%d/%s", c.name, c.line, c.typ) }

func takes(exe string, flags []string) bool {
	return bounded.Run(exec.Command(exe, append(flags[:len(flags):len(flags)], "-e", "0")...)) == nil
}

func (c call) place() string { return fmt.Sprintf("%s:%d", c.name, c.line) }
