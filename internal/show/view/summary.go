// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

// Summary is the head of a report.
type Summary struct {
	Target    string
	Duration  time.Duration
	Rate      float64 // Hz; 0 means unknown
	Processes int
	Threads   int
	Hidden    int // threads that only slept in a scheduler or an event loop, whose samples are hidden
	Samples   int64
	Complete  float64 // share of samples with complete stacks; negative if it is unknown
	Start     time.Time
}

// Summary describes the selected samples.
func (d *Data) Summary() Summary {
	p := d.Profile
	s := Summary{Duration: time.Duration(p.DurationNanos), Complete: -1}
	if p.TimeNanos > 0 {
		s.Start = time.Unix(0, p.TimeNanos)
	}
	if p.PeriodType != nil && p.PeriodType.Unit == rec.Nanoseconds && p.Period > 0 {
		s.Rate = 1e9 / float64(p.Period)
	}
	procs, threads := map[int64]string{}, map[[2]int64]bool{}
	for _, x := range p.Sample {
		t := threadOf(x)
		if t[0] != 0 {
			procs[t[0]] = Label(x, rec.LabelComm)
		}
		if t[1] != 0 {
			threads[t] = true
		}
	}
	s.Processes, s.Threads = len(procs), len(threads)
	if len(d.Filters) == 0 {
		for t := range d.hidden {
			if !threads[t] {
				s.Hidden++
			}
		}
	}
	s.Target = target(p, procs)
	s.Samples, s.Complete = d.countComplete()
	return s
}

func target(p *profile.Profile, procs map[int64]string) string {
	names := slices.Compact(slices.Sorted(maps.Values(procs)))
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	switch {
	case len(names) > 4:
		names = append(names[:4], "…")
	case len(names) == 0 && len(p.Mapping) > 0 && p.Mapping[0].File != "":
		return ModuleName(p.Mapping[0].File)
	case len(names) == 0:
		return "profile"
	}
	t := strings.Join(names, ", ")
	if len(procs) > 1 {
		return fmt.Sprintf("%s (%d processes)", t, len(procs))
	}
	for pid := range procs {
		return fmt.Sprintf("%s (pid %d)", t, pid)
	}
	return t
}

// countComplete returns the number of samples, and the share of those with complete stacks: −1 without samples, and for
// a profile that is not prywalk's.
func (d *Data) countComplete() (n int64, share float64) {
	count, ok := d.sampleCountIndex()
	var bad int64
	for _, s := range d.Profile.Sample {
		v := int64(1)
		if ok {
			v = s.Value[count]
		}
		n += v
		if st := d.Table.Stack(s); d.Table.Frames[st[len(st)-1]].incomplete() {
			bad += v
		}
	}
	if !d.isRecording() || n == 0 {
		return n, -1
	}
	return n, 1 - float64(bad)/float64(n)
}

// Recorded returns the recording's start and age, or nil if they are unknown.
func (s *Summary) Recorded(now time.Time) []string {
	if s.Start.IsZero() {
		return nil
	}
	return []string{"recorded " + s.Start.UTC().Format("2006-01-02 15:04:05 UTC"), ago(now.Sub(s.Start))}
}

func ago(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"},
		{time.Second, "second"}} {
		if d >= u.unit {
			return tabular.Plural(int64(d/u.unit), u.name) + " ago"
		}
	}
	if d < 0 {
		return "in the future, by this machine's clock"
	}
	return "just now"
}

// Percent formats a share; it never rounds up to 100 %.
func Percent(share float64) string {
	return fmt.Sprintf("%.1f%%", math.Floor(share*1000)/10)
}

// Values returns the sum of each type of values; "" for the number of samples.
func (d *Data) Values() (list []string) {
	for i, t := range d.Profile.SampleType {
		text := ""
		if t.Type != rec.TypeSamples {
			text = t.Type + " " + tabular.Format(d.Total(i), t.Unit) + d.completeNote(t.Type)
		}
		list = append(list, text)
	}
	return list
}
