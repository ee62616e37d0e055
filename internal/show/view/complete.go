// SPDX-License-Identifier: Apache-2.0

package view

import (
	"prywalk/internal/base/incomplete"
	rec "prywalk/internal/store/profile"
)

// Completeness divides the time of a type of values by the completeness of its stacks. ok is false if the profile is
// not prywalk's, or no time has a stack.
func (d *Data) Completeness(value int) (c incomplete.Completeness, ok bool) {
	if !d.isRecording() {
		return c, false
	}
	withStacks := int64(0)
	for _, s := range d.Profile.Sample {
		v := s.Value[value]
		if v == 0 {
			continue
		}
		stack := d.Stack(s)
		if sampled := d.addStackTime(&c, v, stack); sampled || len(stack) > 1 {
			withStacks += v
		}
	}
	return c, withStacks > 0
}

// addStackTime adds a stack's time, and reports whether it is sampled.
func (t *FrameTable) addStackTime(c *incomplete.Completeness, v int64, stack []int32) (sampled bool) {
	var reason, module string
	if n := len(stack); n > 0 {
		leaf, outermost := &t.Frames[stack[0]], &t.Frames[stack[n-1]]
		sampled = !leaf.Synthetic() || leaf.incomplete()
		switch {
		case outermost.guessed() && sampled:
			c.AddGuessed(float64(v))
			return true
		case outermost.incomplete():
			reason, _ = incomplete.Reason(outermost.Name)
			if n > 1 {
				module = t.Frames[stack[n-2]].Module
			}
		}
	}
	c.Add(float64(v), sampled, reason, module)
	return sampled
}

func (d *Data) completeNote(value int) string {
	clock := d.Profile.SampleType[value].Type
	if clock == rec.TypeSamples || clock != rec.TypeCPU && value != d.ValueIndex {
		return ""
	}
	c, ok := d.Completeness(value)
	if !ok {
		return ""
	}
	return " (" + c.Text("", Percent) + ")"
}

// Incomplete returns the main reason of incomplete stacks, of CPU time if any, else of the chosen value.
func (d *Data) Incomplete() (e incomplete.MainReason, clock string) {
	values := []int{d.ValueIndex}
	if cpu, ok := d.TypeIndex(rec.TypeCPU); ok && cpu != d.ValueIndex {
		values = []int{cpu, d.ValueIndex}
	}
	for _, value := range values {
		if c, ok := d.Completeness(value); ok {
			if e = c.MainReason(); e.Reason != "" {
				return e, d.Profile.SampleType[value].Type
			}
		}
	}
	return e, ""
}

// WhyIncomplete returns the reason and the next step if many stacks are incomplete, else if many have guessed frames,
// else "".
func (d *Data) WhyIncomplete() string {
	if e, clock := d.Incomplete(); e.Reason != "" {
		return "Incomplete stacks: " + e.Text(clock, Percent) + "."
	}
	value := d.ValueIndex
	if cpu, ok := d.TypeIndex(rec.TypeCPU); ok {
		value = cpu
	}
	c, _ := d.Completeness(value)
	if text := c.GuessedText(d.Profile.SampleType[value].Type, Percent); text != "" {
		return "Guessed frames: " + text + "."
	}
	return ""
}
