// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/refusal"
	"prywalk/internal/host/procmem"
)

// StopResults counts stops of running threads.
type StopResults struct {
	Denied    int64 // refused by the kernel
	Traced    int64 // held by another tracer
	Succeeded int64
}

// ExplainFailures returns why stops of running threads failed, or nil. Another tracer may be gone.
func ExplainFailures(pids []int, r StopResults) error { return defaultProc.explainFailures(pids, r) }

func (p procRoot) explainFailures(pids []int, r StopResults) error {
	if r.Denied+r.Traced == 0 || len(pids) == 0 {
		return nil
	}
	if r.Denied > 0 {
		for _, pid := range pids {
			g, err := newGateChecker(p, pid)
			if err != nil {
				continue
			}
			if e := g.denied(unix.EPERM); e.Kind == refusal.Denied && (r.Succeeded == 0 || e.Gate != nil) {
				return e
			}
		}
	}
	if r.Traced > 0 {
		return p.heldByTracer(pids, r)
	}
	if r.Succeeded == 0 {
		return nil
	}
	return &Error{PID: pids[0], Kind: refusal.Denied,
		Cause: fmt.Sprintf("stops denied by the kernel: %d, allowed: %d", r.Denied, r.Succeeded),
		Next:  "if its children run as another user, run prywalk as root (sudo)"}
}

func (p procRoot) heldByTracer(pids []int, r StopResults) *Error {
	e := &Error{PID: pids[0], Kind: refusal.Traced,
		Next: "try again"}
	e.Cause = fmt.Sprintf("another tracer was attached, stops refused: %d; none is attached now", r.Traced)
	for _, pid := range pids {
		if by, name := p.tracerOf(pid); by != 0 {
			e.PID, e.Next = pid, "detach "+name
			e.Cause = fmt.Sprintf("%s (process %d) traces it, stops refused: %d", name, by, r.Traced)
			return e
		}
	}
	entries, _ := os.ReadDir(string(p))
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && p.isSampler(pid) {
			e.Cause = fmt.Sprintf("another prywalk (pid %d) runs, and perhaps samples it, too; stops refused: %d", pid, r.Traced)
			e.Next = "end one of them"
			break
		}
	}
	return e
}

// sampling are prywalk's commands that stop threads again and again, each only for a moment.
var sampling = []string{"record", "top", "agent"}

// isSampler reports whether another process has prywalk's name and runs such a command.
func (p procRoot) isSampler(pid int) bool {
	self, err := ReadSelf(string(p))
	if err != nil || pid == self.Tgid || p.comm(pid) != self.Name {
		return false
	}
	line, _ := os.ReadFile(p.path(pid, "cmdline"))
	args := strings.Split(string(line), "\x00")
	return len(args) > 1 && slices.Contains(sampling, args[1])
}

func (p procRoot) tracerOf(pid int) (by int, name string) {
	self, err := ReadSelf(string(p))
	if err != nil {
		return 0, ""
	}
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil || p != defaultProc {
		tids = []int{pid}
	}
	for _, tid := range tids {
		st, err := p.status(tid)
		if err != nil || st.Tracer == 0 {
			continue
		}
		t, err := p.status(st.Tracer) // Tracer is a thread id
		if err == nil && t.Tgid != self.Tgid {
			return t.Tgid, t.Name
		}
	}
	return 0, ""
}
