// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// CPUQuotaGate reserves the rest of a CPU quota for the producer while a stop is pending: while closed, the aggregator
// begins no event. The zero value is open.
type CPUQuotaGate struct{ opened atomic.Pointer[chan struct{}] }

// Close makes the aggregator wait before its next event. Only the producer calls it.
func (c *CPUQuotaGate) Close() {
	if c.opened.Load() == nil {
		opened := make(chan struct{})
		c.opened.Store(&opened)
	}
}

// Open lets the aggregator continue. Safe for concurrent use.
func (c *CPUQuotaGate) Open() {
	if opened := c.opened.Swap(nil); opened != nil {
		close(*opened)
	}
}

// Wait waits until it is open. It is the aggregator's.
func (c *CPUQuotaGate) Wait() {
	for opened := c.opened.Load(); opened != nil; opened = c.opened.Load() {
		<-*opened
	}
}
