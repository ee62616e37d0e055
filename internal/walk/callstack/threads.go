// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"iter"

	"prywalk/internal/walk/managed"
)

// threadsOf returns the runtimes that know their threads.
func threadsOf(sources []managed.FrameSource) iter.Seq[managed.Threads] {
	return func(yield func(managed.Threads) bool) {
		for _, n := range sources {
			if t, is := n.(managed.Threads); is && !yield(t) {
				return
			}
		}
	}
}

// ThreadName returns a runtime's name of a thread. innerTID is in the process's own pid namespace.
func ThreadName(sources []managed.FrameSource, innerTID int) (name string, ok bool) {
	for t := range threadsOf(sources) {
		if name, ok = t.ThreadName(innerTID); ok && name != "" {
			return name, true
		}
	}
	return "", false
}

// Postponed reports whether unread names may be readable later. It asks every runtime: [managed.Threads.Postponed] is
// about the time since its last call.
func Postponed(sources []managed.FrameSource) (some bool) {
	for t := range threadsOf(sources) {
		some = t.Postponed() || some
	}
	return some
}

// Role returns "" if the role is unknown. innerTID is in the process's own pid namespace.
func Role(sources []managed.FrameSource, innerTID int, name string) string {
	for t := range threadsOf(sources) {
		if role, ok := t.Role(innerTID, name); ok {
			return role
		}
	}
	return ""
}
