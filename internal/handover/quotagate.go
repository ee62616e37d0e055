// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Turn reserves the rest of a CPU quota for the engine while a thread is asked to stop: the aggregator begins no event
// meanwhile. The zero value lets both work.
type CPUQuotaGate struct{ over atomic.Pointer[chan struct{}] }

// Take makes the aggregator wait before its next event. For the engine.
func (t *CPUQuotaGate) Close() {
	if t.over.Load() == nil {
		over := make(chan struct{})
		t.over.Store(&over)
	}
}

// Give lets the aggregator go on. Safe for concurrent use.
func (t *CPUQuotaGate) Open() {
	if over := t.over.Swap(nil); over != nil {
		close(*over)
	}
}

// Wait waits for the engine. For the aggregator.
func (t *CPUQuotaGate) Wait() {
	for over := t.over.Load(); over != nil; over = t.over.Load() {
		<-*over
	}
}
