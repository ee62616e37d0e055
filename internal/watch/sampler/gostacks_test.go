// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// mostOfGo is twice the least copy, the scheduler's stack and the outer part of the goroutine's.
const mostOfGo = 4 * 64 << 10

func TestSamplesOfGoProgramsCopyNoMegabytes(t *testing.T) {
	pid := goTarget(t, "gostacks")
	far, most := 0, 0
	watch := func(_ *target.Process, s *observe.RawSample, _ sample.StackID, w *frames.Walker) {
		copied := len(s.Mem.Stack.Bytes)
		for _, r := range s.Mem.Others {
			copied += len(r.Bytes)
		}
		most = max(most, copied)
		if d := w.Regs().SP() - s.Mem.Stack.Addr; w.StopReason().Complete() && d > 1<<20 && d < 1<<30 {
			far++
		}
	}
	enough := func(s *Sampler) bool { return s.Progress().Tracer.Stops >= 2000 }
	run(t, target.SamplingOptions{Freq: 997, Walked: watch}, enough, nil, pid)
	if far == 0 {
		t.Error("no walk has ended on a stack megabytes away, in the same mapping")
	}
	if most > mostOfGo {
		t.Errorf("a stop has copied %d bytes; %d walks ended on a stack megabytes away", most, far)
	}
}
