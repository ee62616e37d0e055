// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// Thread identifies an event's thread. The producer writes it before the first event.
type Thread struct {
	ID        sample.ThreadID // 0 stands for several threads
	Proc      *Process
	TID       int
	Feedback  *observe.WalkFeedback
	Name      string
	Found     int64 // first listing, CLOCK_MONOTONIC ns
	CreatedAt int64 // 0 if before the recording

	// Named is set if the aggregator has its name from a run-time system: its first events then need not be handed over
	// at once.
	Named atomic.Bool
}

// NameEvery is the greatest age of a thread's name, in ns: programs name threads after starting them.
const NameEvery = 1e9
