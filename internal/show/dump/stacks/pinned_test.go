// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strings"
	"testing"

	"prywalk/internal/walk/waits"
)

func javaStack(text string) (list []Frame) {
	for word := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(word, ":")
		p := &Place{Function: name, Type: kind}
		if kind != "c" {
			p.Kind = "jvm"
		}
		list = append(list, Frame{Place: p})
	}
	return list
}

func TestWhatPinsAVirtualThreadIsNamed(t *testing.T) {
	const (
		parks = "futex:c Unsafe_Park:c jdk.internal.misc.Unsafe.park:native " +
			"java.lang.VirtualThread.parkOnCarrierThread java.util.concurrent.locks.ReentrantLock.lock "
		outer = " java.lang.VirtualThread.run jdk.internal.vm.Continuation.enter jdk.internal.vm.Continuation.run " +
			"call_stub:stub JavaCalls:c"
	)
	for name, c := range map[string]struct {
		stack string
		kind  waits.Kind
		state string
		want  string
	}{
		"a class initializer": {parks + "Shop$Cart.<clinit> call_stub:stub JavaCalls:c Shop.ask" + outer, waits.Park, "S",
			"Shop$Cart.<clinit>"},
		"a native method": {parks + "Shop.compare call_stub:stub JavaCalls:c qsort:c Native.sort:native Shop.ask" + outer,
			waits.Park, "S", "Native.sort"},
		"a native method that waits": {"read:c Java_read:c java.io.FileInputStream.readBytes:native Shop.ask" + outer,
			waits.Descriptor, "S", "java.io.FileInputStream.readBytes"},
		"a monitor that it holds":  {parks + "Shop.ask" + outer, waits.Park, "S", "a monitor"},
		"a monitor that it enters": {"futex:c enter:c Shop.ask" + outer, waits.Monitor, "S", "a monitor"},
		"none: the JVM waits":      {"futex:c collect:c Shop.ask" + outer, waits.Condition, "S", ""},
		"none: it runs":            {parks + "Shop.ask" + outer, waits.Park, "R", ""},
		"none: a platform thread":  {parks + "java.lang.Thread.run call_stub:stub JavaCalls:c", waits.Park, "S", ""},
		"none: a carrier without a virtual thread": {"jdk.internal.misc.Unsafe.park:native " +
			"java.util.concurrent.ForkJoinPool.runWorker", waits.Park, "S", ""},
	} {
		th := Thread{State: c.state, WaitsFor: &waits.Wait{Kind: c.kind}, Frames: javaStack(c.stack)}
		if got := th.PinnedBy(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := (&Thread{}).PinnedBy(); got != "" {
		t.Error(got)
	}
}
