// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"
	"testing"
)

// TestAggregatorWaitsForItsTurn: it goes on only when the tracer lets it, and at once without a quota.
func TestAggregatorWaitsForItsTurn(t *testing.T) {
	var turn CPUQuotaGate
	turn.Wait()
	turn.Open()
	for range 1000 {
		turn.Close()
		turn.Close()
		var given atomic.Bool
		done := make(chan bool)
		go func() {
			turn.Wait()
			done <- given.Load()
		}()
		given.Store(true)
		turn.Open()
		if !<-done {
			t.Fatal("it did not wait")
		}
	}
	turn.Wait()
}
