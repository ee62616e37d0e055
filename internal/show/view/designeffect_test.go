// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"math"
	"slices"
	"testing"

	rec "prywalk/internal/store/profile"
)

// blockRecording has one letter of schedule per block of minBlockLength. In a block all threads run the function "f" or
// "g" of its letter; with "-" half of them run f, half g.
func blockRecording(schedule string, threads int) *recording {
	r := newRecording(rec.TypeSamples, rec.TypeWall)
	for block, letter := range schedule {
		for thread := range threads {
			function := string(letter)
			if letter == '-' {
				function = "fg"[thread%2 : thread%2+1]
			}
			s := r.add(function, 1, minBlockLength)
			s.NumLabel[rec.LabelEnd] = []int64{1e18 + int64(block+1)*minBlockLength}
		}
	}
	return r
}

func repeated(text string, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = text[i%len(text)]
	}
	return string(out)
}

func TestTheDesignEffectIsReproducible(t *testing.T) {
	r := blockRecording(repeated("abcdefghiabdfaceghibdcf", 200), 7)
	for i, s := range r.Sample {
		s.Value[1] -= int64(i * i % 1e6)
	}
	sel := r.selection()
	want := sel.designEffect(1, 1400)
	for range 50 {
		if got := sel.designEffect(1, 1400); got != want {
			t.Fatalf("%v, then %v", want, got)
		}
	}
}

// f and g have half of the time each: n = blocks × threads independent samples of value v have a variance of 2 · ½ · ½
// · (n·v)² ÷ n = n·v²/2. From a block of f to one of g, the difference of f changes by threads·v, and as much for g:
// each change adds 2 · (threads·v)²/2 to what is measured, times blocks ÷ (blocks − 1).
//
//	effect = changes · threads² · v² · blocks/(blocks−1) ÷ (blocks·threads·v²/2) = 2 · changes · threads ÷ (blocks−1)
func TestDesignEffectIsThatOfThreadsInLockstep(t *testing.T) {
	const threads = 8
	for _, c := range []struct {
		schedule string
		changes  float64
	}{
		{repeated("fg", 40), 39},   // 2 · threads
		{repeated("ffgg", 40), 19}, // threads: each block is one draw
		{repeated("fg", 22), 21},   // 21 pairs of neighbours
		{repeated("fg", 2000), 1999},
	} {
		blocks := float64(len(c.schedule))
		r := blockRecording(c.schedule, threads)
		wall, want := 1, 2*c.changes*threads/(blocks-1)
		if c.changes == 1999 { // two blocks are one of maxBlocks: f and g are balanced in each
			want = 1
		}
		if got := r.selection().designEffect(wall, blocks*threads); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v changes in %v blocks: %v, want %v", c.changes, blocks, got, want)
		}
	}
}

func TestDesignEffectIsOneWhereNoneIsSeen(t *testing.T) {
	const threads = 8
	noTimes := blockRecording(repeated("fg", 40), threads)
	for _, s := range noTimes.Sample {
		delete(s.NumLabel, rec.LabelEnd)
	}
	noWall := blockRecording(repeated("fg", 40), threads)
	noWall.SampleType[1].Type = "alloc_space"
	for what, r := range map[string]*recording{
		"balanced blocks": blockRecording(repeated("-", 40), threads),
		// 2 · 8 ÷ 39 is below minDesignEffect
		"two phases":                  blockRecording(repeated("f", 20)+repeated("g", 20), threads),
		"19 pairs, one too few":       blockRecording(repeated("fg", 20), threads),
		"no time stamps":              noTimes,
		"no type wall":                noWall,
		"gaps between all the blocks": spaced(blockRecording(repeated("fg", 40), threads)),
	} {
		if got := r.selection().designEffect(1, float64(len(r.Sample))); got != 1 {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func spaced(r *recording) *recording {
	begin := r.Sample[0].NumLabel[rec.LabelEnd][0]
	for _, s := range r.Sample {
		s.NumLabel[rec.LabelEnd][0] += s.NumLabel[rec.LabelEnd][0] - begin
	}
	return r
}

func TestBlocksHaveThePartsOfIntervals(t *testing.T) {
	r := newRecording(rec.TypeWall)
	const begin = 1e18
	add := func(function string, from, to float64) {
		s := r.add(function, int64((to-from)*minBlockLength))
		s.NumLabel[rec.LabelEnd] = []int64{begin + int64(to*minBlockLength)}
	}
	add("f", 0, 0.5)
	add("f", 0.75, 3.25)
	add("g", 1, 2)
	sel := r.selection()
	numbers := sel.largestFunctions(0)
	all, of := sel.blocksOf(0, numbers)
	percent := func(parts []float64) string {
		var out []int
		for _, v := range parts {
			out = append(out, int(math.Round(100*v/minBlockLength)))
		}
		return fmt.Sprint(out)
	}
	if got := percent(all); got != "[75 200 100 25]" || len(of) != 2 {
		t.Fatalf("all: %s, of %d functions", got, len(of))
	}
	got := []string{percent(of[0]), percent(of[1])}
	slices.Sort(got)
	if want := []string{"[0 100 0 0]", "[75 100 100 25]"}; !slices.Equal(got, want) {
		t.Errorf("of functions: %v, want %v", got, want)
	}
}

func TestOnlyFunctionsOfOnePerCentAreCounted(t *testing.T) {
	r := newRecording(rec.TypeWall)
	r.add("large", 9890)
	r.add("just", 100)
	r.add("small", 10)
	var got []string
	for f := range r.selection().largestFunctions(0) {
		got = append(got, f.Name)
	}
	slices.Sort(got)
	if want := []string{"just", "large"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
