// SPDX-License-Identifier: Apache-2.0

package doctor

func always(*checker) bool { return true }

func live(c *checker) bool { return c.live }

func asked(c *checker) bool { return c.PID != 0 }

// targetReadable reports whether the target's status is readable, and no check failed on which later ones depend.
func targetReadable(c *checker) bool { return c.target != nil && !c.refused }

func opened(c *checker) bool { return c.opened != nil }

// tried reports whether the target's threads may be seized, which stops nothing.
func tried(c *checker) bool { return targetReadable(c) && c.live }

type check struct {
	subject string
	applies func(*checker) bool
	run     func(*checker) Finding
}

// checks are in the findings' order. A check with nothing to report returns an empty Finding.
var checks = []check{
	{"kernel", always, (*checker).kernel},
	{"process_vm_readv", live, feature((*system).readMemory, "/proc/PID/mem is read instead, which is slower",
		"allow process_vm_readv in the seccomp profile that prywalk runs under")},
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
	{"cpu quota", always, (*checker).quota},
	{"open files", live, (*checker).files},
	{"perf events", live, (*checker).perf},

	{"process", asked, (*checker).process},
	{"target: state", targetReadable, (*checker).state},
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
