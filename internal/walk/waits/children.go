// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ChildWaitedFor returns the child of process pid that it waits for: child, if that is one, or for 0 its only one. PID
// is 0 if that is not known, also in another pid namespace (proc_pid_children(5)).
func ChildWaitedFor(pid, child int) (c Peer) {
	own := NewOpenFiles(pid)
	var all []int
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/[0-9]*/children")
	for _, file := range files {
		for word := range strings.FieldsSeq(own.read(file)) {
			n, _ := strconv.Atoi(word)
			all = append(all, n)
		}
	}
	switch {
	case child == 0 && len(all) == 1:
		c.PID = all[0]
	case child != 0 && slices.Contains(all, child) && namespace(pid) == namespace(os.Getpid()):
		c.PID = child
	default:
		return c
	}
	c.Name = strings.TrimSpace(own.read(own.path(c.PID, "comm")))
	return c
}
