// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/host/launch"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var buildTarget = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ptrace-target")
	if err != nil {
		return "", err
	}
	os.Chmod(dir, 0o755)
	bin := filepath.Join(dir, "target")
	out, err := bounded.AllOutput(exec.Command("cc", "-O1", "-g", "-pthread", "-o", bin, "testdata/target.c"))
	if err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("cc: %v\n%s", err, out)
	}
	built = bin
	return bin, nil
})

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

type target struct {
	*launch.Launched
	tid      int
	lo, hi   uint64 // bounds of its text
	in, done *os.File
	out      *bufio.Reader
}

// counts are of interrupted calls, wakeups, handled and queued signals, and the sum of the signals' values.
type counts struct{ eintr, wakeups, handled, queued, sum uint64 }

func start(t testing.TB, args ...string) *target {
	t.Helper()
	bin, err := buildTarget()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	redirect := fmt.Sprintf(`exec "$0" "$@" </proc/%[1]d/fd/%[2]d >/proc/%[1]d/fd/%[3]d`, os.Getpid(), inR.Fd(), outW.Fd())
	l, err := launch.Start(append([]string{"sh", "-c", redirect, bin}, args...))
	if err != nil {
		t.Fatal(err)
	}
	p := &target{Launched: l, in: inW, done: outR, out: bufio.NewReader(outR)}
	t.Cleanup(func() {
		p.in.Close()
		p.Signal(syscall.SIGKILL)
		p.Signal(syscall.SIGCONT)
		p.Wait()
		outR.Close()
	})
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	var pid int
	line, _ := p.line() // outW, still open here, hides the end of a target that fails
	if _, err := fmt.Sscanf(line, "ready %d %d %v %v", &pid, &p.tid, &p.lo, &p.hi); err != nil || pid != p.PID {
		t.Fatalf("target wrote %q: %v", line, err)
	}
	inR.Close()
	outW.Close()
	return p
}

func (p *target) line() (string, error) {
	p.done.SetReadDeadline(time.Now().Add(patience))
	return p.out.ReadString('\n')
}

func (p *target) counts(t testing.TB) (c counts) {
	t.Helper()
	p.in.Write([]byte("\n"))
	line, err := p.line()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &c.eintr, &c.wakeups, &c.handled, &c.queued, &c.sum); err != nil {
		t.Fatalf("target's counts %q: %v", line, err)
	}
	return c
}

func state(tid int) byte {
	var s procmem.Stat
	procmem.ReadStat(tid, &s)
	return s.State
}

func tracer(tid int) int {
	var s procmem.Status
	procmem.ReadStatus(tid, &s)
	return s.TracerPid
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	testtargets.Eventually(t, what, cond)
}

const patience = 4 * time.Minute

func soon() Moment { return Now().Add(patience) }

func (c *Controller) await(l *Attachment) {
	for !c.Poll(l) {
		nanosleep(20_000)
	}
}

func with(t testing.TB, opts Options, body func(c *Controller)) {
	t.Helper()
	Run(opts, func(c *Controller) error {
		body(c)
		return nil
	})
}
