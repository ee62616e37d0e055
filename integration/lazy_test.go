// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// One of lazy's threads provides memory at or behind a stack (userfaultfd(2)).
type lazy struct {
	pid int
	in  io.Writer
	out *bufio.Reader
}

func startLazy(t *testing.T, mode string) *lazy {
	t.Helper()
	needRoot(t, "catch page faults of the kernel (userfaultfd)")
	exe, err := testtargets.Compile("lazy.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := testtargets.Ready(t, cmd)
	return &lazy{cmd.Process.Pid, in, out}
}

func (l *lazy) pagesProvided(t *testing.T) int {
	t.Helper()
	hung := time.AfterFunc(patience, func() { _ = syscall.Kill(l.pid, syscall.SIGKILL) })
	defer hung.Stop()
	fmt.Fprintln(l.in)
	line, err := l.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Reading pages that were never touched makes the target provide them. Where the providing thread is stopped, too,
// prywalk would hang beyond -d.
func TestNoSampleReadsMemoryThatTheTargetProvides(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"running", "sleeping", "inside", "withheld"} {
		l := startLazy(t, mode)
		pid, file := strconv.Itoa(l.pid), filepath.Join(t.TempDir(), "x.pb.gz")
		for _, args := range [][]string{
			{"dump", "-p", pid},
			{"dump", "--atomic", "-p", pid},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid, "--rung", "stop"},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid, "--rung", "no-reuse"},
		} {
			before := l.pagesProvided(t)
			r := command{args: args}.start(t)
			kill := time.AfterFunc(time.Minute, func() { r.signal(9) })
			res := r.wait()
			kill.Stop()
			res.must(t, 0)
			if after := l.pagesProvided(t); after != before {
				t.Errorf("%s: %v: prywalk made the target provide %d pages, want 0", mode, args[:2], after-before)
			}
			if args[0] == "dump" && mode != "inside" && !strings.Contains(res.stdout, "worker") {
				t.Errorf("%s: %v has no thread worker:\n%s", mode, args, res.stdout)
			}
		}
	}
}
