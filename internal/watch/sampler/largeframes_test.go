// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/statistics"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

type copies struct {
	sizes []int
	cut   int
}

func (c *copies) watch(_ *target.Process, s *observe.RawSample, _ sample.StackID, w *frames.Walker) {
	if s.How != observe.ByStop {
		return
	}
	n := len(s.Mem.Stack.Bytes)
	for _, r := range s.Mem.Others {
		n += len(r.Bytes)
	}
	c.sizes = append(c.sizes, n)
	if !w.StopReason().Complete() {
		c.cut++
	}
}

func (c *copies) at(part float64) int {
	slices.Sort(c.sizes)
	return c.sizes[int(part*float64(len(c.sizes)-1))]
}

// A copy is as long as the last walks needed, so some are too short where each depth is another: 1.5 % (n = 4,000), of
// at most 2.5 %. With sizes that fell by an eighth, it was 11 %.
func TestStatisticalLargeFramesOfChangingDepthAreCopied(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "largeframes")
	if out, err := bounded.AllOutput(exec.Command("cc", "-O1", "-o", exe, "testdata/largeframes.c")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	var c copies
	enough := func(s *Sampler) bool { return s.Progress().Tracer.Stops >= 4000 }
	run(t, target.SamplingOptions{Freq: 997, Walked: c.watch}, enough, nil, cmd.Process.Pid)
	if _, most := statistics.BinomialRange(len(c.sizes), 0.025, statistics.ErrorRate); c.cut > most {
		t.Errorf("%d of %d walks lacked something; copies of %d bytes, p95 %d, p99 %d, at most %d",
			c.cut, len(c.sizes), c.at(0.5), c.at(0.95), c.at(0.99), c.at(1))
	}
}
