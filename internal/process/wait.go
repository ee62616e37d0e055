// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"

	"prywalk/frames"
)

// WaitLabel says in a word what a thread that is off the processor waits for. state is its letter from
// /proc/PID/stat, nr the number of the system call that it is in (procmem.SyscallInfo; −1 for none or not known).
// wchan is the text of its wchan file (empty when it cannot be read). A sleeper in a system call is labelled with
// the call's name. One that sleeps elsewhere, in a page fault for example, with the kernel function that it sleeps
// in; a stopped one with "stopped". The label is empty when nothing is known, and for a thread that runs.
func WaitLabel(arch frames.Arch, state byte, nr int64, wchan []byte) string {
	switch state {
	case 'T':
		return "stopped"
	case 't':
		return "traced"
	case 'R', 'Z', 'X':
		return ""
	}
	if nr >= 0 {
		return SyscallName(arch, nr)
	}
	return kernelReason(wchan)
}

// kernelReason turns a wchan text into a label: "0" says nothing, and what lies on
// the way from any page fault is called by that name.
func kernelReason(wchan []byte) string {
	s := strings.TrimSpace(string(wchan))
	switch {
	case s == "" || s == "0":
		return ""
	case strings.HasPrefix(s, "folio_wait"), strings.HasPrefix(s, "wait_on_page"),
		s == "__lock_page_or_retry", s == "__folio_lock_or_retry":
		return "page fault"
	case s == "handle_userfault":
		return "userfault"
	case s == "__refrigerator" || s == "do_freezer_trap":
		return "frozen"
	}
	return s
}
