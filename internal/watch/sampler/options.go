// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"time"

	"prywalk/internal/watch/target"
)

// Frequencies are in ticks per second.
const (
	MinFreq     = 1
	MaxFreq     = 10000
	DefaultFreq = 99
)

// Checkpointing is for [target.SamplingOptions].Checkpoint.
type Checkpointing = target.Checkpointing

// watchWithin is the most time between refreshes unless a sink wants less: a condition is evaluated so often.
const watchWithin = 20 * time.Second
