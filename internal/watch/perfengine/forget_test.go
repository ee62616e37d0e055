// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"

	"prywalk/internal/code/loadedcode"
	procs "prywalk/internal/host/process"
	"prywalk/internal/watch/target"
)

func TestEndOfAProcessIsNotThatOfTheNextOneWithItsNumber(t *testing.T) {
	opened := &loadedcode.Process{Process: &procs.Process{PID: 4711}}
	of := func() *process {
		return &process{tracked: &target.Process{Code: opened}, mode: modeSamples}
	}
	first, second := of(), of()
	e := newEngine(newRun(), &rig{}, &target.SamplingOptions{}, &Source{})
	e.procs.sampledByPID = map[int]*process{4711: second}
	e.modes.switchToStops(first)
	if e.procs.sampledByPID[4711] != second {
		t.Error("the second process is not sampled any more")
	}
	e.modes.switchToStops(second)
	if len(e.procs.sampledByPID) != 0 {
		t.Error("it is sampled still")
	}
}
