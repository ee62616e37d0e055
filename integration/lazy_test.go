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
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// lazy is a program whose memory behind a stack, or with a stack in it, is provided by a thread of its own
// (userfaultfd(2)). That counts what it is asked for.
type lazy struct {
	pid  int
	in   io.Writer
	says *bufio.Reader
}

func startLazy(t *testing.T, mode string) *lazy {
	t.Helper()
	needRoot(t) // the kernel's own reads raise userfaults only where the program may serve the kernel
	exe, err := testtargets.Compile("lazy.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, mode)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	return &lazy{cmd.Process.Pid, in, says}
}

func (l *lazy) asked(t *testing.T) int {
	t.Helper()
	fmt.Fprintln(l.in)
	line, err := l.says.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNoSampleReadsMemoryThatTheTargetProvides: a copy of the stack that went on behind its mapping, or through pages
// that were never touched, had 63 pages provided in one dump. Where the thread that provides them was stopped too, both
// stood still, and prywalk with them, beyond -d: what did not end is killed, with exit code 137.
func TestNoSampleReadsMemoryThatTheTargetProvides(t *testing.T) {
	for _, mode := range []string{"running", "sleeping", "inside", "withheld"} {
		l := startLazy(t, mode)
		pid, file := strconv.Itoa(l.pid), filepath.Join(t.TempDir(), "x.pb.gz")
		for _, args := range [][]string{
			{"dump", "-p", pid},
			{"dump", "--atomic", "-p", pid},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid, "--rung", "freeze"},
			{"record", "-d", "1", "-F", "499", "-o", file, "-p", pid, "--rung", "no-reuse"},
		} {
			before := l.asked(t)
			r := command{args: args}.start(t)
			kill := time.AfterFunc(time.Minute, func() { r.signal(9) })
			res := r.wait()
			kill.Stop()
			res.must(t, 0)
			if after := l.asked(t); after != before {
				t.Errorf("%s: %v: %d pages were asked for", mode, args[:2], after-before)
			}
			if args[0] == "dump" && mode != "inside" && !strings.Contains(res.stdout, "worker") {
				t.Errorf("%s: %v does not show the worker's stack:\n%s", mode, args, res.stdout)
			}
		}
	}
}
