// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"
	"time"
)

func TestAggregatorIsReplacedOnlyWhileItReads(t *testing.T) {
	var b books
	if b.seize() {
		t.Error("taken while it books")
	}
	b.lend()
	b.back()
	if b.lend(); !b.seize() || b.seize() {
		t.Error("not taken while it reads, or twice")
	}
	came := make(chan struct{})
	go func() {
		b.back()
		close(came)
	}()
	select {
	case <-came:
		t.Error("it books on")
	case <-time.After(50 * time.Millisecond):
	}
}
