// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"fmt"
	"prywalk/internal/watch/target"
	"runtime"
	"testing"
	"time"
)

func TestGarbageIsCollectedInALongRun(t *testing.T) {
	program := start(t, "mixed", "20")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var keep [][]byte
	record(t, target.SamplingOptions{Freq: 499}, 500*time.Millisecond, func(*Sampler) {
		for range 40 {
			keep = append(keep, make([]byte, 2<<20))
		}
		await(t, fmt.Sprintf("a collection with %d MB more", len(keep)*2), func() bool {
			runtime.ReadMemStats(&after)
			return after.NumForcedGC > before.NumForcedGC
		})
	}, program.pid)
}
