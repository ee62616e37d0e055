// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// CPUQuotaGate reserves the rest of a CPU quota for the producer while a stop is pending: while it is closed, the
// aggregator begins no event. The zero value is open.
type CPUQuotaGate struct{ opened atomic.Pointer[chan struct{}] }

// Close makes the aggregator wait before its next event. Only the producer calls it.
func (g *CPUQuotaGate) Close() {
	if g.opened.Load() == nil {
		opened := make(chan struct{})
		g.opened.Store(&opened)
	}
}

// Open lets the aggregator continue. It is safe for concurrent use.
func (g *CPUQuotaGate) Open() {
	if opened := g.opened.Swap(nil); opened != nil {
		close(*opened)
	}
}

// Wait waits until the gate is open. Only the aggregator calls it.
func (g *CPUQuotaGate) Wait() {
	for opened := g.opened.Load(); opened != nil; opened = g.opened.Load() {
		<-*opened
	}
}
