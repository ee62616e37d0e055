// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"

	"prywalk/benchmarks/bench/load"
)

func (p *program) deep(w *worker) error {
	go func() {
		runtime.LockOSThread()
		sink.Store(p.descend(w, p.Depth))
	}()
	return nil
}

// descend computes n calls down. Its result depends on the call, so that none is a tail call.
//
//go:noinline
func (p *program) descend(w *worker, n int) uint64 {
	if n <= 0 {
		load.Compute(p.ctx, &w.n)
		return 1
	}
	return p.descend(w, n-1) + uint64(n)
}
