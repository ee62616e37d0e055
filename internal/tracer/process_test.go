// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/handover"
	"prywalk/internal/testtargets"
)

// TestUnwantedThreadsThatEndedAreForgotten: of what --threads leaves out only who lives is remembered.
func TestUnwantedThreadsThatEndedAreForgotten(t *testing.T) {
	var p threadList
	for tid := range 100 {
		p.refuse(tid, 1)
	}
	p.forgetUnwanted([]int{99, 7, 1000})
	if len(p.unwanted) != 2 || p.unwanted[7].since != 1 || p.unwanted[99].since != 1 {
		t.Errorf("%d are remembered: %v", len(p.unwanted), p.unwanted)
	}
}

// TestProcessThatEndedBeforeItIsTakenOnIsHandedOver: the accountant lets go of it.
func TestProcessThatEndedBeforeItIsTakenOnIsHandedOver(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	p, c := opened(t, pid), newTracer(Options{Freq: 99})
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	c.admit(p)
	if len(c.procs) != 0 || len(c.out.events) != 1 || c.out.events[0].Kind != handover.ProcessEnded {
		t.Errorf("%d are looked at, and told is %v", len(c.procs), c.out.events)
	}
}
