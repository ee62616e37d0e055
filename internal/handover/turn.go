// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Turn lets the tracer have what is left of a CPU quota for itself while somebody has been asked to stop. The
// accountant begins with no event meanwhile. The zero value lets both work.
type Turn struct{ over atomic.Pointer[chan struct{}] }

// Take has the accountant wait before its next event. It is the tracer's.
func (t *Turn) Take() {
	if t.over.Load() == nil {
		over := make(chan struct{})
		t.over.Store(&over)
	}
}

// Give lets the accountant go on. Any goroutine may call it.
func (t *Turn) Give() {
	if over := t.over.Swap(nil); over != nil {
		close(*over)
	}
}

// Wait waits for the tracer. It is the accountant's.
func (t *Turn) Wait() {
	for over := t.over.Load(); over != nil; over = t.over.Load() {
		<-*over
	}
}
