// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os"
	"time"

	"prywalk/internal/console"
	"prywalk/internal/runsummary"
	"prywalk/internal/sampler"
)

type progress struct {
	quit, done chan struct{}
}

func startProgress(s *sampler.Sampler, shared bool) *progress {
	p := &progress{quit: make(chan struct{}), done: make(chan struct{})}
	if shared || console.IsQuiet() || !console.IsTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(s)
	return p
}

func (p *progress) run(s *sampler.Sampler) {
	defer close(p.done)
	start := time.Now()
	tick := time.NewTicker(console.ProgressInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
			g, took := s.Progress(), time.Since(start).Seconds()
			fmt.Fprintf(os.Stderr, "\r\x1b[K%.1f s  %.0f/s  %s  %s  %s complete  %d failed  (Ctrl-C ends)",
				took, float64(g.Ticks)/took, runsummary.Plural(g.Observations, "sample"),
				runsummary.Plural(int64(g.Threads), "thread"), runsummary.Percent(g.Complete, g.Stacks), g.Failed)
		}
	}
}

func (p *progress) stop() {
	close(p.quit)
	<-p.done
}
