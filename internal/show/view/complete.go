// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"prywalk/internal/base/incomplete"
	rec "prywalk/internal/store/profile"
)

// Completeness divides the time of a clock by the completeness of its stacks. ok is false if the profile is not
// prywalk's or lacks the clock, or no time has a stack.
func (d *Data) Completeness(clock string) (c incomplete.Completeness, ok bool) {
	value, ok := d.TypeIndex(clock)
	if !ok || !d.isRecording() {
		return c, false
	}
	withStacks := int64(0)
	for _, s := range d.Profile.Sample {
		v := s.Value[value]
		if v == 0 {
			continue
		}
		stack := d.Table.Stack(s)
		if sampled := d.Table.addStackTime(&c, v, stack); sampled || len(stack) > 1 {
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

func (d *Data) completeNote(clock string) string {
	if clock == rec.TypeSamples || clock != rec.TypeCPU && clock != d.Clock() {
		return ""
	}
	c, ok := d.Completeness(clock)
	if !ok {
		return ""
	}
	return " (" + c.Text("", Percent) + ")"
}

// Incomplete returns the main reason of incomplete stacks, of CPU time if any, else of the chosen value.
func (d *Data) Incomplete() (e incomplete.MainReason, clock string) {
	for _, clock = range slices.Compact([]string{rec.TypeCPU, d.Clock()}) {
		if c, ok := d.Completeness(clock); ok {
			if e = c.MainReason(); e.Reason != "" {
				return e, clock
			}
		}
	}
	return e, ""
}

// WhyIncomplete returns the reason and the next step if many stacks are incomplete, or have guessed frames, else "".
func (d *Data) WhyIncomplete() string {
	if e, clock := d.Incomplete(); e.Reason != "" {
		return "Incomplete stacks: " + e.Text(clock, Percent) + "."
	}
	clock := d.Clock()
	if _, ok := d.TypeIndex(rec.TypeCPU); ok {
		clock = rec.TypeCPU
	}
	c, _ := d.Completeness(clock)
	if text := c.GuessedText(clock, Percent); text != "" {
		return "Guessed frames: " + text + "."
	}
	return ""
}
