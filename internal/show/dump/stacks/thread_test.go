// SPDX-License-Identifier: Apache-2.0

package stacks

import "testing"

func TestAStubOfTheJVMIsNotTheProgramsPlace(t *testing.T) {
	frame := func(function, kind string) Frame {
		return Frame{Place: &Place{Function: function, Module: "[HotSpot 17.0.15]", Kind: "jvm", Type: kind}}
	}
	th := Thread{Frames: []Frame{frame("_complete_monitor_locking_Java", "stub"), frame("P15.stamp", "c2")}}
	if got := th.OwnPlace(); got != "P15.stamp" {
		t.Errorf("waits in %q", got)
	}
}
