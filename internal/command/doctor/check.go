// SPDX-License-Identifier: Apache-2.0

// Package doctor checks what the kernel, the user's rights and a target permit, and names the smallest remedy for what
// is missing. The checks are a table; package process has the kernel's rules of access. Nothing is changed:
// what has no effect is tried, the rest is read from /proc.
package doctor

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
)

// Subject is what is checked: this machine, and perhaps a process.
type Subject struct {
	// Root is the file system's root, "" for "/". With another nothing is tried on the running kernel.
	Root string
	// PID is a target, or 0.
	PID int
	// MayAsk returns why perf_event_open must not be called, or nil if it may.
	MayAsk func() error

	seize func(pid int) error
}

type checker struct {
	subject Subject
	system  system
	target  *process.Status // nil means none, or unreadable
	// refused: a check failed on which later ones of the target depend.
	refused       bool
	opened        *loadedcode.Process
	kernelSamples bool
	findings      []Finding
	// usefulCaps are capabilities without which prywalk works, but worse: only the commands of other findings grant them.
	usefulCaps uint64
}

// Check returns findings in the report's order.
func (s Subject) Check() []Finding {
	c := &checker{subject: s, system: system{dir: cmp.Or(s.Root, "/"), live: s.Root == "" || s.Root == "/"}}
	if c.subject.seize == nil {
		c.subject.seize = seize
	}
	var err error
	if c.system.self, err = process.ReadSelf(c.system.proc()); err != nil {
		f := finding(Fail, err.Error(), "mount it")
		f.Name, f.Command = "proc", "mount -t proc proc /proc"
		return []Finding{f}
	}
	for i := range checks {
		if k := &checks[i]; k.applies(c) {
			c.add(k.run(c), k.subject)
		}
	}
	if c.opened != nil {
		c.opened.Close()
	}
	c.nameCommands()
	return c.findings
}

// add leaves out an empty finding, and a failure that is reported already. subject names a finding without a name.
func (c *checker) add(f Finding, subject string) {
	isReported := func(other Finding) bool { return other.Level == Fail && other.Detail == f.Detail }
	if f.Detail == "" || f.Level == Fail && slices.ContainsFunc(c.findings, isReported) {
		return
	}
	f.Name = cmp.Or(f.Name, subject)
	c.findings = append(c.findings, f)
}

type system struct {
	dir  string
	live bool // the running kernel may be tried
	self *process.Status
}

func (s *system) proc() string { return filepath.Join(s.dir, "proc") }

func (s *system) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.proc(), name))
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *system) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// root may be a container's.
func (s *system) root() bool { return s.self.UID[1] == 0 }

func always(*checker) bool { return true }

func live(c *checker) bool { return c.system.live }

func asked(c *checker) bool { return c.subject.PID != 0 }

// targetReadable reports whether the target's status is readable, and no check failed on which later ones depend.
func targetReadable(c *checker) bool { return c.target != nil && !c.refused }

func opened(c *checker) bool { return c.opened != nil }

// tried reports whether the target's threads may be seized, which stops nothing.
func tried(c *checker) bool { return targetReadable(c) && c.system.live }

type check struct {
	subject string
	applies func(*checker) bool
	run     func(*checker) Finding
}

// checks are in the findings' order. A check with nothing to report returns an empty Finding.
var checks = []check{
	{"kernel", always, (*checker).kernel},
	{"process_vm_readv", live, feature((*system).readMemory, "/proc/PID/mem is read instead, which is slower",
		"in a container --cap-add=SYS_PTRACE, else allow process_vm_readv in the seccomp profile that prywalk runs under")},
	{"pidfd", live, feature((*system).pidfd, "the end of a process is noticed later",
		"Linux 5.3 or later, without a seccomp filter on pidfd_open")},
	{"/proc/PID/syscall", always, feature((*system).syscallFile, "sleeping threads cannot be read without stopping them",
		"a kernel with CONFIG_HAVE_ARCH_TRACEHOOK and no hardening that removes the file")},
	{"/proc/PID/schedstat", always, feature((*system).schedstat,
		"prywalk cannot see whether a thread has run, so every sample stops its thread; no run queue times",
		"a kernel with CONFIG_SCHED_INFO (CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT selects it)")},
	{"hidepid", always, (*checker).hidepid},

	{"user", always, (*checker).user},
	{"capabilities", always, (*checker).capabilities},
	{"map_files", always, (*checker).mapFiles},
	{"yama", always, (*checker).yama},
	{seccompCheck, always, (*checker).ownSeccomp},
	{"container", always, (*checker).container},

	{"priority", always, (*checker).priority},
	{"own cpu quota", always, (*checker).quota},
	{"open files", live, (*checker).files},
	{"perf events", live, (*checker).perf},

	{"process", asked, (*checker).process},
	{"target: state", targetReadable, (*checker).state},
	{"target: cpu quota", targetReadable, (*checker).targetQuota},
	{"access", targetReadable, (*checker).access},
	{"target: seccomp", targetReadable, (*checker).targetSeccomp},
	{"target: namespaces", targetReadable, (*checker).namespaces},
	{"target: open", targetReadable, (*checker).open},
	{"target: names", opened, (*checker).names},
	{"target: code", opened, (*checker).code},
	{"target: engine", opened, (*checker).engine},
	{"target: files", opened, (*checker).unreadable},
	{"target: seize", tried, (*checker).seizes},
	{"target: sleepers", tried, (*checker).sleepers},
}
