// SPDX-License-Identifier: Apache-2.0

package target

import "sync/atomic"

// CPUQuotaGate reserves the rest of a CPU quota for the producer while a stop is pending: while closed, the aggregator
// begins no event. The zero value is open.
type CPUQuotaGate struct{ reopened atomic.Pointer[chan struct{}] }

// Close makes the aggregator wait before its next event. Only the producer calls it.
func (c *CPUQuotaGate) Close() {
	if c.reopened.Load() == nil {
		reopened := make(chan struct{})
		c.reopened.Store(&reopened)
	}
}

// Open lets the aggregator continue. Safe for concurrent use.
func (c *CPUQuotaGate) Open() {
	if reopened := c.reopened.Swap(nil); reopened != nil {
		close(*reopened)
	}
}

// Wait waits until it is open. It is the aggregator's.
func (c *CPUQuotaGate) Wait() {
	for reopened := c.reopened.Load(); reopened != nil; reopened = c.reopened.Load() {
		<-*reopened
	}
}
