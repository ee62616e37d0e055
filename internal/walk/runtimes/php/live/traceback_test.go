// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
)

func startSleeping(t *testing.T, php interpreter) (pid int, calls []string) {
	t.Helper()
	cmd := exec.Command(php.command[0], append(php.command[1:len(php.command):len(php.command)],
		filepath.Join("testdata", "chain.php"), "600", "600000000")...)
	says := testtargets.Ready(t, cmd)
	for {
		line, err := says.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "end\n" {
			break
		}
		calls = append(calls, strings.TrimSuffix(line, "\n"))
	}
	testtargets.Asleep(t, cmd.Process.Pid)
	return cmd.Process.Pid, calls[1:]
}

// asPHP returns a stack as PHP shows it: with the caller's line, include, require and eval as functions, and no script.
func asPHP(list []*stacks.Frame) (calls []string) {
	for i, f := range list[1:] {
		n := f.Function
		switch {
		case strings.HasSuffix(n, "eval()'d code"):
			n = "eval"
		case n == "included.php":
			n = "include"
		case n == "chain.php", n == "sleepers.php":
			continue
		}
		line := 0
		if i+2 < len(list) {
			line = list[i+2].Line
		}
		calls = append(calls, fmt.Sprintf("%s %d", n, line))
	}
	return calls
}

func TestSleepersHaveTheTracebackOfPHP(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			pid, want := startSleeping(t, php)
			for _, how := range []string{"dump", "atomic", "core"} {
				th := sampleHow(t, how, pid)
				list := managedFrames(th)
				if !th.Complete || len(list) < 2 {
					t.Fatalf("%s: %d frames\n%s", how, len(list), text(th))
				}
				if got := asPHP(list); !slices.Equal(got, want) {
					t.Errorf("%s:\n%s\nPHP:\n%s", how, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

func sampleHow(t *testing.T, how string, pid int) *stacks.Thread {
	t.Helper()
	var d *stacks.Process
	if how == "core" {
		d = observed.DumpCore(t, pid)
	} else {
		p, err := loadedcode.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if d, err = dump.Sample(p, dump.Options{MaxDepth: -1, Atomic: how == "atomic"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range d.Threads {
		if d.Threads[i].TID == pid {
			return &d.Threads[i]
		}
	}
	t.Fatalf("no main thread; not sampled: %v", d.Failed)
	return nil
}
