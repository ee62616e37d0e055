// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

const seccompVariable = "PRYWALK_TEST_WITHOUT_PTRACE"

// withoutPerfVariable, if set too, forbids perf events instead; "kill" or "kill thread" kills the caller.
const withoutPerfVariable = "PRYWALK_TEST_WITHOUT_PERF"

// The filter is like a container engine's: ptrace and process_vm_readv, or perf_event_open, fail with EPERM.
func execWithoutPtrace() {
	forbidden := [2]uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV}
	if os.Getenv(withoutPerfVariable) != "" {
		forbidden = [2]uint32{unix.SYS_PERF_EVENT_OPEN, unix.SYS_PERF_EVENT_OPEN}
	}
	action := unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	switch os.Getenv(withoutPerfVariable) {
	case "kill":
		action = unix.SECCOMP_RET_KILL_PROCESS
	case "kill thread":
		action = unix.SECCOMP_RET_KILL_THREAD
	}
	runtime.LockOSThread() // the filter applies to this thread, and exec keeps it
	fail := func(what string, err error) {
		fmt.Fprintln(os.Stderr, what, err)
		os.Exit(99)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fail("no_new_privs:", err)
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: forbidden[0], Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: forbidden[1], Jf: 1},
		{Code: unix.BPF_RET, K: action},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		fail("seccomp:", err)
	}
	exe := os.Getenv(seccompVariable)
	fail("exec:", syscall.Exec(exe, append([]string{exe}, os.Args[1:]...), os.Environ()))
}

func TestPtraceForbiddenBySeccompIsNamed(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := command{
		exe:  self,
		env:  []string{seccompVariable + "=" + binary},
		args: []string{"record", "--engine", "ptrace", "-d", "1", "-p", pidList(target.PIDs())},
	}.run(t)
	// Sleeping threads can be read passively where /proc/PID/mem is readable; running threads cannot be sampled.
	if r.code != 3 && r.code != 0 {
		t.Errorf("exit code %d, want 0 or 3", r.code)
	}
	if !strings.Contains(r.stderr, "seccomp") {
		t.Errorf("no word of seccomp on standard error: %q", r.stderr)
	}
}
