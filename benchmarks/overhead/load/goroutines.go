// SPDX-License-Identifier: Apache-2.0

package load

import "prywalk/benchmarks/bench/load"

func (p *program) startGoroutines() error {
	all := p.Running + p.Sleeping
	for i := range p.workers {
		n := all / p.Running
		if i < all%p.Running {
			n++
		}
		ring := make([]chan uint64, n)
		for k := range ring {
			ring[k] = make(chan uint64, 1)
		}
		for k := range ring {
			go p.pass(&p.workers[i], ring[k], ring[(k+1)%n])
		}
		ring[0] <- 1
	}
	return nil
}

func (p *program) pass(w *worker, from <-chan uint64, to chan<- uint64) {
	for {
		select {
		case x := <-from:
			to <- load.Mix(x)
			w.n.Add(1)
		case <-p.ctx.Done():
			return
		}
	}
}
