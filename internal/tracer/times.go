// SPDX-License-Identifier: Apache-2.0

package tracer

import "prywalk/internal/procmem"

// startOf converts clock ticks since boot to CLOCK_MONOTONIC ns.
func startOf(ticks uint64) int64 {
	return int64(ticks)*procmem.ClockTick + procmem.Now() - procmem.SinceBoot()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
