// SPDX-License-Identifier: Apache-2.0

package incomplete

import "fmt"

// No reason is given above this share of complete stacks.
const wellComplete = 0.99

// MuchUnsampled is the share of time without samples above which it is reported.
const MuchUnsampled = 0.05

// minSampled is the least sampled share for a share of complete stacks.
const minSampled = 0.001

// minGuessed is the least share of guessed frames that is mentioned.
const minGuessed = 0.001

// Completeness sums a clock's time by where its stacks end.
type Completeness struct {
	all, incomplete, guessed      float64
	sampled, sampledAndIncomplete float64
	byReason                      map[string]float64
	byModule                      map[[2]string]float64 // by reason and module
}

// Add adds time. sampled: it is the weight of a sample. reason is why the stack ends early, "" if it is complete;
// module is where ([AnyCode], [Unmapped]).
func (c *Completeness) Add(v float64, sampled bool, reason, module string) {
	c.all += v
	if sampled {
		c.sampled += v
	}
	if reason == "" || v == 0 {
		return
	}
	if c.byReason == nil {
		c.byReason, c.byModule = map[string]float64{}, map[[2]string]float64{}
	}
	c.incomplete += v
	if sampled {
		c.sampledAndIncomplete += v
	}
	c.byReason[reason] += v
	c.byModule[[2]string{reason, module}] += v
}

// AddGuessed adds sampled time of complete stacks with guessed frames.
func (c *Completeness) AddGuessed(v float64) {
	c.Add(v, true, "", "")
	c.guessed += v
}

// Share is that of complete stacks, 0 to 1. Unsampled time counts as complete.
func (c *Completeness) Share() float64 { return max(0, 1-c.incomplete/c.all) }

// Text is as "99.0% of CPU time with complete stacks, 12.0% with guessed frames" for the prefix "CPU ". percent formats
// shares. Precondition: there is time.
func (c *Completeness) Text(prefix string, percent func(float64) string) string {
	text := c.completeText(prefix, percent)
	if share := c.guessed / c.all; share >= minGuessed {
		text += ", " + percent(share) + " with guessed frames"
	}
	return text
}

func (c *Completeness) completeText(prefix string, percent func(float64) string) string {
	of, rest := "", ""
	sampled := c.sampled / c.all
	if prefix != "" {
		of = " of " + prefix + "time"
		rest = ", " + percent(1-sampled) + of + " without a sample"
	}
	switch {
	case sampled < minSampled:
		return "no " + prefix + "time was sampled"
	case sampled < 1-MuchUnsampled:
		share := percent(max(0, 1-c.sampledAndIncomplete/c.sampled))
		return share + " of sampled " + prefix + "time with complete stacks" + rest
	}
	return percent(c.Share()) + of + " with complete stacks"
}

// GuessedText says what guessed frames are; "" if there are few. time is the clock's name.
func (c *Completeness) GuessedText(time string, percent func(float64) string) string {
	if c.all <= 0 || 1-c.guessed/c.all >= wellComplete {
		return ""
	}
	return fmt.Sprintf("%s of %s in %s: callers found by a search of the stack, of which some can be wrong, as their "+
		"code has no call frame information; the code's debug symbols can help", percent(c.guessed/c.all), time, Guessed)
}

// MainReason is the main reason of incomplete stacks.
type MainReason struct {
	// Reason is the stop reason; "": few stacks are incomplete.
	Reason string
	// Module has most outermost functions.
	Module string
	Share  float64
}

// MainReason returns the main reason, by time.
func (c *Completeness) MainReason() (e MainReason) {
	if c.all <= 0 || c.Share() >= wellComplete {
		return e
	}
	most, in := 0.0, 0.0
	for reason, v := range c.byReason {
		if v > most || v == most && reason < e.Reason {
			most, e.Reason = v, reason
		}
	}
	for k, v := range c.byModule {
		if k[0] == e.Reason && (v > in || v == in && k[1] < e.Module) {
			in, e.Module = v, k[1]
		}
	}
	e.Share = most / c.all
	return e
}

// Next returns the next step.
func (e *MainReason) Next() string { return remedy(e.Reason, e.Module) }

// Text has share, reason and next step; "" without a reason. time is the clock's name.
func (e *MainReason) Text(time string, percent func(float64) string) string {
	if e.Reason == "" {
		return ""
	}
	return fmt.Sprintf("%s of %s in %s: %s", percent(e.Share), time, Name(e.Reason), e.Next())
}
