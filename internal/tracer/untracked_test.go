// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/code"
	procs "prywalk/internal/process"
)

// TestEndOfAProcessIsNotThatOfTheNextOneWithItsNumber: the second was taken on before the end of the first was noticed.
func TestEndOfAProcessIsNotThatOfTheNextOneWithItsNumber(t *testing.T) {
	target := &code.Process{Process: &procs.Process{PID: 4711}}
	first, second := &process{target: target, sampled: true}, &process{target: target, sampled: true}
	c := &Tracer{samples: kernelSamples{of: map[int]*process{4711: second}}}
	c.stopSampling(first)
	if c.samples.of[4711] != second {
		t.Error("the second process is not sampled any more")
	}
	c.stopSampling(second)
	if len(c.samples.of) != 0 {
		t.Error("it is sampled still")
	}
}
