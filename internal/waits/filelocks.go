// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// fileLockClasses are the kernel's classes of the locks that a call waits for.
var fileLockClasses = map[string][]string{"flock": {"FLOCK"}, "fcntl": {"POSIX", "OFDLCK"}}

// setHolder sets the process that took a file lock, by /proc/locks (proc_locks(5)), where a lock's waiters follow it:
//
//	3: FLOCK  ADVISORY  WRITE 4711 fe:00:9986111 0 EOF
//	3: -> FLOCK  ADVISORY  WRITE 4712 fe:00:9986111 0 EOF
//
// Waiters are processes: none is set if the waiting threads of one wait for the locks of several.
func (f *Files) setHolder(w *Wait) {
	const unknown = "its owner is not known"
	text, _ := os.ReadFile(f.root + "/locks")
	holder, last := 0, 0
	w.Why = unknown
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		waiter := len(fields) > 1 && fields[1] == "->"
		if waiter {
			fields = slices.Delete(fields, 1, 2)
		}
		if len(fields) < 5 {
			continue
		}
		pid, _ := strconv.Atoi(fields[4]) // −1: of an open file description, 0: of another pid namespace
		switch {
		case !waiter:
			last = pid
		case pid != f.pid || !slices.Contains(w.class, fields[1]):
		case last <= 0 || holder != 0 && holder != last:
			return
		default:
			holder = last
		}
	}
	if holder != 0 {
		w.OwnerProcess, w.Why = holder, ""
		w.OwnerName = strings.TrimSpace(f.read(holder, "comm"))
	}
}
