// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"strconv"
	"strings"
)

var fileLockClasses = map[string][]string{"flock": {"FLOCK"}, "fcntl": {"POSIX", "OFDLCK"}}

func (f *OpenFiles) setFileLockOwner(w *Wait) {
	pid := fileLockOwner(f.read(f.root+"/locks"), f.pid, w.lockClasses)
	if pid == 0 {
		w.Why = "its owner is not known"
		return
	}
	w.OwnerProcess, w.OwnerName = pid, strings.TrimSpace(f.read(f.path(pid, "comm")))
}

// fileLockOwner parses /proc/locks (proc_locks(5)), where waiters follow the lock:
//
//	3: FLOCK  ADVISORY  WRITE 4711 fe:00:9986111 0 EOF
//	3: -> FLOCK  ADVISORY  WRITE 4712 fe:00:9986111 0 EOF
//
// Waiters are processes: it returns 0 if the waiter's threads wait for several owners.
func fileLockOwner(text string, waiter int, classes []string) (pid int) {
	last := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		waits := len(fields) > 1 && fields[1] == "->"
		if waits {
			fields = slices.Delete(fields, 1, 2)
		}
		if len(fields) < 5 {
			continue
		}
		n, _ := strconv.Atoi(fields[4]) // −1: of an open file description, 0: of another pid namespace
		switch {
		case !waits:
			last = n
		case n != waiter || !slices.Contains(classes, fields[1]):
		case last <= 0 || pid != 0 && pid != last:
			return 0
		default:
			pid = last
		}
	}
	return pid
}
