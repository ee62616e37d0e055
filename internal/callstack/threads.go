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
