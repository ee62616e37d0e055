// SPDX-License-Identifier: Apache-2.0

package target

import (
	"sync/atomic"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestAggregatorWaitsWhileTheGateIsClosed(t *testing.T) {
	var gate CPUQuotaGate
	gate.Wait()
	gate.Open()
	for range 1000 {
		gate.Close()
		gate.Close()
		var opened atomic.Bool
		done := make(chan bool)
		go func() {
			gate.Wait()
			done <- opened.Load()
		}()
		opened.Store(true)
		gate.Open()
		if !bounded.Receive(t, "the wait for the gate ends", done) {
			t.Fatal("it did not wait")
		}
	}
	gate.Wait()
}
