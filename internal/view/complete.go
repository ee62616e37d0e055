// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
)

// wellComplete is the share of time with complete stacks from which on the report gives no reason.
const wellComplete = 0.99

// Complete is the share of one clock's time with complete stacks, 0 to 1, and what most of the rest is. Time without
// any stack, as [exited unseen], has no incomplete one: [Coverage] is about it.
type Complete struct {
	Share  float64
	reason string  // of most of the rest
	module string  // the file that most stacks with this reason end in
	most   float64 // their share
}

// Complete divides the time of one type of values. False where the profile does not mark incomplete stacks (it is not
// prywalk's), or there is no such time.
func (d *Data) Complete(value int) (c Complete, ok bool) {
	if _, own := d.Has(rec.TypeRunQueue); !own {
		return c, false
	}
	var all int64
	reasons := map[string]int64{}
	modules := map[[2]string]int64{}
	for _, s := range d.Profile.Sample {
		v := s.Value[value]
		all += v
		if reason, module, cut := d.endsIn(s); cut && v != 0 {
			reasons[reason] += v
			modules[[2]string{reason, module}] += v
		}
	}
	if all <= 0 {
		return c, false
	}
	var cut, most, in int64
	for reason, v := range reasons {
		cut += v
		if v > most || v == most && reason < c.reason {
			most, c.reason = v, reason
		}
	}
	for k, v := range modules {
		if k[0] == c.reason && (v > in || v == in && k[1] < c.module) {
			in, c.module = v, k[1]
		}
	}
	c.Share, c.most = max(0, 1-float64(cut)/float64(all)), float64(most)/float64(all)
	return c, true
}

// endsIn gives the reason of an incomplete stack, and the file that its outermost function lies in.
func (d *Data) endsIn(s *profile.Sample) (reason, module string, cut bool) {
	stack := d.Stack(s)
	f := &d.Frames[stack[len(stack)-1]]
	if !f.incomplete() {
		return "", "", false
	}
	reason, _ = namehints.IncompleteReason(f.Name)
	if len(stack) > 1 {
		module = d.Frames[stack[len(stack)-2]].Module
	}
	return reason, module, true
}

// completeOf is what the sum of a type of values has beside it: the share of complete stacks, of CPU time and of the
// chosen values.
func (d *Data) completeOf(value int) string {
	if d.Profile.SampleType[value].Type != rec.TypeCPU && value != d.Value {
		return ""
	}
	if c, ok := d.Complete(value); ok && d.Profile.SampleType[value].Type != rec.TypeSamples {
		return " (" + PercentComplete(c.Share) + " with complete stacks)"
	}
	return ""
}

// WhyIncomplete says why stacks are incomplete, and what to do, where much of the CPU time is, or of the chosen values;
// "" elsewhere.
func (d *Data) WhyIncomplete() string {
	values := []int{d.Value}
	if cpu, ok := d.Has(rec.TypeCPU); ok && cpu != d.Value {
		values = []int{cpu, d.Value}
	}
	for _, value := range values {
		c, ok := d.Complete(value)
		if !ok || c.Share >= wellComplete || c.reason == "" {
			continue
		}
		return fmt.Sprintf("Incomplete stacks: %s of %s in %s: %s.", PercentComplete(c.most),
			d.Profile.SampleType[value].Type, namehints.IncompleteName(c.reason),
			namehints.IncompleteCure(c.reason, c.module))
	}
	return ""
}

// raiseIncomplete puts the rows of incomplete stacks among the first.
func (d *Data) raiseIncomplete(rows []Row) {
	namehints.RaiseIncomplete(rows, func(r *Row) (string, int64, int64) {
		if f := &d.Frames[r.Frame]; f.incomplete() {
			return f.Name, r.Self, r.Total
		}
		return "", r.Self, r.Total
	})
}
