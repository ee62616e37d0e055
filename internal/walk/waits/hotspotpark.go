// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// These functions of HotSpot sleep in a condition of their thread (runtime/objectMonitor.cpp, os/posix/os_posix.cpp).
// Specific prefixes are first.
var hotspotWaits = []struct {
	begin string
	kind  Kind
}{
	{"ObjectMonitor::wait", ObjectWait}, {"ObjectMonitor::", Monitor}, {"Parker::park", Park},
	{"JavaThread::sleep", Sleep},
}

// hotspotWait returns what a HotSpot thread in a condition waits for. decided means that outer ones cannot change it.
func hotspotWait(stack []StackFunction) (kind Kind, decided bool) {
	for i := range stack {
		name := strings.TrimPrefix(stack[i].Function, "os::")
		if _, ofLibc := libcPrimitives[symbol(name)]; ofLibc || isBelowPrimitive(name) {
			continue
		}
		if !strings.HasSuffix(stack[i].Module, "libjvm.so") {
			return NoWait, true
		}
		for _, w := range hotspotWaits {
			if strings.HasPrefix(name, w.begin) {
				return w.kind, true
			}
		}
		if !strings.HasPrefix(name, "PlatformEvent::park") {
			return NoWait, true
		}
	}
	return NoWait, false
}

// setHotSpot replaces a condition by what HotSpot made of it. The condition is the thread's own: its address names no
// monitor.
func (w *Wait) setHotSpot(stack []StackFunction) {
	if kind, _ := hotspotWait(stack); kind != NoWait {
		*w = ManagedWait(kind, "", 0, 0, w.Timed && kind != Monitor)
		w.Why = "not read from the Java virtual machine"
	}
}
