// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/base/sample"

// Sample is one sample of a thread.
type Sample struct {
	At              sample.Reading
	Place           Place
	OnCPU           bool
	Skids           bool // it ran, and its CPU time waits for a stop that shows the place (package observe)
	UnchangedBefore sample.Unchanged
	StandsFor       int64 // ns, T in the package comment
	FromKernel      bool  // taken by perf_event_open
	// KernelTime is CPU time in the kernel since the last sample of a thread whose user space alone the kernel samples.
	// CallTime is the most of such time that the system call takes at whose end a stop found the thread;
	// [math.MaxInt64]: all. Both in ns.
	KernelTime, CallTime int64
}

// sharesCPU reports whether it is one of [pendingSamples].
func (s *Sample) sharesCPU() bool {
	walked := Place{Stack: s.Place.Stack, State: sample.Running, WalkEnd: s.Place.WalkEnd, Labels: s.Place.Labels}
	return s.FromKernel && s.OnCPU && s.Place == walked
}

// End is the end of a thread's account.
type End struct {
	Alive   bool           // at the recording's end
	AtStart sample.Reading // before the first sample, if older than the recording
	AtEnd   sample.Reading // if later than the last sample
	// GapThreshold is the longest time without an observation that is no gap, ns.
	GapThreshold int64
}

type threadAccount struct {
	id   sample.ThreadID
	proc *processAccount
	// createdAt is as in [Sampled].
	createdAt int64
	samples   int64 // ticks with a known stack

	gaps          *Gaps // nil if there are none
	ledger        Ledger
	begun         bool
	weights       []sampleWeight // while it is young
	skidded       skidded
	activeSamples int64 // on a CPU or queued
	lastStandsFor int64 // of the last sample that has it, ns
}

// begin begins the account at the thread's creation, or at its first sample, with clocks r.
func (t *threadAccount) begin(r sample.Reading) {
	t.begun = true
	if t.createdAt != 0 {
		t.ledger.Begin(sample.Reading{Wall: min(t.createdAt, r.Wall-r.CPU-r.RunQueue)})
	}
}

// beginWithoutSample begins the account of a running thread.
func (t *threadAccount) beginWithoutSample(r sample.Reading) {
	t.begin(r)
	if t.createdAt == 0 {
		t.ledger.Begin(r)
	}
}

// add attributes the interval that a sample ends.
func (t *threadAccount) add(s *Sample) {
	t.extend(s.UnchangedBefore)
	t.samples++
	if t.ledger.started {
		if length := t.gaps.Within(t.ledger.KnownUntil(), s.At.Wall); length > 0 {
			t.ledger.MarkNotObserved(length, s.At, s.Place.State)
		}
	}
	t.attributeInterval(s)
}

func (t *threadAccount) attributeInterval(s *Sample) {
	if s.OnCPU || s.Place.State == sample.Running {
		t.activeSamples++
	}
	if s.StandsFor > 0 {
		t.lastStandsFor = s.StandsFor
	}
	t.ledger.kernel.announced += s.KernelTime
	young := t.createdAt != 0 && len(t.weights) < longLifeTicks && s.StandsFor > 0
	if young && s.Skids {
		t.addSkidded(s)
	}
	switch {
	case young && s.OnCPU:
		t.attributeYoung(s)
	case !young && s.sharesCPU():
		t.ledger.AddKernelSample(s.At, s.Place, s.StandsFor)
	default:
		t.ledger.Observe(s.At, s.Place, s.OnCPU)
	}
	if s.CallTime > 0 {
		t.ledger.takeKernelTime(s.Place, s.At.Wall, s.CallTime)
	}
	t.ledger.settleOverdueKernelTime(s.At.Wall)
}

func (t *threadAccount) addSkidded(s *Sample) {
	if t.skidded.count == 0 && len(t.weights) == 0 {
		t.skidded.firstWeight = s.StandsFor - s.At.CPU
	}
	t.skidded.count++
	t.skidded.weight += s.StandsFor
}

// attributeYoung attributes at most T; the lack is the sample's weight, the excess is withheld ([endedThreadTime]).
func (t *threadAccount) attributeYoung(s *Sample) {
	attributed, excess := t.ledger.attributeSample(s.At, s.Place, true, s.StandsFor)
	t.weights = append(t.weights, sampleWeight{
		place: s.Place.asRunning(), at: s.At.Wall, weight: s.StandsFor - attributed, withheld: excess,
	})
	if len(t.weights) == longLifeTicks {
		t.releaseWithheld()
	}
}

func (t *threadAccount) releaseWithheld() {
	for i := range t.weights {
		if w := &t.weights[i]; w.withheld > 0 {
			t.ledger.Emit(Span{Place: w.place, End: w.at, Wall: w.withheld, CPU: w.withheld})
			w.withheld = 0
		}
	}
}

// extend attributes the time up to the last unchanged tick.
func (t *threadAccount) extend(u sample.Unchanged) {
	if last := u.Last; u.Ticks > 0 && last.Wall != 0 {
		last.Wall = max(last.Wall, t.ledger.clocks.last.Wall)
		t.ledger.ExtendUnchanged(last, u.Ticks)
		t.samples += u.Ticks
	}
}

func (t *threadAccount) attributeNotStopped(n *sample.NotStopped) {
	if n.Refused {
		t.ledger.carried.stopRefused = true
	}
	if !n.Suppressed() {
		return
	}
	if n.InCall.Wall != 0 {
		t.ledger.AttributeNotStopped(n.InCall, true)
	}
	if n.Other.Wall != 0 {
		t.ledger.AttributeNotStopped(n.Other, false)
	}
}

// endAlive ends the account of a living thread. Without a sample, a thread that has used a CPU gets all its time.
func (t *threadAccount) endAlive(e *End) {
	switch {
	case e.AtEnd.Wall == 0:
	case t.begun:
		if e.AtEnd.CPU > t.ledger.clocks.last.CPU {
			t.ledger.EndWithoutSample(e.AtEnd, e.GapThreshold)
		}
	case e.AtEnd.CPU > e.AtStart.CPU:
		t.begin(e.AtEnd)
		if t.createdAt == 0 {
			t.ledger.Begin(e.AtStart)
		}
		t.ledger.EndWithoutSample(e.AtEnd, 0)
	}
}

// cut attributes open time for a checkpoint.
func (t *threadAccount) cut() {
	t.releaseWithheld()
	t.ledger.carried.cut(t.ledger.clocks.last.Wall)
	t.ledger.Flush()
}

func (t *threadAccount) finish() {
	t.releaseWithheld()
	t.ledger.Finish()
}
