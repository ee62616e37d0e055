// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"
	"time"
)

func TestRecordingIsTakenOverOnlyWhileItsOwnerReads(t *testing.T) {
	var b recordingOwnership
	if b.takeOver() {
		t.Error("takeOver succeeds while the owner writes")
	}
	b.beginRead()
	b.endRead()
	if b.beginRead(); !b.takeOver() || b.takeOver() {
		t.Error("takeOver fails while the owner reads, or succeeds twice")
	}
	came := make(chan struct{})
	go func() {
		b.endRead()
		close(came)
	}()
	select {
	case <-came:
		t.Error("endRead returns after the recording was taken over")
	case <-time.After(50 * time.Millisecond):
	}
}
