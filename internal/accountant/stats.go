package accountant

import (
	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/look"
)

// totals are what the accountant adds up.
type totals struct {
	stacks       int64
	stops        [frames.NumStopReasons]int64
	whole        [look.FromCore + 1]int64 // stacks that are complete, by how the thread was looked at
	samples      int64
	complete     int64 // samples whose stack is complete
	profiled     int64 // CPU booked, ns
	target       int64 // CPU that the kernel charged, ns
	unobserved   int64 // CPU booked under [ran between ticks] and [not observed], ns
	exitedUnseen int64 // CPU booked under [exited unseen], ns
	shortLived   int64 // CPU booked under [short-lived children], ns
	estimated    int64 // CPU of threads that have ended, booked under the stacks of looks at others like them, ns
}

// book adds a span.
func (t *totals) book(s *booking.Span) {
	t.samples += s.Samples
	if s.Whole {
		t.complete += s.Samples
	}
	t.profiled += s.CPU
	switch s.Leaf {
	case booking.RanBetweenTicks, booking.NotObserved:
		t.unobserved += s.CPU
	case booking.ExitedUnseen:
		t.exitedUnseen += s.CPU
	case booking.ShortLivedChildren:
		t.shortLived += s.CPU
	}
}

// stack counts a stack by how its walk ended and how the thread was looked at.
func (t *totals) stack(stop frames.StopReason, how look.How) {
	t.stacks++
	t.stops[stop]++
	if stop.Complete() {
		t.whole[how]++
	}
}

// ThreadRate is how often a thread was looked at.
type ThreadRate struct {
	PID, TID int
	Name     string
	Looks    int64   // ticks at which its stack was seen
	Seconds  float64 // from its first look to its last
}

// Rate gives the looks a second.
func (r *ThreadRate) Rate() float64 { return float64(r.Looks-1) / r.Seconds }

// maxRates bounds the number of threads whose rates are kept.
const maxRates = 10_000

// rates are how often threads were looked at.
type rates struct {
	list       []ThreadRate
	slowest    float64 // lowest rate of looks a second that a thread got
	slowestTID int
}

// add notes a thread's rate, if it was there for a second.
func (r *rates) add(t ThreadRate) {
	if t.Seconds < 1 || t.Looks == 0 {
		return
	}
	if rate := t.Rate(); r.slowest == 0 || rate < r.slowest {
		r.slowest, r.slowestTID = rate, t.TID
	}
	if len(r.list) < maxRates {
		r.list = append(r.list, t)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Booked is what was walked and booked, in parts.
type Booked struct {
	StackStats
	RateStats
	TimeBooked
}

// StackStats count walks.
type StackStats struct {
	// Stacks were walked; Incomplete has those that did not reach the thread's first function, by why.
	Stacks     int64
	Incomplete map[string]int64
	// FrozenWhole and PeekedWhole are the stacks of freezes and of peeks that did.
	FrozenWhole, PeekedWhole int64
	FramesByMethod           map[string]int64
}

// RateStats tell how often threads were looked at.
type RateStats struct {
	// Rates are the looks that threads got which were there for a second or more, at
	// most the first 10,000 of them.
	Rates []ThreadRate
	// SlowestThread is the lowest rate of looks a second that a thread which
	// was there for a second or more got; its tid beside it.
	SlowestThread float64
	SlowestTID    int
}

// TimeBooked is the sum of what was booked.
type TimeBooked struct {
	// Samples is the sum of the profile's samples: ticks at which a stack was
	// seen, Complete of them with a complete one.
	Samples, Complete int64
	// Seconds of processor time: the targets' by the kernel, the profile's, and the parts of it that no look observed.
	TargetCPU, ProfiledCPU, UnobservedCPU, ExitedUnseenCPU float64
	// EstimatedCPU is the part of the profile's that is of threads that have ended and belongs to no look. It was
	// shared out among the stacks in which newborn threads were met.
	EstimatedCPU float64
	// ShortLivedCPU is the part of the targets' and the profile's that is of children which ended before they were met.
	ShortLivedCPU float64
}

// Booked gives what was booked so far.
func (a *Accountant) Booked() Booked {
	t := &a.totals
	stops := t.stops
	stops[frames.StopRoot] = 0
	return Booked{
		StackStats: StackStats{
			Stacks: t.stacks, FrozenWhole: t.whole[look.ByFreeze], PeekedWhole: t.whole[look.ByPeek],
			Incomplete:     named(stops[:], func(i int) string { return frames.StopReason(i).String() }),
			FramesByMethod: named(a.unwind.methods[:], func(i int) string { return frames.Method(i).String() }),
		},
		RateStats: RateStats{Rates: a.rates.list, SlowestThread: a.rates.slowest, SlowestTID: a.rates.slowestTID},
		TimeBooked: TimeBooked{
			Samples: t.samples, Complete: t.complete, TargetCPU: seconds(t.target), ProfiledCPU: seconds(t.profiled),
			UnobservedCPU: seconds(t.unobserved), ExitedUnseenCPU: seconds(t.exitedUnseen),
			ShortLivedCPU: seconds(t.shortLived), EstimatedCPU: seconds(t.estimated),
		},
	}
}

// named makes a map of the counts that are not zero.
func named(counts []int64, name func(int) string) map[string]int64 {
	m := map[string]int64{}
	for i, n := range counts {
		if n != 0 {
			m[name(i)] += n
		}
	}
	return m
}
