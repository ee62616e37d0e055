// SPDX-License-Identifier: Apache-2.0

package backoff

const (
	// decideEvery is the time between decisions about the factor, ns.
	decideEvery = 1e9
	// Sums fade by 1/factorDecay per decision, so that threads that wake twice a minute count.
	factorDecay = 32
)

// backoffFactor lengthens back-offs by the part of the process's CPU time that backed-off threads used.
type backoffFactor struct {
	extraFactor     int64
	decidedAt       int64  // CLOCK_MONOTONIC ns
	clockAtDecision uint64 // of the process, ns
	ran             int64  // recent CPU time of the process, ns
	backedOffCPU    int64  // part of ran that backed-off threads used, ns
}

func (f *backoffFactor) factor() int64 { return f.extraFactor + 1 }

func (f *backoffFactor) update(now int64, clock uint64) {
	if now-f.decidedAt < decideEvery {
		return
	}
	if f.decidedAt != 0 {
		f.ran += int64(clock - f.clockAtDecision)
	}
	f.decidedAt, f.clockAtDecision = now, clock
	switch {
	case f.backedOffCPU*burstShare > f.ran:
		f.extraFactor = 0
	case f.ran > 0: // else the clock's standstill prolongs back-offs
		f.extraFactor = min(2*f.extraFactor+1, maxFactor-1)
	}
	f.fade()
}

// fade ends both sums at once: of small ones the quotient would not be that of the times.
func (f *backoffFactor) fade() {
	f.ran -= f.ran / factorDecay
	f.backedOffCPU -= f.backedOffCPU / factorDecay
	if f.ran < burstShare*factorDecay {
		f.ran, f.backedOffCPU = 0, 0
	}
}
