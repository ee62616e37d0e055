// SPDX-License-Identifier: Apache-2.0

package target

import (
	"sync/atomic"

	"prywalk/internal/observe"
	"prywalk/internal/selfruntime"
)

// Common is the state that producer and aggregator share.
type Common struct {
	Queue     *BatchQueue
	Requests  *Requests
	Pool      *observe.Pool // of the events' raw samples
	Garbage   *selfruntime.Collector
	Failure   *selfruntime.Failure
	QuotaGate CPUQuotaGate
	// The aggregator sets UntrackedLackOuterFrames: kernel samples of untracked processes lack the outer ends of
	// stacks.
	UntrackedLackOuterFrames atomic.Bool
}

// NewCommon returns a recording's state.
func NewCommon() *Common {
	return &Common{
		Queue: newBatchQueue(), Requests: &Requests{}, Pool: observe.NewPool(queueSize), Garbage: selfruntime.NewCollector(),
		Failure: &selfruntime.Failure{},
	}
}
