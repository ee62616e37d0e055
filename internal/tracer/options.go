// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"regexp"
	"time"

	"prywalk/internal/look"
	"prywalk/internal/perfevents"
)

// Options say how to look. What they mean in detail is told at the sampler's.
type Options struct {
	Freq            float64        // ticks a second
	Threads         *regexp.Regexp // nil: all
	Children        bool           // those that are found later are sampled, too
	ReadOnly        bool           // never write a register
	Rung            look.Rung
	MaxPause        time.Duration      // 0: no bound
	MaxOverhead     float64            // 0: no bound
	Subset          int                // 0: all
	Events          *perfevents.Reader // nil: ptrace alone
	Kin             *perfevents.Reader // nil: the kernel does not tell of descendants
	Choose          bool
	KernelStacks    bool
	CheckpointEvery time.Duration // 0: when asked for
	WatchEvery      time.Duration // 0: nobody watches
}
