// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
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
	before, returned := blockedForEver(), make(chan struct{})
	go func() {
		b.endRead()
		close(returned)
	}()
	testtargets.Eventually(t, "endRead blocks", func() bool {
		select {
		case <-returned:
			t.Fatal("endRead returns after the recording was taken over")
		default:
		}
		return blockedForEver() > before
	})
}

// Also of earlier runs of the test.
func blockedForEver() (n int) {
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "[select (no cases)") && strings.Contains(stack, ".(*recordingOwnership).endRead(") {
			n++
		}
	}
	return n
}
