// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strings"

	"prywalk/internal/walk/waits"
)

// PinnedBy returns the function that keeps a virtual thread on this thread, its carrier, although it waits, "": none.
// That is a class initializer, a method whose native code has called Java, or one that waits in native code. Otherwise,
// until JDK 23, the virtual thread holds or enters a monitor.
func (t *Thread) PinnedBy() string {
	if t.WaitsFor == nil || t.State == "R" {
		return ""
	}
	var inner *Frame
	by, native := "", false // native: since the last Java frame
	for f := range Each(t.Frames) {
		switch {
		case f.Kind == "" || f.Type == "stub":
			native = native || f.Kind == "" && inner != nil
			continue
		case strings.HasPrefix(f.Function, "jdk.internal.vm.Continuation.enter"):
			return by
		case native && strings.HasSuffix(inner.Function, ".<clinit>"):
			by = inner.Location()
		case native, inner == nil && f.Type == "native" && f.Function != "jdk.internal.misc.Unsafe.park":
			by = f.Location()
		case by == "" && (f.Function == "java.lang.VirtualThread.parkOnCarrierThread" || t.WaitsFor.Kind == waits.Monitor):
			by = "a monitor"
		}
		inner, native = f, false
	}
	return ""
}
