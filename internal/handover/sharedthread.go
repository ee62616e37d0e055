// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// SharedThread is shared by producer and aggregator.
type SharedThread struct {
	// The producer writes these before the thread's first event.
	ID            sample.ThreadID // 0: several threads
	Proc          *SharedProcess
	TID           int
	Feedback      *observe.WalkFeedback // with the aggregator's hints
	Name          string                // the kernel's, at the first listing
	FirstListedAt int64                 // CLOCK_MONOTONIC ns
	CreatedAt     int64                 // CLOCK_MONOTONIC ns; 0: its creation was not observed

	// NamedByRuntime reports that the aggregator has the thread's name from a runtime.
	NamedByRuntime atomic.Bool
}

// NameEvery is the greatest age of a name, ns: programs name threads after starting them.
const NameEvery = 1e9
