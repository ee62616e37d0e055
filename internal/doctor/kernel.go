// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/code"
)

// kernel: Linux 3.4 has PTRACE_SEIZE, 5.3 pidfd_open.
func (c *checkup) kernel() Finding {
	release := strings.TrimSpace(c.read("sys/kernel/osrelease"))
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 {
		return finding(Warn, fmt.Sprintf("unknown version %q", release), "")
	}
	version := major*1000 + minor
	switch {
	case version < 3004:
		return finding(Fail, "Linux "+release+" cannot seize threads", "Linux 3.4 or later is needed")
	case version < 5003:
		return finding(Warn, "Linux "+release+": works, but is not tested", "Linux 5.3 or later is better")
	}
	return finding(OK, "Linux "+release, "")
}

// readMemory tries process_vm_readv on prywalk itself.
func (c *checkup) readMemory() Finding {
	if err := c.copyOwnByte(); err != nil {
		return finding(Warn, fmt.Sprintf("refused (%v); /proc/PID/mem is read instead, which is slower", err),
			"allow process_vm_readv in the seccomp profile that prywalk runs under")
	}
	return finding(OK, "works", "")
}

// copyOwnByte does not use package procmem, which would read in another way if refused.
func (c *checkup) copyOwnByte() error {
	maps, err := code.ParseMaps([]byte(c.read("self/maps")))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(maps, func(m code.Mapping) bool { return m.Perm&code.PermRead != 0 })
	if i < 0 {
		return code.ErrMaps
	}
	var to [1]byte
	local := []unix.Iovec{{Base: &to[0]}}
	local[0].SetLen(len(to))
	_, err = unix.ProcessVMReadv(unix.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(maps[i].Start), Len: len(to)}}, 0)
	return err
}

// pidfd: without it a reused process ID is noticed by its start time.
func (c *checkup) pidfd() Finding {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return finding(Warn, fmt.Sprintf("not available (%v); the end of a process is noticed later", err),
			"Linux 5.3 or later, without a seccomp filter on pidfd_open")
	}
	if err := unix.Close(fd); err != nil {
		return finding(Warn, err.Error(), "")
	}
	return finding(OK, "works", "")
}

// syscallFile: passive reads need it (CONFIG_HAVE_ARCH_TRACEHOOK).
func (c *checkup) syscallFile() Finding {
	if c.read("self/syscall") == "" {
		return finding(Warn, "missing: sleeping threads cannot be read without stopping them",
			"a kernel with CONFIG_HAVE_ARCH_TRACEHOOK and no hardening that removes the file")
	}
	return finding(OK, "works", "")
}

// schedstat has the clocks and run counts (CONFIG_SCHED_INFO).
func (c *checkup) schedstat() Finding {
	f := strings.Fields(c.read("self/schedstat"))
	if len(f) != 3 || f[0] == "0" && f[2] == "0" {
		return finding(Warn,
			"missing: prywalk cannot see whether a thread has run, so every sample stops its thread; no run queue times",
			"a kernel with CONFIG_SCHED_INFO (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT selects it)")
	}
	return finding(OK, "works", "")
}

// hidepid: Documentation/filesystems/proc.rst, chapter 4.
func (c *checkup) hidepid() Finding {
	for line := range strings.Lines(c.read("self/mountinfo")) {
		head, tail, ok := strings.Cut(line, " - ")
		f := strings.Fields(head)
		if !ok || len(f) < 5 || f[4] != "/proc" || !strings.HasPrefix(tail, "proc ") {
			continue
		}
		_, opt, hidden := strings.Cut(tail, "hidepid=")
		opt, _, _ = strings.Cut(opt, ",")
		opt = strings.TrimSpace(opt)
		if !hidden || opt == "0" || opt == "off" || c.root() {
			continue
		}
		found := finding(Warn, "/proc shows this user its own processes only (hidepid="+opt+")",
			"run prywalk as the target's user")
		found.Command = "sudo mount -o remount,hidepid=0 /proc"
		return found
	}
	return finding(OK, "/proc shows all processes", "")
}
