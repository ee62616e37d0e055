package tracer

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// TicksPerSecond is the unit of start times in /proc (USER_HZ).
const TicksPerSecond = 100

// BootTicks gives the present moment as /proc gives start times: in clock ticks (1/100 s) after boot.
func BootTicks() uint64 { return uint64(bootTime()) / (1e9 / TicksPerSecond) }

// bootTime gives the time since boot, suspended time included, in nanoseconds.
func bootTime() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it exists since Linux 2.6.39
	return ts.Nano()
}

// startOf gives a start time in CLOCK_MONOTONIC nanoseconds, to a tick.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/TicksPerSecond) + procmem.Now() - bootTime()
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
