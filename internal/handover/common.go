// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
)

// Common is what the tracer and the accountant both work with.
type Common struct {
	Ring     *Ring
	Requests *Requests
	Pool     *look.Pool // of the shots that events carry
	Garbage  *ownruntime.Collector
	Failure  *ownruntime.Failure
	Turn     Turn
	// UnmetLackRoots: samples of processes that were not met lack the outer ends of stacks. The accountant notes it for
	// the tracer.
	UnmetLackRoots atomic.Bool
}

// NewCommon makes it for one run.
func NewCommon() *Common {
	return &Common{
		Ring: NewRing(), Requests: &Requests{}, Pool: look.NewPool(ringSize), Garbage: ownruntime.NewCollector(),
		Failure: &ownruntime.Failure{},
	}
}
