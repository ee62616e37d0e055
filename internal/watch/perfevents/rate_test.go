// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"runtime"
	"testing"
	"time"

	"prywalk/internal/base/monotonic"
)

// A timer may be late, but not early: between two samples of a CPU there are at most the elapsed periods, and two. A
// period is up to an eighth shorter than the mean.
func TestSamplesComeAtTheSetRate(t *testing.T) {
	for _, stack := range []int{0, MinStack} {
		r := open(t, ReaderOptions{Freq: 997, Stack: stack})
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for _, hz := range []float64{50, 400, 50} {
			before := r.Period()
			if !r.SetFreq(hz) || r.Freq() != hz {
				t.Fatalf("SetFreq(%v) fails", hz)
			}
			n, first, of := 0, map[int]monotonic.Moment{}, map[int]int64{}
			for range 2000 {
				spin(time.Millisecond)
				r.Drain(func(rec *Record) {
					if rec.Kind != Sampled || r.PeriodAt(rec.TID, rec.Time) == before {
						return
					}
					n++
					of[rec.CPU]++
					if first[rec.CPU] == 0 {
						first[rec.CPU] = rec.Time
					}
					if took := rec.Time.Sub(first[rec.CPU]); of[rec.CPU] > int64(took*varyShare/((varyShare-1)*r.Period()))+2 {
						t.Errorf("%v Hz: %d samples in %d ns, more than periods", hz, of[rec.CPU], took)
					}
				})
				if n >= 10 {
					break
				}
			}
			if n < 10 {
				t.Errorf("%v Hz: %d samples, want at least 10", hz, n)
			}
		}
		r.Close()
	}
}
