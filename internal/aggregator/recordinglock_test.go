// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"
	"time"
)

func TestAggregatorIsReplacedOnlyWhileItReads(t *testing.T) {
	var b recordingLock
	if b.takeOver() {
		t.Error("taken while it books")
	}
	b.beginRead()
	b.endRead()
	if b.beginRead(); !b.takeOver() || b.takeOver() {
		t.Error("not taken while it reads, or twice")
	}
	came := make(chan struct{})
	go func() {
		b.endRead()
		close(came)
	}()
	select {
	case <-came:
		t.Error("it books on")
	case <-time.After(50 * time.Millisecond):
	}
}
