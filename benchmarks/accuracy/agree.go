// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"prywalk/benchmarks/perfscript"
	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
	"prywalk/internal/testtargets"
)

const topFunctions = 10

type agreement struct {
	Pairs       int   `json:"pairs"`
	Samples     int64 `json:"prywalk_samples"`
	PerfSamples int64 `json:"perf_samples"`
	PerfLost    int64 `json:"perf_lost,omitempty"`
	// Functions are the most expensive ones by the mean of both shares.
	Functions []function `json:"functions"`
}

type function struct {
	Place string `json:"place"`
	// Name and PerfName are the most frequent names, where they differ in meaning.
	Name     string `json:"prywalk_name,omitempty"`
	PerfName string `json:"perf_name,omitempty"`

	Share     float64 `json:"prywalk_share"`
	SE        float64 `json:"prywalk_se"`
	PerfShare float64 `json:"perf_share"`
	PerfSE    float64 `json:"perf_se"`
	// SEDiff is the standard error of the difference between pairs.
	SEDiff float64 `json:"se_of_difference"`
	T      float64 `json:"t"`
	PValue float64 `json:"p_value"`
	// Differs is by Holm's procedure over all functions of all programs.
	Differs bool `json:"differs"`
}

func (a *agreement) largest() float64 {
	var t float64
	for _, f := range a.Functions {
		t = max(t, math.Abs(f.T))
	}
	return t
}

type tally struct {
	parts  map[string][]float64
	names  map[string]map[string]float64
	all    []float64
	square []float64
	n      int64
}

func newTally(slices int) *tally {
	return &tally{
		parts: map[string][]float64{}, names: map[string]map[string]float64{},
		all: make([]float64, slices), square: make([]float64, slices),
	}
}

func (t *tally) add(slice int, place, name string, weight float64) {
	if t.parts[place] == nil {
		t.parts[place] = make([]float64, len(t.all))
		t.names[place] = map[string]float64{}
	}
	t.parts[place][slice] += weight
	t.names[place][name] += weight
	t.all[slice] += weight
	t.square[slice] += weight * weight
	t.n++
}

func (t *tally) name(place string) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(t.names[place])) {
		if best == "" || t.names[place][name] > t.names[place][best] {
			best = name
		}
	}
	return best
}

func (t *tally) slices(place string) []stats.Slice {
	s := make([]stats.Slice, len(t.all))
	for i := range s {
		s[i].All = t.all[i]
		if parts := t.parts[place]; parts != nil {
			s[i].Part = parts[i]
		}
		if t.square[i] > 0 {
			s[i].Count = t.all[i] * t.all[i] / t.square[i]
		}
	}
	return s
}

func (b *bench) agree(ctx context.Context, t *testtargets.Target) (*agreement, error) {
	pids := t.PIDs()
	p, err := b.startPerf(ctx, pids)
	if err != nil {
		return nil, err
	}
	place := newPlaces(t)
	ours, theirs := newTally(b.Pairs), newTally(b.Pairs)
	length := time.Duration(b.SliceSeconds * float64(time.Second))
	for i := range b.Pairs {
		turns := []func() error{
			func() error { return b.ownSlice(ctx, pids, place, ours, i) },
			func() error { return p.slice(ctx, length) },
		}
		if i%2 == 1 {
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				p.kill()
				return nil, err
			}
		}
	}
	if err := p.stop(); err != nil {
		return nil, err
	}
	err = p.samples(ctx, func(slice int, s *perfscript.Sample) {
		name := ""
		if f := s.User(); f != nil {
			name = f.Name
		}
		theirs.add(slice, place.ofPerf(s), name, 1)
	})
	if err != nil {
		return nil, err
	}
	a := compareTallies(ours, theirs)
	a.PerfLost = p.lost
	return a, nil
}

func (b *bench) ownSlice(ctx context.Context, pids []int, place *places, t *tally, slice int) error {
	r, err := b.record(ctx, pids, "-d", strconv.FormatFloat(b.SliceSeconds, 'f', -1, 64), "-F", strconv.Itoa(b.Freq))
	if err != nil {
		return err
	}
	defer r.remove()
	for _, s := range r.Sample {
		if ns := s.Value[recordings.CPUColumn]; ns > 0 && !recordings.Unobserved(s) {
			t.add(slice, place.ofRecording(s), recordings.Outermost(s.Location[0]), float64(ns))
		}
	}
	return nil
}

func compareTallies(ours, theirs *tally) *agreement {
	a := &agreement{Pairs: len(ours.all), Samples: ours.n, PerfSamples: theirs.n}
	all := map[string]bool{}
	for _, t := range []*tally{ours, theirs} {
		for place := range t.parts {
			all[place] = true
		}
	}
	for _, place := range slices.Sorted(maps.Keys(all)) {
		c := stats.ComparePairs(ours.slices(place), theirs.slices(place))
		f := function{
			Place: place, Share: c.A.P, SE: c.A.SE, PerfShare: c.B.P, PerfSE: c.B.SE, SEDiff: c.SE, T: c.T, PValue: c.PValue,
		}
		if x, y := ours.name(place), theirs.name(place); !sameName(x, y) {
			f.Name, f.PerfName = x, y
		}
		a.Functions = append(a.Functions, f)
	}
	slices.SortStableFunc(a.Functions, func(x, y function) int {
		return cmp.Compare(y.Share+y.PerfShare, x.Share+x.PerfShare)
	})
	a.Functions = a.Functions[:min(len(a.Functions), topFunctions)]
	return a
}
