// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"prywalk/internal/base/refusal"

	"golang.org/x/sys/unix"
)

// Explain returns the reason of a refusal by ptrace, process_vm_readv or a file below /proc/PID as an [*Error], or err
// if it has another cause.
func Explain(pid int, err error) error { return defaultProc.explain(pid, err) }

func (p procRoot) explain(pid int, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	switch {
	case errors.As(err, &known):
		return err
	case refusal.Of(err) == refusal.NoFiles:
		return noFiles(pid, err)
	case errors.Is(err, unix.ENOSYS):
		return &Error{PID: pid, Kind: refusal.Denied, Cause: "the system call is not available here (" + err.Error() + ")",
			Next: "the kernel lacks it or a seccomp filter hides it: run prywalk outside of the sandbox", Err: err}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH), errors.Is(err, refusal.Exited):
		return gone(pid, err)
	case !IsDenied(err):
		return err
	}
	g, gerr := newGateChecker(p, pid)
	if gerr != nil {
		return gerr
	}
	if g.target.Kernel {
		return kernelThread(pid)
	}
	return g.denied(err)
}

func (g *gateChecker) denied(err error) *Error {
	for _, gate := range g.all() {
		if !gate.OK {
			kind := refusal.Denied
			if gate.Name == "tracer" {
				kind = refusal.Traced
			}
			return &Error{PID: g.pid, Kind: kind, Cause: gate.Detail, Next: gate.Next(), Err: err, Gate: &gate}
		}
	}
	e := &Error{PID: g.pid, Kind: refusal.Denied, Err: err}
	if g.self.Seccomp != 0 {
		e.Cause = "a seccomp filter on prywalk denies it"
		e.Next = g.self.SeccompRemedy()
		return e
	}
	e.Cause = "the kernel denies it, probably a security module" + g.label()
	e.Next = "search the kernel log for the denial (journalctl -k)"
	return e
}

func (g *gateChecker) label() string {
	text, err := os.ReadFile(g.proc.path(g.pid, "attr/current"))
	label := strings.Trim(string(text), "\x00\n ")
	if err != nil || label == "" || label == "unconfined" {
		return ""
	}
	return fmt.Sprintf(" (label %.100q)", label)
}

// IsDenied reports whether a right or a system call is missing.
func IsDenied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, refusal.Denied) || errors.Is(err, unix.ENOSYS)
}

func kernelThread(pid int) *Error {
	return &Error{PID: pid, Kind: refusal.KernelThread, Cause: "it is a kernel thread, which has no stack in user space",
		Next: "profile kernel threads with perf or ftrace"}
}
