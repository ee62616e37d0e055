// SPDX-License-Identifier: Apache-2.0

package callstack

import "prywalk/internal/managed"

// ThreadName gives the name that a run-time system has for a thread, by its number in the process's own pid namespace;
// false if none has one.
func ThreadName(namers []managed.Namer, tid int) (name string, ok bool) {
	for _, n := range namers {
		if t, is := n.(managed.ThreadNamer); is {
			if name, ok = t.ThreadName(tid); ok && name != "" {
				return name, true
			}
		}
	}
	return "", false
}

// Postponed reports whether a run-time system could not tell a name that it may tell a little later.
func Postponed(namers []managed.Namer) (some bool) {
	for _, n := range namers {
		if p, is := n.(managed.Postponer); is && p.Postponed() {
			some = true
		}
	}
	return some
}

// Role gives what a thread is there for, by its number in the process's own pid namespace and its name; "" if no
// run-time system tells.
func Role(namers []managed.Namer, tid int, name string) string {
	for _, n := range namers {
		if t, is := n.(managed.RoleTeller); is {
			if role, ok := t.Role(tid, name); ok {
				return role
			}
		}
	}
	return ""
}
