// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/observe"
	"prywalk/internal/selfruntime"
)

// Common is the state shared by producer and aggregator.
type Common struct {
	Ring      *Ring
	Requests  *Requests
	Pool      *observe.Pool // of the events' raw samples
	Garbage   *selfruntime.Collector
	Failure   *selfruntime.Failure
	QuotaGate CPUQuotaGate
	// UndiscoveredLackRoots reports that kernel samples of undiscovered processes lack the outer ends of stacks. Set by
	// the aggregator, read by the producer.
	UndiscoveredLackRoots atomic.Bool
}

// NewCommon makes the state of one recording.
func NewCommon() *Common {
	return &Common{
		Ring: NewRing(), Requests: &Requests{}, Pool: observe.NewPool(ringSize), Garbage: selfruntime.NewCollector(),
		Failure: &selfruntime.Failure{},
	}
}
