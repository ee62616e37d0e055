// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
)

// testedKernel is 1000 × major + minor, as in docs/limits.md.
const testedKernel = 6018

// kernel: Linux 3.4 has PTRACE_SEIZE, 5.3 pidfd_open.
func (c *checker) kernel() Finding {
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
		return finding(Warn, "Linux "+release+": not tested, and the end of a process is noticed later",
			"Linux 5.3 or later is better")
	case version != testedKernel:
		return finding(OK, fmt.Sprintf("Linux %s (tested: %d.%d)", release, testedKernel/1000, testedKernel%1000), "")
	}
	return finding(OK, "Linux "+release, "")
}

func (c *checker) readMemory() Finding {
	if err := c.copyOwnByte(); err != nil {
		return finding(Warn, fmt.Sprintf("refused (%v); /proc/PID/mem is read instead, which is slower", err),
			"allow process_vm_readv in the seccomp profile that prywalk runs under")
	}
	return finding(OK, "works", "")
}

// copyOwnByte avoids package procmem, which would read in another way if refused.
func (s *system) copyOwnByte() error {
	maps, err := loadedcode.ParseMaps([]byte(s.read("self/maps")))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(maps, func(m loadedcode.MapsLine) bool { return m.Perm&loadedcode.PermRead != 0 })
	if i < 0 {
		return loadedcode.ErrMaps
	}
	var to [1]byte
	local := []unix.Iovec{{Base: &to[0]}}
	local[0].SetLen(len(to))
	_, err = unix.ProcessVMReadv(unix.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(maps[i].Start), Len: len(to)}}, 0)
	return err
}

// Without pidfd a reused PID is noticed by its start time.
func (c *checker) pidfd() Finding {
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

// Passive reads need syscallFile (CONFIG_HAVE_ARCH_TRACEHOOK).
func (c *checker) syscallFile() Finding {
	if c.read("self/syscall") == "" {
		return finding(Warn, "missing: sleeping threads cannot be read without stopping them",
			"a kernel with CONFIG_HAVE_ARCH_TRACEHOOK and no hardening that removes the file")
	}
	return finding(OK, "works", "")
}

// schedstat has the clocks and run counts (CONFIG_SCHED_INFO).
func (c *checker) schedstat() Finding {
	f := strings.Fields(c.read("self/schedstat"))
	if len(f) != 3 || f[0] == "0" && f[2] == "0" {
		return finding(Warn,
			"missing: prywalk cannot see whether a thread has run, so every sample stops its thread; no run queue times",
			"a kernel with CONFIG_SCHED_INFO (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT selects it)")
	}
	return finding(OK, "works", "")
}

// hidepid: Documentation/filesystems/proc.rst, chapter 4; fs/proc/base.c, has_pid_permissions.
func (c *checker) hidepid() Finding {
	mode, group := c.hiding()
	byGroup := mode != "4" && mode != "ptraceable" && c.self.InGroup(group)
	if mode == "0" || mode == "off" || byGroup || c.self.Has(unix.CAP_SYS_PTRACE) {
		return finding(OK, "/proc shows all processes", "")
	}
	return c.granting(finding(Warn, "/proc shows this user its own processes only (hidepid="+mode+")", ""),
		1<<unix.CAP_SYS_PTRACE)
}

// hiding returns hidepid and gid of the uppermost mount on /proc; the kernel leaves out "0".
func (s *system) hiding() (mode string, group int) {
	mode = "0"
	for line := range strings.Lines(s.read("self/mountinfo")) {
		head, tail, _ := strings.Cut(line, " - ")
		mount, source := strings.Fields(head), strings.Fields(tail)
		if len(mount) < 5 || mount[4] != "/proc" || len(source) < 3 || source[0] != "proc" {
			continue
		}
		mode, group = "0", 0
		for option := range strings.SplitSeq(source[2], ",") {
			switch key, value, _ := strings.Cut(option, "="); key {
			case "hidepid":
				mode = value
			case "gid":
				group, _ = strconv.Atoi(value)
			}
		}
	}
	return mode, group
}
