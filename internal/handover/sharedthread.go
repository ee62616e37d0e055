// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// SharedThread is an event's thread, as producer and aggregator share it. The producer writes it before the first
// event.
type SharedThread struct {
	ID        sample.ThreadID // 0 stands for several threads
	Proc      *SharedProcess
	TID       int
	Feedback  *observe.WalkFeedback
	Name      string
	Found     int64 // first listing, CLOCK_MONOTONIC ns
	CreatedAt int64 // 0 if before the recording

	// Named: its name is a run-time system's. Its first events need not be handed over at once.
	Named atomic.Bool
}

// NameEvery is the greatest age of a name, ns: programs name threads after starting them.
const NameEvery = 1e9
