// SPDX-License-Identifier: Apache-2.0

package doctor

type when uint8

const (
	always when = iota
	live        // the running kernel is checked, no other root
	asked       // a target was given
	target      // its status is readable
	opened      // its code was read
	tried       // its threads may be seized
)

// check is a requirement: subject, condition, examination.
type check struct {
	subject string
	when    when
	how     func(*checkup) []Finding
}

// checks are in the findings' order. One with nothing to report returns an empty Finding.
var checks = []check{
	{"kernel", always, one((*checkup).kernel)},
	{"process_vm_readv", live, one((*checkup).readMemory)},
	{"pidfd", live, one((*checkup).pidfd)},
	{"/proc/PID/syscall", always, one((*checkup).syscallFile)},
	{"/proc/PID/schedstat", always, one((*checkup).schedstat)},
	{"hidepid", always, one((*checkup).hidepid)},

	{"user", always, one((*checkup).user)},
	{"capabilities", always, one((*checkup).capabilities)},
	{"map_files", always, one((*checkup).mapFiles)},
	{"yama", always, one((*checkup).yama)},
	{"seccomp", always, one((*checkup).seccomp)},
	{"container", always, one((*checkup).container)},

	{"priority", always, one((*checkup).priority)},
	{"cpu quota", always, one((*checkup).quota)},
	{"open files", live, one((*checkup).files)},
	{"perf events", live, one((*checkup).perf)},

	{"process", asked, one((*checkup).process)},
	{"target: state", target, one((*checkup).state)},
	{"access", target, (*checkup).gates},
	{"target: seccomp", target, one((*checkup).filter)},
	{"target: namespaces", target, one((*checkup).namespaces)},
	{"target: open", target, one((*checkup).open)},
	{"target: names", opened, ofProgram((*program).names)},
	{"target: goroutines", opened, ofProgram((*program).goroutines)},
	{"target: code", opened, ofProgram((*program).code)},
	{"target: files", opened, ofProgram((*program).unreadable)},
	{"target: seize", tried, one((*checkup).seizes)},
	{"target: sleepers", tried, one((*checkup).sleepers)},
}

func one(how func(*checkup) Finding) func(*checkup) []Finding {
	return func(c *checkup) []Finding { return []Finding{how(c)} }
}
