package sampler

import (
	"os"
	"strconv"
)

// timerSlack is by how much the sleeps of this process's threads may be late, in
// nanoseconds, but for the tracer's, which has its own. The Go runtime's monitor
// sleeps for 20 µs again and again while a goroutine leaves and enters system calls, as
// the controller does at every tick; with the usual slack of 50 µs it wakes up
// thousands of times a second.
const timerSlack = 4e6

// relaxTimers sets the slack of all threads of this process but the calling one. Others
// than one's own take CAP_SYS_NICE (fs/proc/base.c, timerslack_ns_write): without it
// nothing changes. Threads that are started later have that of the one that starts them.
func relaxTimers(self int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		if task.Name() == strconv.Itoa(self) {
			continue
		}
		file := "/proc/" + task.Name() + "/timerslack_ns"
		if os.WriteFile(file, []byte(strconv.Itoa(timerSlack)), 0) != nil {
			return
		}
	}
}
