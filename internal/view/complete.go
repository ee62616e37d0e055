// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
)

// wellComplete is the share of complete stacks from which no reason is shown.
const wellComplete = 0.99

// Complete is the share of a clock's time with complete stacks, 0 to 1, and the main reason of the rest. Time without
// any stack, such as [exited unseen], counts as complete; [Coverage] reports it.
type Complete struct {
	Share   float64
	sampled float64 // share of the time that a sample stands for
	reason  string
	module  string
	most    float64
}

// Complete divides the time of a type of values. ok is false if the profile is not prywalk's or has no such time.
func (d *Data) Complete(value int) (c Complete, ok bool) {
	if _, own := d.Has(rec.TypeRunQueue); !own {
		return c, false
	}
	var all, walked, sampled int64
	reasons := map[string]int64{}
	modules := map[[2]string]int64{}
	for _, s := range d.Profile.Sample {
		v := s.Value[value]
		all += v
		stack := d.Stack(s)
		leaf := &d.Frames[stack[0]]
		between := leaf.Synthetic() && !leaf.incomplete()
		if !between {
			sampled += v
		}
		if !between || len(stack) > 1 {
			walked += v
		}
		if reason, module, cut := d.endsIn(s); cut && v != 0 {
			reasons[reason] += v
			modules[[2]string{reason, module}] += v
		}
	}
	if walked <= 0 {
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
	c.sampled = float64(sampled) / float64(all)
	return c, true
}

// endsIn returns an incomplete stack's stop reason, and its outermost function's module.
func (t *Stacks) endsIn(s *profile.Sample) (reason, module string, cut bool) {
	stack := t.Stack(s)
	f := &t.Frames[stack[len(stack)-1]]
	if !f.incomplete() {
		return "", "", false
	}
	reason, _ = namehints.IncompleteReason(f.Name)
	if len(stack) > 1 {
		module = t.Frames[stack[len(stack)-2]].Module
	}
	return reason, module, true
}

func (d *Data) completeNote(value int) string {
	if d.Profile.SampleType[value].Type != rec.TypeCPU && value != d.Value {
		return ""
	}
	c, ok := d.Complete(value)
	switch {
	case !ok || d.Profile.SampleType[value].Type == rec.TypeSamples:
		return ""
	case c.sampled == 0:
		return " (not sampled)"
	case c.sampled < wellCovered:
		part := max(0, 1-(1-c.Share)/c.sampled)
		return " (" + PercentComplete(part) + " of the sampled part complete)"
	}
	return " (" + PercentComplete(c.Share) + " with complete stacks)"
}

// Incomplete is the main reason of incomplete stacks.
type Incomplete struct {
	// Reason is the stop reason; "" if few stacks are incomplete.
	Reason string
	// Module has the outermost function of most of them.
	Module string
	// Share of the time of Clock, 0 to 1.
	Share float64
	Clock string
}

// Incomplete returns the main reason of incomplete stacks: for CPU time, else for the chosen value.
func (d *Data) Incomplete() (out Incomplete) {
	values := []int{d.Value}
	if cpu, ok := d.Has(rec.TypeCPU); ok && cpu != d.Value {
		values = []int{cpu, d.Value}
	}
	for _, value := range values {
		if c, ok := d.Complete(value); ok && c.Share < wellComplete && c.reason != "" {
			return Incomplete{c.reason, c.module, c.most, d.Profile.SampleType[value].Type}
		}
	}
	return out
}

// Next returns the next step.
func (i *Incomplete) Next() string { return namehints.IncompleteCure(i.Reason, i.Module) }

// WhyIncomplete returns reason and next step if many stacks are incomplete, else "".
func (d *Data) WhyIncomplete() string {
	i := d.Incomplete()
	if i.Reason == "" {
		return ""
	}
	return fmt.Sprintf("Incomplete stacks: %s of %s in %s: %s.", PercentComplete(i.Share), i.Clock,
		namehints.IncompleteName(i.Reason), i.Next())
}

func (t *Stacks) moveIncompleteUp(rows []Row) {
	namehints.RaiseIncomplete(rows, func(r *Row) (string, int64, int64) {
		if f := &t.Frames[r.Frame]; f.incomplete() {
			return f.Name, r.Self, r.Total
		}
		return "", r.Self, r.Total
	})
}
