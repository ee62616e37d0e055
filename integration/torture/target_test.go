// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

const nobody = 65534

type target struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	lines []string
	pid   int // from its line "pid", else its own
}

func start(t *testing.T, name string, args ...string) *target {
	t.Helper()
	return startAs(t, nil, name, args...)
}

func startAs(t *testing.T, attr *syscall.SysProcAttr, name string, args ...string) *target {
	t.Helper()
	p := &target{t: t, cmd: exec.Command(compile(t, name), args...)}
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid = true
	p.cmd.SysProcAttr = attr
	p.cmd.Stderr = os.Stderr
	p.cmd.Dir = "/"
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in, p.out, p.pid = in, bufio.NewReader(out), p.cmd.Process.Pid
	t.Cleanup(p.kill)
	p.awaitReady()
	return p
}

func (p *target) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// bounded ends a target that does not answer: reading its output would last for ever.
func (p *target) bounded(what string) *time.Timer {
	return time.AfterFunc(patience, func() {
		p.t.Errorf("%v %s: %s", p.cmd.Args, what, describeThreads(p.pid))
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	})
}

func (p *target) awaitReady() {
	p.t.Helper()
	defer p.bounded("is not ready").Stop()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%v ended before it printed \"ready\": %v", p.cmd.Args, err)
		}
		if line = strings.TrimSpace(line); line == "ready" {
			return
		}
		if pid, ok := strings.CutPrefix(line, "pid "); ok {
			p.pid, _ = strconv.Atoi(pid)
		}
		p.lines = append(p.lines, line)
	}
}

func (p *target) progress() int64 {
	p.t.Helper()
	defer p.bounded("does not answer").Stop()
	if _, err := p.in.Write([]byte("?")); err != nil {
		p.t.Fatalf("%v has ended: %v", p.cmd.Args, err)
	}
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%v has ended: %v", p.cmd.Args, err)
		}
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "progress "); ok {
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
	}
}

func (p *target) awaitProgress(more int64) {
	p.t.Helper()
	begin := p.progress()
	if testtargets.All() {
		time.Sleep(1500 * time.Millisecond) // for more observations; no check relies on it, and no state shows them
	}
	want := begin + more
	moved := time.Now()
	for last, now := begin, p.progress(); now < want; now = p.progress() {
		if now != last {
			last, moved = now, time.Now()
		}
		if time.Since(moved) > patience {
			p.t.Fatalf("%v stands still at progress %d, want %d: %s", p.cmd.Args, now, want, describeThreads(p.pid))
		}
		time.Sleep(10 * time.Millisecond) // between two queries of the state
	}
}

func (p *target) finish() map[string]int64 {
	p.t.Helper()
	defer p.bounded("has not ended").Stop()
	p.in.Close()
	counts := map[string]int64{}
	for {
		line, err := p.out.ReadString('\n')
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			counts[key], _ = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			break
		}
	}
	if counts["end"] != 1 {
		p.t.Fatalf("%v ended without its counts: %v", p.cmd.Args, counts)
	}
	return counts
}

func threads(pid int) []int {
	entries, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

func status(tid int, field string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "status"))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func describeThreads(pid int) string {
	var b strings.Builder
	for _, tid := range threads(pid) {
		stack, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "wchan"))
		b.WriteString(strconv.Itoa(tid) + " " + status(tid, "State") + " tracer " + status(tid, "TracerPid") +
			" in " + string(stack) + "; ")
	}
	return b.String()
}

func checkReleased(t *testing.T, pid int) {
	t.Helper()
	for _, tid := range threads(pid) {
		if tracer := status(tid, "TracerPid"); tracer != "0" && tracer != "" {
			t.Errorf("thread %d is still traced by %s", tid, tracer)
		}
		if s := status(tid, "State"); strings.HasPrefix(strings.ToUpper(s), "T") {
			t.Errorf("thread %d is still in state %s", tid, s)
		}
	}
}
