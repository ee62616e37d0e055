// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
)

// Explain returns the reason of a refusal by ptrace, process_vm_readv or a file below /proc/PID as an [*Error], or err
// if it has another cause.
func Explain(pid int, err error) error { return defaultProc.explain(pid, err) }

func (p procRoot) explain(pid int, err error) error {
	if err == nil {
		return nil
	}
	switch _, known := errors.AsType[*Error](err); {
	case known:
		return err
	case errors.Is(err, unix.ENOSYS):
		return &Error{PID: pid, Kind: errs.Denied, Cause: "the system call is not available here (" + err.Error() + ")",
			Next: "the kernel lacks it or a seccomp filter hides it: run prywalk outside of the sandbox", Err: err}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH), errors.Is(err, errs.Exited),
		errs.Of(err) == errs.NoFiles:
		return gone(pid, err)
	case !IsDenied(err):
		return err
	}
	g, gerr := newGateChecker(p, pid)
	if gerr != nil {
		return gerr
	}
	if g.target.KernelThread {
		return kernelThread(pid)
	}
	return g.denied(err)
}

func (g *gateChecker) denied(err error) *Error {
	for _, gate := range g.all() {
		if !gate.OK {
			kind := errs.Denied
			if gate.Name == "tracer" {
				kind = errs.Traced
			}
			return &Error{PID: g.pid, Kind: kind, Cause: gate.Detail, Next: gate.Next(), Err: err, Gate: &gate}
		}
	}
	e := &Error{PID: g.pid, Kind: errs.Denied, Cause: "the kernel denies it, probably a security module",
		Next: "search the kernel log for the denial (journalctl -k)", Err: err}
	own, its := g.proc.label("self"), g.proc.label(strconv.Itoa(g.pid))
	switch profile, confined := strings.CutSuffix(own, " (enforce)"); {
	case g.self.Seccomp != 0 && !errors.Is(err, unix.EACCES): // filters of containers give EPERM, AppArmor EACCES
		e.Cause, e.Next = "a seccomp filter on prywalk denies it", g.self.SeccompRemedy()
	case confined && own != its && errors.Is(err, unix.EACCES):
		e.Cause = fmt.Sprintf("AppArmor denies it to prywalk's profile %.100q", profile)
		e.Next = "in a container, give --security-opt apparmor=unconfined (Docker, Podman), or " +
			"appArmorProfile: {type: Unconfined} in the securityContext (Kubernetes)"
	case its != "" && its != "unconfined":
		e.Cause += fmt.Sprintf(" (label %.100q)", its)
	}
	return e
}

// label is that of a security module (proc_pid_attr(5)), or "".
func (p procRoot) label(dir string) string {
	text, _ := os.ReadFile(filepath.Join(string(p), dir, "attr/current"))
	return strings.Trim(string(text), "\x00\n ")
}

// IsDenied reports whether a right or a system call is missing.
func IsDenied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, errs.Denied) || errors.Is(err, unix.ENOSYS)
}

func kernelThread(pid int) *Error {
	return &Error{PID: pid, Kind: errs.KernelThread, Cause: "it is a kernel thread, which has no stack in user space",
		Next: "profile kernel threads with perf or ftrace"}
}

// Error is why a process cannot be sampled, with the next step.
type Error struct {
	PID   int
	Kind  errs.Reason
	Cause string
	Next  string // smallest step that helps, or ""
	Err   error  // the kernel's error, or nil
	Gate  *Gate  // the failed check; nil if it is inferred
}

// Error returns cause and next step in one line.
func (e *Error) Error() string {
	if e.Next == "" {
		return fmt.Sprintf("process %d: %s", e.PID, e.Cause)
	}
	return fmt.Sprintf("process %d: %s; %s", e.PID, e.Cause, e.Next)
}

// Unwrap returns the reason, for [errors.Is], and the kernel's error.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

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
			if e := g.denied(unix.EPERM); e.Kind == errs.Denied && (r.Succeeded == 0 || e.Gate != nil) {
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
	return &Error{PID: pids[0], Kind: errs.Denied,
		Cause: fmt.Sprintf("stops denied by the kernel: %d, allowed: %d", r.Denied, r.Succeeded),
		Next:  "if its children run as another user, run prywalk as root (sudo)"}
}

func (p procRoot) heldByTracer(pids []int, r StopResults) *Error {
	e := &Error{PID: pids[0], Kind: errs.Traced, Next: "try again",
		Cause: fmt.Sprintf("another tracer was attached, stops refused: %d; none is attached now", r.Traced)}
	for _, pid := range pids {
		if by, name := p.tracerOf(pid); by != 0 {
			if e.PID, e.Next = pid, "detach "+name; p.isSampler(by) {
				e.Next = "end one of them"
			}
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
		if err != nil || st.TracerPid == 0 {
			continue
		}
		t, err := p.status(st.TracerPid) // Tracer is a thread id
		if err == nil && t.Tgid != self.Tgid {
			return t.Tgid, t.Name
		}
	}
	return 0, ""
}
