// SPDX-License-Identifier: Apache-2.0

// Package export writes profiles for Firefox Profiler, Speedscope, Perfetto, OpenTelemetry and Go's compiler.
package export

import (
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// PGO writes CPU time in the form of `go build -pgo`: samples/count and cpu/nanoseconds, without labels, synthetic
// frames and stacks that did not run. The count is time ÷ period: Go weighs by the first type.
func PGO(w io.Writer, p *profile.Profile, o view.Options) error {
	q, err := pgoProfile(p, o)
	if err != nil {
		return err
	}
	return q.Write(w)
}

func pgoProfile(p *profile.Profile, o view.Options) (*profile.Profile, error) {
	o.Value = rec.TypeCPU
	d, err := view.New(p, o)
	if err != nil {
		return nil, fmt.Errorf("no CPU time for optimisation: %w", err)
	}
	defer d.Memory.Close()
	period := max(p.Period, 1)
	q := view.ShallowCopy(d.Profile)
	q.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: rec.TypeCPU, Unit: d.Unit}}
	q.DefaultSampleType = ""
	q.Comments = nil
	q.Sample = nil
	stacks := pgoStacks(d)
	if d.Memory.Err() != nil {
		return nil, d.Memory.Err()
	}
	// What a count leaves of a stack's time goes to the next: stacks shorter than a period count together.
	rest := period / 2
	for _, s := range stacks {
		rest += s.Value[1]
		s.Value[0] = rest / period
		rest %= period
	}
	if q.Sample = stacks; !slices.ContainsFunc(stacks, func(s *profile.Sample) bool { return s.Value[0] > 0 }) {
		return nil, fmt.Errorf("no CPU time for optimisation: less than one period of it; record for longer, or at a " +
			"higher rate")
	}
	return q.Compact(), nil
}

// Memory of a stack, bytes: fixed, and for each frame.
const (
	pgoSampleCost = 384
	pgoFrameCost  = 56
)

func pgoStacks(d *view.Data) (list []*profile.Sample) {
	sums := map[string]*profile.Sample{}
	for _, s := range d.Profile.Sample {
		locs := slices.DeleteFunc(slices.Clone(s.Location), func(l *profile.Location) bool {
			return l.Mapping == nil && l.Address == 0
		})
		if s.Value[d.ValueIndex] <= 0 || len(locs) == 0 {
			continue
		}
		if !d.Memory.Take(pgoSampleCost + pgoFrameCost*int64(len(locs))) {
			break
		}
		key := make([]byte, 0, 4*len(locs))
		for _, l := range locs {
			key = fmt.Appendf(key, "%x ", l.ID)
		}
		sum := sums[string(key)]
		if sum != nil {
			d.Memory.Give(pgoSampleCost + pgoFrameCost*int64(len(locs)))
		} else {
			sum = &profile.Sample{Location: locs, Value: make([]int64, 2)}
			sums[string(key)] = sum
			list = append(list, sum)
		}
		sum.Value[1] += s.Value[d.ValueIndex]
	}
	return list
}
