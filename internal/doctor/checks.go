// SPDX-License-Identifier: Apache-2.0

package doctor

type condition uint8

const (
	always condition = iota
	live             // the running kernel is checked, no other root
	asked            // a target was given
	target           // its status is readable
	opened           // its code was read
	tried            // its threads may be seized
)

// check is a requirement: subject, condition, examination.
type check struct {
	subject   string
	condition condition
	run       func(*checker) []Finding
}

// checks are in the findings' order. One with nothing to report returns an empty Finding.
var checks = []check{
	{"kernel", always, single((*checker).kernel)},
	{"process_vm_readv", live, single((*checker).readMemory)},
	{"pidfd", live, single((*checker).pidfd)},
	{"/proc/PID/syscall", always, single((*checker).syscallFile)},
	{"/proc/PID/schedstat", always, single((*checker).schedstat)},
	{"hidepid", always, single((*checker).hidepid)},

	{"user", always, single((*checker).user)},
	{"capabilities", always, single((*checker).capabilities)},
	{"map_files", always, single((*checker).mapFiles)},
	{"yama", always, single((*checker).yama)},
	{"seccomp", always, single((*checker).seccomp)},
	{"container", always, single((*checker).container)},

	{"priority", always, single((*checker).priority)},
	{"cpu quota", always, single((*checker).quota)},
	{"open files", live, single((*checker).files)},
	{"perf events", live, single((*checker).perf)},

	{"process", asked, single((*checker).process)},
	{"target: state", target, single((*checker).state)},
	{"access", target, (*checker).accessChecks},
	{"target: seccomp", target, single((*checker).filter)},
	{"target: namespaces", target, single((*checker).namespaces)},
	{"target: open", target, single((*checker).open)},
	{"target: names", opened, onProgram((*program).names)},
	{"target: goroutines", opened, onProgram((*program).goroutines)},
	{"target: code", opened, onProgram((*program).code)},
	{"target: files", opened, onProgram((*program).unreadable)},
	{"target: seize", tried, single((*checker).seizes)},
	{"target: sleepers", tried, single((*checker).sleepers)},
}

func single(how func(*checker) Finding) func(*checker) []Finding {
	return func(c *checker) []Finding { return []Finding{how(c)} }
}
